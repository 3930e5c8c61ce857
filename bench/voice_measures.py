"""How far one sound is from another, and from what was asked. Frames are those of `models.build.analysis`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyworld
from numpy.typing import NDArray

RATE, HOP = 24000, 256
CEPSTRA, POINTS = 24, 80

Floats = NDArray[np.float64]


def distortion(one: Floats, other: Floats) -> Floats:
    """Mel-cepstral distortion of frames of ln amplitude on 80 mel points, in dB: cepstra 1 to 24."""
    order, point = np.arange(1, CEPSTRA + 1)[:, None], np.arange(POINTS)[None]
    basis = np.cos(np.pi * order * (point + 0.5) / POINTS) * (2 / POINTS)
    difference = (one - other) @ basis.T
    return np.asarray(10 / np.log(10) * np.sqrt(2 * (difference**2).sum(axis=1)), np.float64)


def resampled(envelope: NDArray[Any]) -> Floats:
    """[T, n] points of equal distances on the mel scale -> [T, 80]."""
    count = envelope.shape[1]
    matrix = [np.interp(np.linspace(0, 1, POINTS), np.linspace(0, 1, count), row) for row in np.eye(count)]
    return np.asarray(envelope @ np.stack(matrix), np.float64)


def pitch(wave: NDArray[np.float32], low: float = 60.0, high: float = 700.0) -> tuple[Floats, Floats]:
    """Seconds and Hz every 5 ms; 0 is unvoiced."""
    samples = wave.astype(np.float64)
    rough, times = pyworld.dio(samples, RATE, low, high, frame_period=5.0)
    return times, pyworld.stonemask(samples, rough, times, RATE)


def cents(measured: Floats, wanted: Floats | float) -> Floats:
    return np.asarray(np.abs(1200 * np.log2(measured / wanted)), np.float64)


def at_frames(values: Floats, seconds: Floats) -> Floats:
    """A curve over frames of 256 samples, each of which stands for its middle, at other times; of ln where it is Hz."""
    middles = (np.arange(len(values)) + 0.5) * HOP / RATE
    return np.asarray(np.interp(seconds, middles, values), np.float64)


def decibels(wave: NDArray[np.float32]) -> Floats:
    """Level of each frame below the loud ones (95th percentile), over 512 samples about its middle."""
    count = len(wave) // HOP
    padded = np.pad(wave.astype(np.float64), (HOP // 2, HOP))
    window = np.hanning(2 * HOP + 1)[:-1]
    blocks = np.stack([padded[HOP * i : HOP * (i + 2)] for i in range(count)]) * window
    rms = np.sqrt((blocks**2).sum(axis=1) / (window**2).sum()) + 1e-9
    return np.asarray(20 * np.log10(rms / np.percentile(rms, 95)), np.float64)
