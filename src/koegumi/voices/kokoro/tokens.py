"""Morae to Kokoro's tokens: one character of its vocabulary each, Hepburn-like IPA.

The last token of a mora is its vowel, what stands before it is its consonant. Devoiced vowels have the tokens of
voiced ones: the voice devoices by context, and the pitch of a mora has the last word.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from koegumi.schema.plain import Mora
from koegumi.voices.kokoro.pieces import Piece
from koegumi.voices.timeline import Timeline

MAX_TOKENS = 512
PAUSE = ", "
END = "."
PALATAL = "ʲ"
LONG = "ː"

_CONSONANTS = {
    "b": "b",
    "ch": "ʨ",
    "d": "d",
    "f": "ɸ",
    "g": "ɡ",
    "gw": "ɡᵝ",
    "h": "h",
    "hy": "ç",
    "j": "ʥ",
    "k": "k",
    "kw": "kᵝ",
    "m": "m",
    "n": "n",
    "ny": "ɲ",
    "p": "p",
    "r": "ɾ",
    "s": "s",
    "sh": "ɕ",
    "t": "t",
    "ts": "ʦ",
    "v": "v",
    "w": "β",
    "y": "j",
    "z": "ʣ",
    **{f"{plain}y": f"{ipa}{PALATAL}" for plain, ipa in zip("bdgkmprt", "bdɡkmpɾt", strict=True)},
}
_VOWELS = {"a": "a", "i": "i", "u": "ɯ", "e": "e", "o": "o"}
# What these consonants become before i and u; the others stay.
_BEFORE_I = {"h": "ç", "n": "ɲ", "z": "z"}
_BEFORE_U = {"z": "z"}
_PALATALISED_BEFORE_I = frozenset({"b", "d", "f", "g", "k", "m", "p", "r", "t", "ts", "v"})
_FRONTED_U = frozenset({"s", "z", "ts", "ch", "sh", "j", "hy", "ny", "by", "dy", "gy", "ky", "my", "py", "ry", "ty"})
# The moranic nasal takes the place of the sound behind it.
_NASALS = {**dict.fromkeys("mpb", "m"), **dict.fromkeys("kɡ", "ŋ"), **dict.fromkeys("ɲʨʥ", "ɲ")}
_NASALS |= dict.fromkeys("ntdɾz", "n")
_NASAL = "ɴ"


@dataclass(frozen=True)
class Spoken:
    """The tokens of one mora: [start, vowel) its consonant, [vowel, stop) its vowel and a space behind it."""

    mora: int
    start: int
    vowel: int
    stop: int


@dataclass(frozen=True)
class Tokens:
    """A piece as the model reads it, with the pads. Between two groups and behind the last stand pause tokens."""

    ids: tuple[int, ...]
    groups: tuple[tuple[Spoken, ...], ...]


def tokenize(timeline: Timeline, piece: Piece, vocabulary: Mapping[str, int]) -> Tokens:
    text = ""
    groups: list[tuple[Spoken, ...]] = []
    for number, group in enumerate(piece):
        spoken: list[Spoken] = []
        for index, (consonant, vowel) in zip(group, _characters(timeline, group), strict=True):
            start = len(text) + 1
            text += consonant + vowel
            spoken.append(Spoken(index, start, start + len(consonant), len(text) + 1))
        groups.append(tuple(spoken))
        text += END if number == len(piece) - 1 else PAUSE
    return Tokens((0, *(vocabulary[character] for character in text), 0), tuple(groups))


def _characters(timeline: Timeline, group: range) -> list[tuple[str, str]]:
    """Consonant and vowel of each mora; neighbours in the same accent phrase matter, and a space ends the phrase."""
    characters: list[tuple[str, str]] = []
    before: Mora | None = None
    for index in group:
        mora = timeline.moras[index]
        ends = index in timeline.phrase_ends
        following = None if ends or index + 1 not in group else timeline.moras[index + 1]
        vowel = _vowel(mora, following)
        # No mark behind a mark: a run of one vowel is read in twos.
        if before is not None and _lengthens(before, mora) and characters[-1][1] != LONG:
            vowel = LONG
        characters.append((_consonant(mora), vowel + (" " if ends and index + 1 in group else "")))
        before = None if ends else mora
    return characters


def _consonant(mora: Mora) -> str:
    name = mora.consonant
    if name is None:
        return ""
    tail = mora.vowel.lower()
    if tail == "i":
        return _BEFORE_I.get(name, _CONSONANTS[name]) + (PALATAL if name in _PALATALISED_BEFORE_I else "")
    return _BEFORE_U.get(name, _CONSONANTS[name]) if tail == "u" else _CONSONANTS[name]


def _vowel(mora: Mora, following: Mora | None) -> str:
    if mora.vowel == "cl":
        return "ʔ"
    if mora.vowel == "N":
        sound = "" if following is None else _consonant(following)[:1]
        return _NASALS.get(sound, _NASAL)
    if mora.vowel in "uU" and mora.consonant in _FRONTED_U:
        return "ɨ"
    return _VOWELS[mora.vowel.lower()]


def _lengthens(before: Mora, mora: Mora) -> bool:
    return mora.consonant is None and mora.vowel in _VOWELS and mora.vowel == before.vowel
