"""Several WAV files to one."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
import pytest
import soundfile

from koegumi.audio.joining import WaveError, join
from koegumi.voices.interface import Cancelled


def tone(seconds: float = 0.1, rate: int = 24000, channels: int = 1, **options: Any) -> str:
    samples = 0.3 * np.sin(2 * np.pi * 440 * np.arange(round(seconds * rate)) / rate)
    buffer = io.BytesIO()
    data = np.repeat(samples[:, None], channels, axis=1)
    soundfile.write(buffer, data, rate, **({"format": "WAV", "subtype": "PCM_16"} | options))
    return base64.b64encode(buffer.getvalue()).decode()


def joined(*waves: str) -> tuple[Any, int]:
    samples, rate = soundfile.read(io.BytesIO(join(waves, lambda: None)), always_2d=True)
    return samples, rate


def test_equal_files_stand_one_after_the_other() -> None:
    samples, rate = joined(tone(0.1), tone(0.2))
    assert (samples.shape, rate) == ((7200, 1), 24000)
    alone, _ = joined(tone(0.1))
    assert np.array_equal(samples[:2400], alone)


def test_the_highest_rate_and_two_channels_win() -> None:
    samples, rate = joined(tone(0.1, 8000), tone(0.1, 44100, 2), tone(0.1, 24000))
    assert rate == 44100
    assert samples.shape == (3 * 4410, 2)
    assert np.array_equal(samples[:, 0], samples[:, 1])
    for start in range(0, 3 * 4410, 4410):  # all sound as loud
        assert 0.27 < np.abs(samples[start : start + 4410]).max() < 0.33


def test_any_format_that_is_read_will_do() -> None:
    samples, _ = joined(tone(subtype="FLOAT"), tone(format="FLAC"))
    assert len(samples) == 4800


@pytest.mark.parametrize(
    ("waves", "message"),
    [
        ([], "wavファイルが含まれていません"),
        (["A"], "base64デコードに失敗しました"),
        (["音"], "base64デコードに失敗しました"),
        (["YWJj"], "wavファイルを読み込めませんでした"),
        ([""], "wavファイルを読み込めませんでした"),
        ([tone(channels=3)], "wavファイルを読み込めませんでした"),
        ([tone(rate=500)], "wavファイルを読み込めませんでした"),
        ([tone(seconds=480, rate=1000), tone(0.001, 384_000)], "samples"),
    ],
)
def test_what_cannot_be_joined(waves: list[str], message: str) -> None:
    with pytest.raises(WaveError, match=message):
        join(waves, lambda: None)


def test_junk_in_base64_is_skipped_as_in_the_reference() -> None:
    wave = tone()
    assert np.array_equal(joined(wave[:8] + " \n!" + wave[8:])[0], joined(wave)[0])


def test_numbers_that_are_none_are_silence() -> None:
    buffer = io.BytesIO()
    soundfile.write(buffer, np.full(100, np.nan), 24000, format="WAV", subtype="FLOAT")
    assert not joined(base64.b64encode(buffer.getvalue()).decode())[0].any()


def test_a_cancel_is_heard_between_files() -> None:
    heard: list[int] = []

    def check() -> None:
        heard.append(1)
        if len(heard) == 2:
            raise Cancelled

    with pytest.raises(Cancelled):
        join([tone()] * 5, check)
    assert len(heard) == 2
