"""Full-context labels to accent phrases, by VOICEVOX ENGINE's rules (text_analyzer).

Of a label (HTS format) these are used: p3 the phoneme, a2 the mora's number in its accent phrase, f1 `xx` for a pause,
f2 the accent, f3 1 where the phrase asks, f5 and i3 the numbers of accent phrase and breath group.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from koegumi.schema.phonemes import VOWELS
from koegumi.schema.plain import AccentPhrase, Mora
from koegumi.text.features import MOST_MORAE
from koegumi.text.guard import TextError
from koegumi.text.kana import mora, pause
from koegumi.text.moras import KANA_OF, VOICED

_LABEL = re.compile(
    r"[^-]*-(?P<phoneme>[^+]+)\+.*/A:[^+]+\+(?P<mora>\d+)\+.*"
    r"/F:[^_]+_(?P<accent>\d+)#(?P<asks>[^_]+)_[^@]*@(?P<phrase>\d+)_.*/I:[^@]+@(?P<breath>\d+)\+"
)


class Label(NamedTuple):
    """One phoneme of speech."""

    phoneme: str
    mora: int
    accent: int
    asks: bool
    phrase: int
    breath: int


def accent_phrases(labels: Iterable[str]) -> list[AccentPhrase]:
    """The accent phrases of the labels, with all lengths and pitches 0. Raises TextError."""
    groups: list[list[AccentPhrase]] = []
    parsed = [_parse(label) for label in labels]
    for is_speech, group in groupby(parsed, key=lambda label: label is not None):
        if is_speech:
            spoken = [label for label in group if label is not None]
            groups.append([_phrase(list(each)) for _, each in groupby(spoken, key=lambda at: (at.breath, at.phrase))])
    for group_before in groups[:-1]:
        group_before[-1].pause_mora = pause()
    return [phrase for phrases in groups for phrase in phrases]


def _parse(label: str) -> Label | None:
    """None for silence and pauses, which have none of these numbers."""
    match = _LABEL.match(label)
    if match is None:
        return None
    return Label(
        match["phoneme"],
        int(match["mora"]),
        int(match["accent"]),
        match["asks"] == "1",
        int(match["phrase"]),
        int(match["breath"]),
    )


def _phrase(labels: Sequence[Label]) -> AccentPhrase:
    morae: list[Mora] = []
    consonant: str | None = None
    for label in labels:
        if label.mora >= MOST_MORAE:
            break
        if label.phoneme in VOWELS:
            morae.append(_mora(consonant, label.phoneme))
            consonant = None
        else:
            consonant = label.phoneme
    return AccentPhrase(moras=morae, accent=min(labels[0].accent, len(morae)), is_interrogative=labels[-1].asks)


def _mora(consonant: str | None, vowel: str) -> Mora:
    kana = KANA_OF.get((consonant, VOICED.get(vowel, vowel)))
    if kana is None:
        raise TextError(f"Open JTalk reads a part of the text as a sound that has no kana: {consonant} {vowel}")
    return mora(kana, consonant, vowel)
