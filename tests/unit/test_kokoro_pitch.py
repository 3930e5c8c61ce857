"""Accent patterns, and how pitches are imposed on the model's contour."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from koegumi.schema.plain import AccentPhrase
from koegumi.voices.kokoro.pitch import DEEPEST, FALLBACK_PITCH, Contour, Target, accent_pitches, impose
from tests.unit.kokoro_morae import mora

STEP = 0.1


def pitches(kana: str, accent: int) -> list[float]:
    moras = [mora(name) for name in kana.split()]
    return accent_pitches(AccentPhrase(moras, accent), [5.5] * len(moras))


def steps(kana: str, accent: int) -> str:
    """u: rises, d: falls, = stays, within the declination."""
    given = pitches(kana, accent)
    return "".join(
        "u" if two - one > STEP else "d" if one - two > STEP else "=" for one, two in itertools.pairwise(given)
    )


@pytest.mark.parametrize(
    ("accent", "shape"), [(1, "d=="), (2, "ud="), (3, "u=d"), (4, "u=="), (5, "u=="), (0, "u=="), (-3, "u==")]
)
def test_the_accent_decides_the_pattern(accent: int, shape: str) -> None:
    assert steps("ハ シ オ ガ", accent) == shape


def test_a_phrase_declines_gently() -> None:
    given = pitches("ア イ ウ エ オ", 5)[1:]
    assert all(one > two for one, two in itertools.pairwise(given))


def test_the_mean_is_the_models_over_voiced_morae() -> None:
    moras = [mora("ハ"), mora("_シ"), mora("ッ"), mora("オ")]
    given = accent_pitches(AccentPhrase(moras, 1), [5.0, 9.0, 9.0, 5.2])
    assert given[1:3] == [0.0, 0.0]
    assert (given[0] + given[3]) / 2 == pytest.approx(5.1)
    assert given[0] > given[3]


def test_a_voiceless_phrase_has_no_pitch() -> None:
    assert accent_pitches(AccentPhrase([mora("_シ"), mora("ッ")], 1), [5.0, 5.0]) == [0.0, 0.0]


def test_a_contour_draws_on_through_silence_and_falls() -> None:
    contour = Contour.of(np.array([0.0, 5.0, 200.0, 200.0, 60.0, 9.0, 9.0, 200.0, 20.0]))
    assert np.exp(contour.pitch) == pytest.approx(200.0)


def test_nothing_voiced_has_a_pitch_still() -> None:
    contour = Contour.of(np.zeros(6))
    assert contour.mean(0, 6) == pytest.approx(FALLBACK_PITCH)


def test_a_creaking_end_is_not_followed() -> None:
    hertz = np.array([100.0] * 9 + [60.0])
    contour = Contour.of(hertz)
    assert contour.mean(9, 10) == pytest.approx(np.log(60.0))
    assert contour.height(9, 10) == pytest.approx(np.log(100.0) - DEEPEST)


def test_targets_are_met_and_unvoiced_ones_are_silent() -> None:
    contour = Contour.of(np.concatenate([np.full(10, 5.0), np.full(30, 200.0)]))
    targets = [Target(2, 4, 12, np.log(150.0)), Target(12, 14, 22, 0.0), Target(22, 24, 34, np.log(300.0))]
    hertz = impose(contour, targets)
    assert hertz[6:10] == pytest.approx(150.0)
    assert (hertz[4:12] > 10).all(), "a vowel with a pitch is voiced, whatever the model thinks"
    assert not hertz[12:22].any(), "a mora without a pitch is not"
    assert hertz[27:31] == pytest.approx(300.0)
    assert not hertz[:4].any(), "a consonant that the model does not voice stays so"
    assert (hertz[22:24] > 200.0).all(), "a voiced consonant glides with its vowel"
    assert not hertz[34:].any()


def test_no_voiced_target_is_a_whisper() -> None:
    contour = Contour.of(np.full(10, 200.0))
    assert not impose(contour, [Target(0, 2, 10, 0.0)]).any()


def test_a_mora_without_frames_is_passed_over() -> None:
    contour = Contour.of(np.full(10, 200.0))
    hertz = impose(contour, [Target(0, 0, 0, 9.0), Target(0, 0, 10, np.log(100.0))])
    assert hertz == pytest.approx(100.0)


def test_a_pitch_that_scales_have_made_absurd_is_held_at_what_samples_can_carry() -> None:
    contour = Contour.of(np.full(40, 200.0))
    hertz = impose(contour, [Target(0, 4, 20, 4000.0), Target(20, 24, 40, 5.3)])
    assert np.isfinite(hertz).all()
    assert hertz.max() < 12_100.0
