"""A text in pieces that Bark can speak: whole sentences where they fit, since a prompt of over 13 s is cut off."""

from __future__ import annotations

import re
from collections.abc import Iterable

from koegumi.schema.text_length import text_seconds

MOST_SECONDS = 12.0
# WordPiece makes one token of a character at most, and the model reads 256.
MOST_CHARACTERS = 256

_CLOSING = r"""["'”’)\]」』）]*"""
# From the best places for a cut to the worst. A full stop inside a word or number ends nothing.
_CUTS = (
    re.compile(rf"[。！？]+{_CLOSING}\s*|[.!?…]+{_CLOSING}(?:\s+|$)|\n+"),
    re.compile(r"[、，；：]\s*|[,;:]\s+"),
    re.compile(r"\s+"),
)


def sentences(text: str) -> list[str]:
    """Nothing is lost but white space between them; as few as can be, none of them empty."""
    return [piece for each in _fitting(text, 0) if (piece := each.strip())]


def _fitting(text: str, level: int) -> list[str]:
    if _fits(text):
        return [text]
    if level == len(_CUTS):
        return _sliced(text)
    return _packed(part for piece in _cut(text, _CUTS[level]) for part in _fitting(piece, level + 1))


def _fits(text: str) -> bool:
    return len(text) <= MOST_CHARACTERS and text_seconds(text) <= MOST_SECONDS


def _cut(text: str, places: re.Pattern[str]) -> Iterable[str]:
    start = 0
    for place in places.finditer(text):
        yield text[start : place.end()]
        start = place.end()
    yield text[start:]


def _packed(pieces: Iterable[str]) -> list[str]:
    packed = [""]
    for piece in pieces:
        if _fits(packed[-1] + piece):
            packed[-1] += piece
        else:
            packed.append(piece)
    return packed


def _sliced(text: str) -> list[str]:
    """A word without end."""
    return _packed(text)
