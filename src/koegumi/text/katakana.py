"""English words to katakana, as VOICEVOX ENGINE reads the words that Open JTalk does not know."""

from __future__ import annotations

import re
from functools import lru_cache

import kanalizer

_PIECE = re.compile("[a-zA-Z][a-z]*")

_LETTERS = dict(
    zip(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        "エー ビー シー ディー イー エフ ジー エイチ アイ ジェー ケー エル エム エヌ オー ピー キュー アール エス "
        "ティー ユー ブイ ダブリュー エックス ワイ ズィー".split(),
        strict=True,
    )
)


@lru_cache(maxsize=4096)
def katakana(word: str) -> str:
    """The reading of `word` ([A-Za-z]+): cut at capitals; single letters are spelled, the rest is read."""
    return "".join(map(_read, _PIECE.findall(word)))


def _read(piece: str) -> str:
    if len(piece) == 1:
        return _LETTERS[piece.upper()]
    reading: str = kanalizer.convert(piece.lower(), on_incomplete="ignore")
    return reading
