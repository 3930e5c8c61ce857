"""Texts and kana notation over HTTP: the reference's accent phrases, through real query workers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness import Server

DATA = Path(__file__).parents[1] / "data"
TEXTS = json.loads((DATA / "text_to_accent_phrases.json").read_text(encoding="utf-8"))["cases"]
KANA = json.loads((DATA / "kana_notation.json").read_text(encoding="utf-8"))
SPEAKER = 1


def bare(phrases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the numbers that a voice makes."""
    return [
        {**phrase, "moras": [_bare(mora) for mora in phrase["moras"]], "pause_mora": _bare(phrase["pause_mora"])}
        for phrase in phrases
    ]


def _bare(mora: dict[str, Any] | None) -> dict[str, Any] | None:
    return mora and {name: mora[name] for name in ("text", "consonant", "vowel")}


@pytest.fixture(scope="module")
def answers(cast: Server) -> dict[str, dict[str, Any]]:
    """The AudioQuery of every text."""
    with cast.client() as client:
        answers = {}
        for case in TEXTS:
            answer = client.post("/audio_query", params={"speaker": SPEAKER, "text": case["text"]})
            assert answer.status_code == case["status"]
            answers[case["text"]] = answer.json()
    return answers


@pytest.mark.parametrize(
    "case", [case for case in TEXTS if not case["uses_engine_default_dictionary"]], ids=lambda case: case["text"][:20]
)
def test_the_reference_texts(answers: dict[str, dict[str, Any]], case: dict[str, Any]) -> None:
    query = answers[case["text"]]
    assert bare(query["accent_phrases"]) == case["accent_phrases"]
    assert query["kana"] == case["kana"]


@pytest.mark.parametrize("case", KANA["accepted"], ids=lambda case: case["kana"][:20])
def test_kana_that_is_accepted(cast: Server, case: dict[str, Any]) -> None:
    with cast.client() as client:
        answer = client.post("/accent_phrases", params={"speaker": SPEAKER, "text": case["kana"], "is_kana": True})
    assert answer.status_code == 200
    assert bare(answer.json()) == case["accent_phrases"]


@pytest.mark.parametrize("case", KANA["refused"], ids=lambda case: case["kana"][:20])
def test_kana_that_is_refused(cast: Server, case: dict[str, Any]) -> None:
    with cast.client() as client:
        answer = client.post("/accent_phrases", params={"speaker": SPEAKER, "text": case["kana"], "is_kana": True})
    assert answer.status_code == 400
    assert answer.json() == {"detail": case["detail"]}


def test_all_of_the_reference_is_here() -> None:
    assert (len(TEXTS), len(KANA["accepted"]), len(KANA["refused"])) == (83, 16, 18)
