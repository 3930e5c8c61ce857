"""Timelines for the Kokoro tests, without a model."""

from __future__ import annotations

import json
from pathlib import Path

from koegumi.schema.plain import AccentPhrase, Mora
from koegumi.voices.timeline import Timeline, flatten

TABLE = json.loads((Path(__file__).parents[1] / "data" / "mora_table.json").read_text(encoding="utf-8"))["moras"]
KANA = {row["kana"]: (row["consonant"], row["vowel"]) for row in TABLE}


def mora(kana: str, length: float = 0.1, pitch: float = 5.5) -> Mora:
    """`_` before the kana devoices; 、 is a pause."""
    if kana == "、":
        return Mora(kana, None, None, "pau", length, 0.0)
    name = kana.removeprefix("_")
    consonant, vowel = KANA[name]
    if name != kana:
        vowel, pitch = vowel.upper(), 0.0
    return Mora(name, consonant, None if consonant is None else length / 2, vowel, length, pitch)


def phrases(text: str) -> list[AccentPhrase]:
    """Morae between spaces, accent phrases between ` / `, a pause where a phrase ends in 、."""
    result = []
    for part in text.split(" / "):
        names = part.split()
        pause = mora(names.pop()) if names[-1] == "、" else None
        result.append(AccentPhrase([mora(name) for name in names], 1, pause))
    return result


def spoken(text: str) -> Timeline:
    return flatten(phrases(text))
