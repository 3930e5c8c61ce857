"""Lengths and pitches of speech, and lengths, pitches and volumes of song, by a VVM's small models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from koegumi.schema.plain import UNVOICED, AccentPhrase, Mora
from koegumi.voices.interface import Integers, VoiceError
from koegumi.voices.vvm.domains import SING, SINGING_TEACHER, STREAMING_TALK, TALK
from koegumi.voices.vvm.features import Floats, intonation_inputs, phoneme_list
from koegumi.voices.vvm.lazily import Lazily

OPERATIONS = {
    TALK: ("predict_duration", "predict_intonation"),
    STREAMING_TALK: ("predict_duration", "predict_intonation"),
    SINGING_TEACHER: ("predict_sing_consonant_length", "predict_sing_f0", "predict_sing_volume"),
}
SHORTEST = 0.01


class VvmQuery(Lazily):
    def _domains(self, style_id: int) -> list[str]:
        type_ = self._models.styles[style_id]
        if type_ == SING:
            return [SINGING_TEACHER]
        return [type_] if type_ in OPERATIONS else []

    # Speech.

    def mora_data(self, phrases: Sequence[AccentPhrase], style_id: int) -> list[AccentPhrase]:
        return self.mora_pitch(self.mora_length(phrases, style_id), style_id)

    def mora_length(self, phrases: Sequence[AccentPhrase], style_id: int) -> list[AccentPhrase]:
        if not phrases:
            return []
        inputs = {"phoneme_list": phoneme_list(phrases)}
        lengths = self._predict(style_id, "predict_duration", inputs, len(inputs["phoneme_list"]))
        rest = iter(np.maximum(lengths[1:-1], np.float32(SHORTEST)).tolist())
        return [_map(phrase, lambda mora: _with_lengths(mora, rest)) for phrase in phrases]

    def mora_pitch(self, phrases: Sequence[AccentPhrase], style_id: int) -> list[AccentPhrase]:
        if not phrases:
            return []
        inputs = intonation_inputs(phrases)
        pitches = self._predict(style_id, "predict_intonation", inputs, int(inputs["length"]))
        rest = iter(pitches[1:-1].tolist())
        return [_map(phrase, lambda mora: _with_pitch(mora, next(rest))) for phrase in phrases]

    def _predict(self, style_id: int, operation: str, inputs: dict[str, Integers], length: int) -> Floats:
        domain = self._domains(style_id)[0]
        numbers = self._models.run(style_id, domain, operation, inputs)
        return _checked(numbers, operation, (length,))

    # Song.

    def sing_consonant_lengths(
        self, consonants: Integers, vowels: Integers, note_lengths: Integers, style_id: int
    ) -> Integers:
        inputs: dict[str, NDArray[Any]] = {"consonants": consonants, "vowels": vowels, "note_durations": note_lengths}
        return self._sing(style_id, "predict_sing_consonant_length", inputs)

    def sing_f0(self, phonemes: Integers, keys: Integers, style_id: int) -> Floats:
        return self._sing(style_id, "predict_sing_f0", {"phonemes": phonemes, "notes": keys})

    def sing_volume(self, phonemes: Integers, keys: Integers, f0: Floats, style_id: int) -> Floats:
        inputs: dict[str, NDArray[Any]] = {"phonemes": phonemes, "notes": keys, "frame_f0s": f0}
        return self._sing(style_id, "predict_sing_volume", inputs)

    def _sing(self, style_id: int, operation: str, inputs: dict[str, NDArray[Any]]) -> NDArray[Any]:
        """Rows in, a row out; nothing for nothing."""
        length = len(next(iter(inputs.values())))
        if not length:
            return np.zeros(0, np.float32)
        rows = {name: values[None] for name, values in inputs.items()}
        row: NDArray[Any] = _checked(
            self._models.run(style_id, SINGING_TEACHER, operation, rows), operation, (1, length)
        )[0]
        return row


def _checked(numbers: NDArray[Any], operation: str, shape: tuple[int, ...]) -> NDArray[Any]:
    if numbers.shape != shape:
        raise VoiceError(f"the voice's {operation} gave numbers of shape {numbers.shape}, and not {shape}")
    if not np.isfinite(numbers).all():
        raise VoiceError(f"the voice's {operation} gave a number that is none: infinite, or not a number")
    return numbers


def _map(phrase: AccentPhrase, change: Callable[[Mora], Mora]) -> AccentPhrase:
    moras = [change(mora) for mora in phrase.moras]
    return msgspec.structs.replace(phrase, moras=moras, pause_mora=phrase.pause_mora and change(phrase.pause_mora))


def _with_lengths(mora: Mora, lengths: Iterator[float]) -> Mora:
    consonant = None if mora.consonant is None else next(lengths)
    return msgspec.structs.replace(mora, consonant_length=consonant, vowel_length=next(lengths))


def _with_pitch(mora: Mora, pitch: float) -> Mora:
    return msgspec.structs.replace(mora, pitch=0.0 if mora.vowel in UNVOICED else pitch)
