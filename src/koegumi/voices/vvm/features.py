"""Accent phrases and timelines in the numbers that the models read, as VOICEVOX ENGINE prepares them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from koegumi.schema.phonemes import IDS, NO_PHONEME, PHONEMES
from koegumi.schema.plain import AccentPhrase, Mora
from koegumi.schema.score import FRAMES_A_SECOND
from koegumi.voices.interface import Integers
from koegumi.voices.timeline import Timeline

Floats = NDArray[np.float32]
REST = IDS["pau"]
SAMPLES_A_FRAME = 256
# What the decoder gets, and its sound loses again, at both ends: 0.4 s.
PADDING = 38
# Frames beyond a segment that its sound depends on.
MARGIN = 14


def moras_of(phrases: Sequence[AccentPhrase]) -> Iterator[Mora]:
    """All morae in their order, pauses among them."""
    for phrase in phrases:
        yield from phrase.moras
        if phrase.pause_mora is not None:
            yield phrase.pause_mora


def phoneme_list(phrases: Sequence[AccentPhrase]) -> Integers:
    """Numbers of all phonemes, with a pause at both ends."""
    numbers = [REST]
    for mora in moras_of(phrases):
        if mora.consonant is not None:
            numbers.append(IDS[mora.consonant])
        numbers.append(IDS[mora.vowel])
    return np.array([*numbers, REST], np.int64)


def intonation_inputs(phrases: Sequence[AccentPhrase]) -> dict[str, Integers]:
    """One number a mora, with a pause at both ends: its phonemes, and where accents and phrases start and end."""
    moras = list(moras_of(phrases))
    consonants = [NO_PHONEME if mora.consonant is None else IDS[mora.consonant] for mora in moras]
    lists = {
        "vowel_phoneme_list": [REST, *(IDS[mora.vowel] for mora in moras), REST],
        "consonant_phoneme_list": [NO_PHONEME, *consonants, NO_PHONEME],
        "start_accent_list": _marks(phrases, lambda phrase: 0 if phrase.accent == 1 else 1),
        "end_accent_list": _marks(phrases, lambda phrase: phrase.accent - 1),
        "start_accent_phrase_list": _marks(phrases, lambda phrase: 0),
        "end_accent_phrase_list": _marks(phrases, lambda phrase: -1),
    }
    inputs = {name: np.array(numbers, np.int64) for name, numbers in lists.items()}
    return {"length": np.array(len(moras) + 2, np.int64), **inputs}


def _marks(phrases: Sequence[AccentPhrase], where: Callable[[AccentPhrase], int]) -> list[int]:
    """1 at one mora of each phrase, 0 at all others, at pauses and at both ends."""
    marks = [0]
    for phrase in phrases:
        of_phrase = [0] * len(phrase.moras)
        if phrase.moras:
            of_phrase[where(phrase)] = 1
        marks += of_phrase + [0] * (phrase.pause_mora is not None)
    return [*marks, 0]


@dataclass(frozen=True)
class Frames:
    """Phoneme number and ln Hz (0: unvoiced) of each frame."""

    phonemes: Integers
    pitches: Floats

    def __len__(self) -> int:
        return len(self.phonemes)

    def part(self, start: int, stop: int) -> Frames:
        return Frames(self.phonemes[start:stop], self.pitches[start:stop])

    def padded(self) -> dict[str, Floats]:
        """What `decode` and `generate_full_intermediate` read: columns, silence at both ends."""
        phonemes = np.pad(self.phonemes, PADDING, constant_values=REST)
        one_hot = np.zeros((len(phonemes), len(PHONEMES)), np.float32)
        one_hot[np.arange(len(phonemes)), phonemes] = 1
        return {"f0": np.pad(self.pitches, PADDING)[:, None], "phoneme": one_hot}


def frames_of(spoken: Timeline) -> Frames:
    """Each phoneme's length is rounded to frames by itself, halves to the even number."""
    phonemes: list[int] = []
    lengths: list[int] = []
    pitches: list[float] = []
    for mora in spoken:
        if mora.consonant is not None:
            phonemes.append(IDS[mora.consonant])
            lengths.append(round((mora.consonant_length or 0.0) * FRAMES_A_SECOND))
            pitches.append(mora.pitch)
        phonemes.append(IDS[mora.vowel])
        lengths.append(round(mora.vowel_length * FRAMES_A_SECOND))
        pitches.append(mora.pitch)
    return Frames(np.repeat(np.array(phonemes, np.int64), lengths), np.repeat(np.array(pitches, np.float32), lengths))


def cuts(silent: NDArray[np.bool_], longest: int, shortest_silence: int) -> list[int]:
    """Where to cut frames into pieces, both ends included: in the middle of silences, so that a piece has at most
    `longest` frames where that can be done. What is short is not cut."""
    result = [0]
    middles = _middles(silent, shortest_silence)
    for middle, following in pairwise([*middles, len(silent)]):
        if following - result[-1] > longest:
            result.append(middle)
    return [*result, len(silent)]


def _middles(silent: NDArray[np.bool_], shortest: int) -> list[int]:
    """Of the silences with sound on both sides that have so many frames."""
    edges = np.flatnonzero(np.diff(silent.astype(np.int8)))
    starts = [int(edge) + 1 for edge in edges if not silent[edge]]
    stops = [int(edge) + 1 for edge in edges if silent[edge]]
    if len(silent) and silent[0]:
        stops = stops[1:]
    return [(start + stop) // 2 for start, stop in zip(starts, stops, strict=False) if stop - start >= shortest]
