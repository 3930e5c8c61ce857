import json
from pathlib import Path
from typing import Any

import pytest

from koegumi.schema.plain import AccentPhrase, Mora
from koegumi.text.kana import KanaError, create_kana, parse_kana

CASES = json.loads((Path(__file__).parents[1] / "data" / "kana_notation.json").read_text())


def numberless(phrase: AccentPhrase) -> dict[str, Any]:
    def of_mora(mora: Mora) -> dict[str, Any]:
        return {"text": mora.text, "consonant": mora.consonant, "vowel": mora.vowel}

    return {
        "moras": [of_mora(mora) for mora in phrase.moras],
        "accent": phrase.accent,
        "pause_mora": phrase.pause_mora and of_mora(phrase.pause_mora),
        "is_interrogative": phrase.is_interrogative,
    }


@pytest.mark.parametrize("case", CASES["accepted"], ids=lambda case: case["kana"])
def test_accepted(case: dict[str, Any]) -> None:
    phrases = parse_kana(case["kana"])
    assert [numberless(phrase) for phrase in phrases] == case["accent_phrases"]
    assert create_kana(phrases) == case["kana"]


@pytest.mark.parametrize("case", CASES["refused"], ids=lambda case: case["kana"])
def test_refused(case: dict[str, Any]) -> None:
    with pytest.raises(KanaError) as caught:
        parse_kana(case["kana"])
    error = caught.value
    assert {"text": error.text, "error_name": error.error_name, "error_args": error.error_args} == case["detail"]


def test_numbers_start_at_zero_and_no_consonant_has_no_length() -> None:
    (phrase,) = parse_kana("カ'ア")
    assert phrase.moras == [Mora("カ", "k", 0.0, "a", 0.0, 0.0), Mora("ア", None, None, "a", 0.0, 0.0)]


@pytest.mark.parametrize(
    ("text", "error_name"),
    [
        ("ホ'ゲホ'ゲ", "ACCENT_TWICE"),
        ("こんにちは", "UNKNOWN_TEXT"),
        ("ア'//ア'", "EMPTY_PHRASE"),
        ("'ア", "ACCENT_TOP"),
        ("ア'？ア", "INTERROGATION_MARK_NOT_AT_END"),
        ("ア", "ACCENT_NOTFOUND"),
        ("", "EMPTY_PHRASE"),
    ],
)
def test_clients_can_tell_the_errors_apart(text: str, error_name: str) -> None:
    with pytest.raises(KanaError) as caught:
        parse_kana(text)
    assert caught.value.error_name == error_name


def test_small_kana_stand_alone() -> None:
    for text in ("ァ'", "ヲ'", "ェ'", "ャ'ヮ"):
        assert create_kana(parse_kana(text)) == text


def test_a_phrase_ends_after_300_steps() -> None:
    assert len(parse_kana("ア'" + "ア" * 298)[0].moras) == 299
    for text in ("ア'" + "ア" * 299, "ア" * 100_000, "_ア" * 100_000 + "'"):
        with pytest.raises(KanaError) as caught:
            parse_kana(text)
        assert (caught.value.error_name, caught.value.error_args) == ("INFINITE_LOOP", {})


def test_thousands_of_phrases_are_read() -> None:
    assert len(parse_kana("/".join(["ア'"] * 20_000))) == 20_000
    with pytest.raises(KanaError):
        parse_kana("/" * 100_000)


def test_an_accent_out_of_place_is_left_out() -> None:
    (phrase,) = parse_kana("ア'イ")
    for accent in (0, 3):
        phrase.accent = accent
        assert create_kana([phrase]) == "アイ"
