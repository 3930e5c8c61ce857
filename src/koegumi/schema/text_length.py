"""How long a text is spoken: a guess, until the sound is there."""

from __future__ import annotations

import unicodedata

# Of a kana, kanji or hangul, and of any other character.
WIDE_SECONDS, NARROW_SECONDS = 0.14, 0.07


def text_seconds(text: str) -> float:
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return WIDE_SECONDS * wide + NARROW_SECONDS * (len(text) - wide)
