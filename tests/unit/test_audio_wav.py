"""Samples to WAV: volume, clipping, rate, stereo."""

from __future__ import annotations

import io

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from koegumi.audio import finish

RATE = 24000
TONE = (0.4 * np.sin(2 * np.pi * 440 * np.arange(RATE) / RATE)).astype(np.float32)


def read(wav: bytes) -> tuple[NDArray[np.int16], int]:
    samples, rate = soundfile.read(io.BytesIO(wav), dtype="int16")
    return samples, rate


def test_riff_with_16_bit_pcm() -> None:
    wav = finish(TONE, RATE, 1.0, RATE, False)
    info = soundfile.info(io.BytesIO(wav))
    assert (wav[:4], info.format, info.subtype, info.channels) == (b"RIFF", "WAV", "PCM_16", 1)
    samples, rate = read(wav)
    assert rate == RATE
    assert np.abs(samples / 32768 - TONE).max() < 1 / 32768


def test_volume_scales_and_clips_but_never_wraps() -> None:
    double, _ = read(finish(TONE, RATE, 2.0, RATE, False))
    assert np.abs(double / 32768 - 2 * TONE).max() < 1 / 16384
    loud, _ = read(finish(TONE, RATE, 50.0, RATE, False))
    assert (loud.max(), loud.min()) == (32767, -32768)
    audible = np.abs(TONE) > 0.001
    assert (np.sign(loud[audible]) == np.sign(TONE[audible])).all()
    silent, _ = read(finish(TONE, RATE, 0.0, RATE, False))
    assert not silent.any()


@pytest.mark.parametrize("rate", [8000, 11025, 16000, 22050, 44100, 48000, 96000])
def test_resampling_keeps_length_pitch_and_level(rate: int) -> None:
    samples, answered = read(finish(TONE, RATE, 1.0, rate, False))
    assert answered == rate
    assert len(samples) == rate
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(rate)))
    assert int(np.argmax(spectrum)) == 440
    middle = samples[rate // 4 : -rate // 4] / 32768
    assert np.sqrt(2 * np.mean(middle**2)) == pytest.approx(0.4, abs=0.002)


def test_stereo_is_the_channel_twice() -> None:
    samples, _ = read(finish(TONE, RATE, 1.0, 16000, True))
    mono, _ = read(finish(TONE, RATE, 1.0, 16000, False))
    assert samples.shape == (16000, 2)
    assert (samples == mono[:, None]).all()


def test_no_samples_are_an_empty_file() -> None:
    samples, rate = read(finish(np.zeros(0, np.float32), RATE, 1.0, 8000, False))
    assert (len(samples), rate) == (0, 8000)
