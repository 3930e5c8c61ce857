"""The steps from an AudioQuery to morae, in the reference's order."""

from __future__ import annotations

import copy

import pytest

from koegumi.schema.plain import AccentPhrase, AudioQuery, Mora
from koegumi.voices.timeline import seconds, timeline


def mora(pitch: float, vowel: str = "a", consonant: str | None = "k") -> Mora:
    return Mora("カ", consonant, None if consonant is None else 0.04, vowel, 0.1, pitch)


def pause(length: float) -> Mora:
    return Mora("、", None, None, "pau", length, 0.0)


def query(**fields: object) -> AudioQuery:
    phrases = [
        AccentPhrase([mora(5.0), mora(5.4)], 2, pause(0.3)),
        AccentPhrase([mora(5.6), mora(0.0, "U")], 1),
        AccentPhrase([mora(5.2)], 1, is_interrogative=True),
    ]
    result = AudioQuery(phrases)
    for name, value in fields.items():
        setattr(result, name, value)
    return result


def pitches(spoken: object) -> list[float]:
    return [m.pitch for m in spoken]  # type: ignore[attr-defined]


def test_flat_with_pauses_between_two_silences() -> None:
    spoken = timeline(query(pre_phoneme_length=0.2, post_phoneme_length=0.7), False)
    assert [m.vowel for m in spoken] == ["sil", "a", "a", "pau", "a", "U", "a", "sil"]
    assert [seconds(m) for m in spoken] == pytest.approx([0.2, 0.14, 0.14, 0.3, 0.14, 0.14, 0.14, 0.7])
    assert spoken.phrase_ends == {2, 5, 6}


def test_a_question_rises_only_when_asked_and_voiced() -> None:
    assert len(timeline(query(), False).moras) == 8
    spoken = timeline(query(), True)
    rise = spoken.moras[-2]
    assert (rise.vowel, rise.consonant, rise.vowel_length) == ("a", None, 0.15)
    assert rise.pitch == pytest.approx(5.5)
    assert spoken.phrase_ends == {2, 5, 7}
    devoiced = query()
    devoiced.accent_phrases[-1].moras[-1].pitch = 0.0
    assert len(timeline(devoiced, True).moras) == 8


def test_a_rise_has_an_upper_end() -> None:
    high = query()
    high.accent_phrases[-1].moras[-1].pitch = 6.4
    assert timeline(high, True).moras[-2].pitch == 6.5


def test_the_pause_length_replaces_then_scales_then_the_speed_divides_all() -> None:
    spoken = timeline(query(pause_length=0.5, pause_length_scale=3.0, speed_scale=2.0), False)
    assert [m.vowel_length for m in spoken] == pytest.approx([0.05, 0.05, 0.05, 0.75, 0.05, 0.05, 0.05, 0.05])
    assert [m.consonant_length for m in spoken][1] == pytest.approx(0.02)


def test_a_pause_length_of_zero_is_a_length() -> None:
    assert timeline(query(pause_length=0.0), False).moras[3].vowel_length == 0.0


def test_pitch_scale_is_a_factor_on_the_logarithm() -> None:
    spoken = timeline(query(pitch_scale=0.1), False)
    assert pitches(spoken)[1:3] == pytest.approx([5.0 * 2**0.1, 5.4 * 2**0.1])


def test_intonation_is_the_distance_from_the_mean_of_the_voiced() -> None:
    mean = (5.0 + 5.4 + 5.6 + 5.2) / 4
    assert pitches(timeline(query(intonation_scale=0.0), False)) == pytest.approx([0, mean, mean, 0, mean, 0, mean, 0])
    doubled = pitches(timeline(query(intonation_scale=2.0), False))
    assert doubled[1:3] == pytest.approx([mean + 2 * (5.0 - mean), mean + 2 * (5.4 - mean)])


def test_the_upspeak_counts_for_intonation() -> None:
    mean = (5.0 + 5.4 + 5.6 + 5.2 + 5.5) / 5
    assert pitches(timeline(query(intonation_scale=0.0), True))[-2] == pytest.approx(mean)


def test_nothing_is_changed() -> None:
    given = query(pause_length=0.5, speed_scale=2.0, pitch_scale=0.1, intonation_scale=0.5)
    before = copy.deepcopy(given)
    timeline(given, True)
    assert given == before


def test_no_phrases_are_two_silences() -> None:
    assert [m.vowel for m in timeline(AudioQuery([]), True)] == ["sil", "sil"]
