"""Samples to a WAV file: volume, rate, stereo, in the reference's order."""

from __future__ import annotations

import io

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray


def at_rate(wave: NDArray[np.float32], rate: int, wanted: int) -> NDArray[np.float32]:
    """Resampled, unless it has the wanted rate in Hz."""
    if rate == wanted:
        return wave
    resampled: NDArray[np.float32] = soxr.resample(wave, rate, wanted)
    return resampled


def finish(
    wave: NDArray[np.float32], rate: int, volume_scale: float, output_sampling_rate: int, output_stereo: bool
) -> bytes:
    """A RIFF file of 16-bit PCM. What is louder than full scale is clipped, never wrapped."""
    loud = at_rate(wave * np.float32(volume_scale), rate, output_sampling_rate)
    clipped = np.clip(loud, -1.0, 1.0)
    samples = np.stack([clipped, clipped], axis=1) if output_stereo else clipped
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, output_sampling_rate, format="WAV", subtype="PCM_16")
    return buffer.getvalue()
