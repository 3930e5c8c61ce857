"""What may go into the native text front end, decided before any call: pure functions.

Open JTalk trusts its input. Two of its fixed buffers can be written past their end, and then the process dies:

* the text, in its full-width form, is copied into 8,192 bytes, terminator included;
* the reading of one word is put together in 1,024. Words of the dictionary and unknown words (at most 25 characters)
  stay far below, but fillers of one mora each that follow one another are joined into one word. That is how
  344 times え becomes a word of 1,032 bytes, while 2,700 times あ is read as 1,350 words. Which kana are fillers
  depends on the words around them, so every unbroken run of kana counts as one word here. A single letter can be a
  filler too; of two letters side by side only the last can, as unknown words take letters up to the end of a group.

So a text within these limits goes in whole, as in VOICEVOX ENGINE, and a longer one in pieces.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise
from typing import NamedTuple

_TEXT_BYTES = 8191
_WORD_BYTES = 1023

# What a kana and a letter add to the reading of a word; the longest letter is ダブリュー.
_KANA_BYTES = 3
_LETTER_BYTES = 15

# Open JTalk's own full-width forms, where they are not 0xFEE0 further on.
_FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)} | str.maketrans(" \"'-\\`~", "　”’−￥‘〜")
# Control characters and stray half-width voicing marks are dropped, as there. NUL would end the text. A newline is
# kept for a while: it is silent, but a good place to cut.
_DROPPED = dict.fromkeys([*range(0x20), 0x7F, *range(0xD800, 0xE000), ord("ﾞ"), ord("ﾟ")])
_TABLE = {**_DROPPED, **_FULL_WIDTH, ord("\n"): "\n"}
_HALF_WIDTH_KANA = re.compile("[ｳｶ-ﾄﾊ-ﾎ]ﾞ|[ﾊ-ﾎ]ﾟ|[｡-ﾝ]")

_KANA = "[ぁ-ゖァ-ヶー\n]"
_LETTER = "[Ａ-Ｚａ-ｚ]"
_RUN = re.compile(f"{_LETTER}?(?:{_KANA}++{_LETTER})*{_KANA}++{_LETTER}?")
_WEIGHTS = {"\n": 0, **{chr(code): _LETTER_BYTES for base in "Ａａ" for code in range(ord(base), ord(base) + 26)}}
_CONTINUES = frozenset("ーぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮ")

_SENTENCE_END = re.compile("(?:[。！？\n]|．(?![０-９]))[」』）】”’]*")
_WEAK_MARK = re.compile("[、，；：・…　」』）】］｝〜]")
_PAUSES = frozenset("。！？．\n、，；：・…　「」『』（）【】［］｛｝”’〜")


class TextError(Exception):
    """The text cannot be spoken; the message says why and is shown to the client."""


class Piece(NamedTuple):
    """A part of a text that may go into the native code; `pause`: it was cut at a mark, so a pause follows."""

    text: str
    pause: bool


def pieces(text: str) -> list[Piece]:
    """The text in pieces that are safe to analyse: one where it is within the limits. Linear in its length."""
    native = full_width(text)
    cuts = [0, *_run_cuts(native), len(native)]
    cuts = [0] + [cut for start, end in pairwise(cuts) for cut in _length_cuts(native, start, end)]
    found = [Piece(native[start:end].replace("\n", ""), _is_pause(native, end)) for start, end in pairwise(cuts)]
    return [piece for piece in found if piece.text]


def full_width(text: str) -> str:
    """The text as the native code reads it, but with its newlines. Open JTalk leaves such a text as it is."""
    kana = _HALF_WIDTH_KANA.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    return kana.translate(_TABLE)


def _run_cuts(native: str) -> list[int]:
    """Where to cut the runs that could become a word that is too long."""
    cuts: list[int] = []
    for match in _RUN.finditer(native):
        if _LETTER_BYTES * len(match[0]) <= _WORD_BYTES:
            continue
        start, weight, position = match.start(), 0, match.start()
        while position < match.end():
            weight += _WEIGHTS.get(native[position], _KANA_BYTES)
            if weight <= _WORD_BYTES:
                position += 1
                continue
            start = position = _cut_before(native, start, position)
            weight = 0
            cuts.append(start)
    return cuts


def _cut_before(native: str, start: int, end: int) -> int:
    """A place for a cut after `start`, at most at `end`: after a newline, else where a mora begins."""
    newline = native.rfind("\n", start + 1, end)
    if newline != -1:
        return newline + 1
    for cut in range(end, max(start, end - 3), -1):
        if native[cut] not in _CONTINUES:
            return cut
    return end


def _length_cuts(native: str, start: int, end: int) -> list[int]:
    """The ends of the pieces of native[start:end], each within the native text buffer."""
    if len(native[start:end].replace("\n", "").encode()) <= _TEXT_BYTES:
        return [end]
    cuts: list[int] = []
    while True:
        window = native[start : min(end, start + _TEXT_BYTES)].encode()[:_TEXT_BYTES].decode(errors="ignore")
        limit = start + len(window)
        if limit == end:
            return [*cuts, end]
        start = (
            _last(_SENTENCE_END, native, start, limit)
            or _last(_WEAK_MARK, native, start, limit)
            or _cut_before(native, start, limit)
        )
        cuts.append(start)


def _last(mark: re.Pattern[str], native: str, start: int, limit: int) -> int:
    """Where the last such mark of native[start:limit] ends; 0 if there is none. What follows it is looked at too."""
    ends = (match.end() for match in mark.finditer(native, start, limit + 1))
    return max((end for end in ends if end <= limit), default=0)


def _is_pause(native: str, cut: int) -> bool:
    return not _PAUSES.isdisjoint(native[max(0, cut - 1) : cut + 1])
