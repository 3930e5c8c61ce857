"""Lengths and pitches for accent phrases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from koegumi.schema.plain import AccentPhrase, Mora
from koegumi.voices.kokoro.frames import FRAMES_PER_UNIT, UNIT_SECONDS, find_groups
from koegumi.voices.kokoro.model import Predictor
from koegumi.voices.kokoro.pieces import Piece, pieces
from koegumi.voices.kokoro.pitch import FALLBACK_PITCH, Contour, accent_pitches
from koegumi.voices.kokoro.tokens import tokenize
from koegumi.voices.timeline import Timeline, flatten

# The model hardly stops at some commas; a reader does.
MIN_PAUSE_SECONDS = 0.2
FRAMES_PER_SECOND = round(FRAMES_PER_UNIT / UNIT_SECONDS)


class Spoken(msgspec.Struct):
    """What the model says of one mora: lengths in seconds, pitch in ln Hz."""

    consonant: float = 0.0
    vowel: float = 0.0
    pitch: float = FALLBACK_PITCH


class KokoroQuery:
    """Predictions depend on the phonemes and phrases alone, never on lengths and pitches that are already there."""

    def __init__(self, predictor: Predictor, voices: Mapping[int, str]) -> None:
        self._predictor = predictor
        self._voices = voices

    def mora_length(self, phrases: Sequence[AccentPhrase], style_id: int) -> list[AccentPhrase]:
        return [_with_lengths(*pair) for pair in self._predict(phrases, style_id)]

    def mora_pitch(self, phrases: Sequence[AccentPhrase], style_id: int) -> list[AccentPhrase]:
        return [_with_pitches(*pair) for pair in self._predict(phrases, style_id)]

    def mora_data(self, phrases: Sequence[AccentPhrase], style_id: int) -> list[AccentPhrase]:
        return [
            _with_pitches(_with_lengths(phrase, spoken), spoken) for phrase, spoken in self._predict(phrases, style_id)
        ]

    def warm_up(self) -> None:
        """Predict once, so that no client waits for what is made at the first run."""
        phrase = AccentPhrase([Mora("ア", None, None, "a", 0.0, 0.0)] * 2, 1)
        self.mora_data([phrase], next(iter(self._voices)))

    def _predict(self, phrases: Sequence[AccentPhrase], style_id: int) -> list[tuple[AccentPhrase, list[Spoken]]]:
        """Each phrase with what the model says of its morae, its pause mora last."""
        timeline = _without_lengths(flatten(phrases))
        spoken = [Spoken() for _ in timeline.moras]
        for piece in pieces(timeline):
            self._predict_piece(timeline, piece, self._voices[style_id], spoken)
        result: list[tuple[AccentPhrase, list[Spoken]]] = []
        start = 0
        for phrase in phrases:
            stop = start + len(phrase.moras) + (phrase.pause_mora is not None)
            result.append((phrase, spoken[start:stop]))
            start = stop
        return result

    def _predict_piece(self, timeline: Timeline, piece: Piece, voice: str, spoken: list[Spoken]) -> None:
        tokens = tokenize(timeline, piece, self._predictor.vocabulary)
        prediction = self._predictor(tokens, voice)
        contour = Contour.of(prediction.hertz)
        groups = find_groups(tokens, prediction.units, prediction.energy)
        begins = [group.start for group in groups[1:]] + [len(prediction.energy)]
        for indices, group, following in zip(piece, groups, begins, strict=True):
            bounds = group.bounds
            lengths = np.diff(bounds) / FRAMES_PER_SECOND
            for index, consonant, vowel, start, stop in zip(
                indices, lengths[::2], lengths[1::2], bounds[1::2], bounds[2::2], strict=True
            ):
                spoken[index] = Spoken(float(consonant), float(vowel), contour.height(start, stop))
            if indices.stop < len(spoken):
                spoken[indices.stop].vowel = max((following - group.stop) / FRAMES_PER_SECOND, MIN_PAUSE_SECONDS)


def _without_lengths(timeline: Timeline) -> Timeline:
    bare = (msgspec.structs.replace(mora, consonant_length=None, vowel_length=0.0) for mora in timeline.moras)
    return Timeline(tuple(bare), timeline.phrase_ends)


def _with_lengths(phrase: AccentPhrase, spoken: Sequence[Spoken]) -> AccentPhrase:
    moras = [_mora_with_lengths(mora, said) for mora, said in zip(phrase.moras, spoken, strict=False)]
    pause = phrase.pause_mora and _mora_with_lengths(phrase.pause_mora, spoken[-1])
    return msgspec.structs.replace(phrase, moras=moras, pause_mora=pause)


def _mora_with_lengths(mora: Mora, spoken: Spoken) -> Mora:
    consonant = None if mora.consonant is None else spoken.consonant
    return msgspec.structs.replace(mora, consonant_length=consonant, vowel_length=spoken.vowel)


def _with_pitches(phrase: AccentPhrase, spoken: Sequence[Spoken]) -> AccentPhrase:
    predicted = [said.pitch for said in spoken[: len(phrase.moras)]]
    pitches = accent_pitches(phrase, predicted)
    moras = [msgspec.structs.replace(mora, pitch=pitch) for mora, pitch in zip(phrase.moras, pitches, strict=True)]
    pause = phrase.pause_mora and msgspec.structs.replace(phrase.pause_mora, pitch=0.0)
    return msgspec.structs.replace(phrase, moras=moras, pause_mora=pause)
