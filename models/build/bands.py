"""Frequencies on which envelopes are kept, and the matrices to and from a spectrum of 513 bins."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

RATE, BINS = 24000, 513
# Points of the network's envelope, and of the measure of its distance from the teacher's.
POINTS, MEASURED = 72, 80

Matrix = NDArray[np.float64]


def _mel(hertz: Matrix) -> Matrix:
    return np.asarray(1127.0 * np.log1p(hertz / 700.0), np.float64)


@functools.cache
def decoder(points: int) -> Matrix:
    """[points, 513]: linear interpolation on the mel scale from 0 Hz to 12 kHz."""
    bins = _mel(np.linspace(0, RATE / 2, BINS))
    knots = np.linspace(0, bins[-1], points)
    return np.stack([np.interp(bins, knots, row) for row in np.eye(points)])


@functools.cache
def encoder(points: int) -> Matrix:
    """[513, points]: the points whose interpolation is nearest, with the bins of each point weighing the same."""
    matrix = decoder(points)
    return np.asarray(np.linalg.pinv(matrix.T, rcond=1e-2).T, np.float64)


@functools.cache
def minimum_phase(points: int) -> Matrix:
    """[points, 513]: radians of the minimum phase, which is linear in ln amplitude."""
    fold = np.zeros(2 * (BINS - 1))
    fold[1 : BINS - 1] = 2.0
    fold[0] = fold[BINS - 1] = 1.0
    cepstra = np.fft.irfft(decoder(points), axis=1) * fold
    return np.asarray(np.fft.rfft(cepstra, axis=1).imag, np.float64)
