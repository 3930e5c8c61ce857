"""Every edit of an AudioQuery is heard: measured on the sound."""

from __future__ import annotations

import math

import numpy as np
import pytest

from koegumi.schema.plain import AudioQuery
from tests.kokoro.sound import (
    ALPHA,
    KUMO,
    RATE,
    UNIT,
    Voices,
    edited,
    f0,
    heard,
    loudness,
    moras,
    pitch_in,
    seconds,
    vowels,
)

TEXT = "ナマエ'オ、ヨ'ンデ"


@pytest.fixture(scope="module")
def query(voices: Voices) -> AudioQuery:
    return voices.query(TEXT)


def parts(query: AudioQuery) -> float:
    """The sum of all lengths, scales aside."""
    *_, (_, end) = vowels(query)
    return end + query.post_phoneme_length


def test_the_whole_is_the_sum_of_its_parts(voices: Voices, query: AudioQuery) -> None:
    assert seconds(voices.say(query)) == pytest.approx(parts(query), abs=UNIT)


@pytest.mark.parametrize("index", [1, -1])
def test_a_longer_vowel_is_heard_longer(voices: Voices, query: AudioQuery, index: int) -> None:
    longer = edited(query)
    moras(longer)[index].vowel_length += 0.3
    one, other = voices.say(query), voices.say(longer)
    assert seconds(other) - seconds(one) == pytest.approx(0.3, abs=UNIT)
    (start, stop), (new_start, new_stop) = heard(one), heard(other)
    assert new_start == pytest.approx(start, abs=0.01)
    assert new_stop - stop == pytest.approx(0.3, abs=UNIT)
    # What is longer is this vowel: it sounds and is voiced all through, its release aside.
    begin, end = vowels(longer)[index]
    times, hertz = f0(other)
    assert (hertz[(times > begin) & (times < end - 0.1)] > 0).all()
    held = other[int(begin * RATE) : int((end - 0.1) * RATE)]
    assert loudness(held) > loudness(one) - 6


@pytest.mark.parametrize("style_id", [ALPHA, KUMO])
def test_all_pitches_up_by_a_fifth_part(voices: Voices, style_id: int) -> None:
    query = voices.query(TEXT, style_id)
    higher = edited(query)
    for mora in moras(higher):
        mora.pitch += math.log(1.2)
    (_, one), (_, other) = f0(voices.say(query, style_id)), f0(voices.say(higher, style_id))
    both = (one > 0) & (other > 0)
    assert both.mean() > 0.4
    assert np.median(other[both] / one[both]) == pytest.approx(1.2, rel=0.03)


def test_one_pitch_moves_its_own_mora(voices: Voices, query: AudioQuery) -> None:
    other = edited(query)
    moras(other)[1].pitch += 0.25
    start, stop = vowels(query)[1]
    moved = pitch_in(voices.say(other), start, stop) - pitch_in(voices.say(query), start, stop)
    assert moved == pytest.approx(0.25, abs=0.06)
    far_start, far_stop = vowels(query)[-2]
    stayed = pitch_in(voices.say(other), far_start, far_stop) - pitch_in(voices.say(query), far_start, far_stop)
    assert stayed == pytest.approx(0.0, abs=0.03)


@pytest.mark.parametrize("speed", [0.5, 2.0])
def test_speed_divides_every_length_and_keeps_pitch_and_volume(voices: Voices, query: AudioQuery, speed: float) -> None:
    one, other = voices.say(query), voices.say(edited(query, speed_scale=speed))
    assert seconds(other) == pytest.approx(parts(query) / speed, abs=UNIT)
    for edge in zip(heard(one), heard(other), strict=True):
        assert edge[1] == pytest.approx(edge[0] / speed, abs=0.1)
    assert pitch_in(other, 0, 99) == pytest.approx(pitch_in(one, 0, 99), abs=0.06)
    assert loudness(other) == pytest.approx(loudness(one), abs=2)


def test_pitch_scale_is_a_factor_on_ln_hertz(voices: Voices, query: AudioQuery) -> None:
    moved = pitch_in(voices.say(edited(query, pitch_scale=0.05)), 0, 99) - pitch_in(voices.say(query), 0, 99)
    mean = np.mean([mora.pitch for mora in moras(query)])
    assert moved == pytest.approx(mean * (2**0.05 - 1), abs=0.05)


def test_intonation_scale_zero_is_flat(voices: Voices, query: AudioQuery) -> None:
    flat = voices.say(edited(query, intonation_scale=0.0))
    mean = np.mean([mora.pitch for mora in moras(query)])
    heights = [pitch_in(flat, *span) for span in vowels(query)]
    assert np.std(heights) < 0.03
    assert np.mean(heights) == pytest.approx(mean, abs=0.03)
    assert np.std([pitch_in(voices.say(query), *span) for span in vowels(query)]) > 0.08


def test_silence_before_and_after(voices: Voices, query: AudioQuery) -> None:
    one = voices.say(query)
    other = voices.say(edited(query, pre_phoneme_length=1.5, post_phoneme_length=0.0))
    speech = one[int(0.1 * RATE) : -int(0.1 * RATE)]
    assert not one[: int(0.1 * RATE)].any()
    assert not one[-int(0.1 * RATE) :].any()
    assert not other[: int(1.5 * RATE)].any()
    assert (other[int(1.5 * RATE) :] == speech).all()


@pytest.mark.parametrize(("length", "scale", "wanted"), [(1.5, 1.0, 1.5), (0.4, 2.5, 1.0), (0.0, 1.0, 0.0)])
def test_pauses_are_silent_and_as_long_as_asked(
    voices: Voices, query: AudioQuery, length: float, scale: float, wanted: float
) -> None:
    one = voices.say(query)
    other = voices.say(edited(query, pause_length=length, pause_length_scale=scale))
    was = query.accent_phrases[0].pause_mora
    assert was is not None
    assert seconds(other) - seconds(one) == pytest.approx(wanted - was.vowel_length, abs=UNIT)
    _, end = vowels(query)[len(query.accent_phrases[0].moras) - 1]
    assert not other[int((end + UNIT / 2) * RATE) : int((end + wanted - UNIT / 2) * RATE)].any()


def test_a_whisper_where_the_pitch_is_zero(voices: Voices, query: AudioQuery) -> None:
    devoiced = edited(query)
    moras(devoiced)[2].pitch = 0.0
    start, stop = vowels(query)[2]
    times, one = f0(voices.say(query))
    inside = (times > start + 0.02) & (times < stop - 0.02)
    assert (one[inside] > 0).all()
    periodic = voices.say(devoiced)[int(start * RATE) : int(stop * RATE)]
    voiced = voices.say(query)[int(start * RATE) : int(stop * RATE)]
    assert _low_band(periodic) < _low_band(voiced) - 6


def _low_band(wave: np.ndarray[tuple[int], np.dtype[np.float32]]) -> float:
    """dB below 500 Hz, where a voice has its fundamental."""
    spectrum = np.abs(np.fft.rfft(wave * np.hanning(len(wave)))) ** 2
    return float(10 * np.log10(spectrum[np.fft.rfftfreq(len(wave), 1 / RATE) < 500].sum()))
