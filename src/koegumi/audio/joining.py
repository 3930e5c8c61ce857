"""Several WAV files to one: the highest rate, and stereo if any is."""

from __future__ import annotations

import base64
import binascii
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import soundfile
from numpy.typing import NDArray

from koegumi.audio.wav import at_rate

# Half an hour at 48 kHz. The largest body holds a third of it, but a low rate may be raised.
MAX_SAMPLES = 1800 * 48_000
RATES = range(1_000, 384_001)


class WaveError(Exception):
    """The files cannot be joined; the message is the reference's where it has one."""


@dataclass(frozen=True)
class _File:
    data: bytes
    frames: int
    rate: int
    channels: int


def join(waves: Sequence[str], check: Callable[[], None]) -> bytes:
    """A RIFF file of 16-bit PCM of all of them, one after the other. `waves` are base64; `check` may end the work by an
    exception. Raises WaveError."""
    if not waves:
        raise WaveError("wavファイルが含まれていません")
    files = [_open(_decode(wave)) for wave in waves]
    rate = max(file.rate for file in files)
    channels = max(file.channels for file in files)
    samples = sum(file.frames * rate / file.rate for file in files) * channels
    if samples > MAX_SAMPLES:
        raise WaveError(f"the joined sound would have {samples:.6g} samples, more than {MAX_SAMPLES}")
    joined = io.BytesIO()
    with soundfile.SoundFile(joined, "w", rate, channels, "PCM_16", format="WAV") as target:
        for file in files:  # one after the other: as floats they are large
            check()
            target.write(_samples(file, rate, channels))
    return joined.getvalue()


def _decode(wave: str) -> bytes:
    """Characters outside the alphabet are skipped, as in the reference."""
    try:
        return base64.standard_b64decode(wave)
    except (binascii.Error, ValueError):
        raise WaveError("base64デコードに失敗しました") from None


def _open(data: bytes) -> _File:
    """From the header alone: a compressed file may be much larger than it looks."""
    try:
        info = soundfile.info(io.BytesIO(data))
    except (soundfile.LibsndfileError, RuntimeError, TypeError, ValueError):
        raise _unreadable() from None
    if info.samplerate not in RATES or info.channels not in (1, 2):
        raise _unreadable()
    return _File(data, info.frames, info.samplerate, info.channels)


def _samples(file: _File, rate: int, channels: int) -> NDArray[np.float32]:
    try:
        samples, _ = soundfile.read(io.BytesIO(file.data), frames=file.frames, dtype="float32", always_2d=True)
    except (soundfile.LibsndfileError, RuntimeError, TypeError, ValueError):
        raise _unreadable() from None
    samples = at_rate(np.nan_to_num(samples, copy=False), file.rate, rate)
    np.clip(samples, -1.0, 1.0, out=samples)
    return np.repeat(samples, channels, axis=1) if file.channels < channels else samples


def _unreadable() -> WaveError:
    return WaveError("wavファイルを読み込めませんでした")
