"""A sound between two: the spectra of two voices mixed over the pitch of the first (WORLD, as in the reference)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyworld
from numpy.typing import NDArray

RATE = 24_000
FRAME_PERIOD = 1.0  # ms
# WORLD takes logarithms of it.
SILENCE = 1e-16

Floats = NDArray[np.float64]


def morph(
    base: NDArray[np.float32], target: NDArray[np.float32], rate: float, check: Callable[[], None]
) -> NDArray[np.float32]:
    """Mono at 24 kHz; `rate` 0 is `base` and 1 `target`. Pitch, breath and length are those of `base`. `check` is
    called between the steps and may end the work by an exception."""
    if not base.size:
        return base
    base_wave, target_wave = (
        base.astype(np.float64),
        (target if target.size else np.zeros_like(base)).astype(np.float64),
    )
    f0, times = _pitch(base_wave)
    check()
    target_pitch = _pitch(target_wave)
    check()
    # One after the other: these are a hundred times as large as the sound.
    spectrum = _fitted(pyworld.cheaptrick(target_wave, *target_pitch, RATE) * rate, len(f0))
    check()
    spectrum += pyworld.cheaptrick(base_wave, f0, times, RATE) * (1.0 - rate)
    np.maximum(spectrum, SILENCE, out=spectrum)
    check()
    aperiodicity = pyworld.d4c(base_wave, f0, times, RATE)
    check()
    wave: Floats = pyworld.synthesize(f0, spectrum, aperiodicity, RATE, FRAME_PERIOD)
    return wave.astype(np.float32)


def _pitch(wave: Floats) -> tuple[Floats, Floats]:
    f0, times = pyworld.harvest(wave, RATE, frame_period=FRAME_PERIOD)
    return f0, times


def _fitted(spectrum: Floats, frames: int) -> Floats:
    """Cut, or followed by silence."""
    if len(spectrum) >= frames:
        return np.ascontiguousarray(spectrum[:frames])
    return np.concatenate([spectrum, np.zeros((frames - len(spectrum), spectrum.shape[1]))])
