"""Voices for tests: no model, exact formulas, instant sound. Styles as the reference's mock voices have them.

Lengths: round(phoneme id x 0.0625 + style, 2). Pitches: round((vowel id + consonant id (-1 if none) + the four accent
marks) x 0.0625 + style, 2), 0 where unvoiced. Sound: each mora a tone of its own, on the 256-sample frames.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from koegumi.schema.plain import UNVOICED, AccentPhrase, AudioQuery, Mora
from koegumi.voices.interface import Device, Places, Progress, Run, Speaker, Style, StyleFiles
from koegumi.voices.timeline import timeline

PHONEMES = (
    "pau A E I N O U a b by ch cl d dy e f g gw gy h hy i j k kw ky m my n ny o p py r ry s sh t ts ty u v w y z"
).split()
IDS = {phoneme: number for number, phoneme in enumerate(PHONEMES)} | {"sil": 0}
RATE = 24000
MoraChange = Callable[[Mora, int], Mora]
HERE = Path(__file__).parent
FILES = StyleFiles(icon=HERE / "icon.png", samples=(HERE / "sample.wav",))
CAST = (
    ("dummy1", "7ffcb7ce-00ec-4bdc-82cd-45a8889e43ff", (0, 2), "ALL"),
    ("dummy2", "388f246b-8c41-4ac1-8e2d-5d79f3ff56d9", (1, 3), "SELF_ONLY"),
    ("dummy3", "35b2c544-660e-401e-b503-0e14c635303a", (8,), "NOTHING"),
)


def _speaker(name: str, speaker_uuid: str, styles: Sequence[int], morphing: str) -> Speaker:
    return Speaker(
        name=name,
        uuid=speaker_uuid,
        version="mock",
        styles=tuple(Style(number, f"style{number}", FILES) for number in styles),
        policy="For tests.",
        portrait=HERE / "icon.png",
        real_time_factor=0.01,
        supported_features={"permitted_synthesis_morphing": morphing},
    )


class Query:
    def mora_length(self, phrases: Sequence[AccentPhrase], style_id: int) -> list[AccentPhrase]:
        return [_map(phrase, lambda mora, _: _with_length(mora, style_id)) for phrase in phrases]

    def mora_pitch(self, phrases: Sequence[AccentPhrase], style_id: int) -> list[AccentPhrase]:
        return [
            _map(phrase, lambda mora, marks: msgspec.structs.replace(mora, pitch=_pitch(mora, marks, style_id)))
            for phrase in phrases
        ]

    def mora_data(self, phrases: Sequence[AccentPhrase], style_id: int) -> list[AccentPhrase]:
        return self.mora_pitch(self.mora_length(phrases, style_id), style_id)


def _map(phrase: AccentPhrase, change: MoraChange) -> AccentPhrase:
    last = len(phrase.moras) - 1
    moras = [change(mora, _marks(phrase.accent, index, last)) for index, mora in enumerate(phrase.moras)]
    pause = phrase.pause_mora and change(phrase.pause_mora, 0)
    return msgspec.structs.replace(phrase, moras=moras, pause_mora=pause)


def _marks(accent: int, index: int, last: int) -> int:
    """How many of start accent, end accent, phrase start and phrase end fall on this mora."""
    start = 0 if accent == 1 else 1
    return (index == start) + (index == accent - 1) + (index == 0) + (index == last)


def _length(phoneme: str, style_id: int) -> float:
    return round(IDS[phoneme] * 0.0625 + style_id, 2)


def _with_length(mora: Mora, style_id: int) -> Mora:
    consonant = None if mora.consonant is None else _length(mora.consonant, style_id)
    return msgspec.structs.replace(mora, consonant_length=consonant, vowel_length=_length(mora.vowel, style_id))


def _pitch(mora: Mora, marks: int, style_id: int) -> float:
    if mora.vowel in UNVOICED:
        return 0.0
    consonant = -1 if mora.consonant is None else IDS[mora.consonant]
    return round((IDS[mora.vowel] + consonant + marks) * 0.0625 + style_id, 2)


class Synthesis:
    sampling_rate = RATE
    device = "cpu"

    def synthesis(
        self, query: AudioQuery, style_id: int, enable_interrogative_upspeak: bool, run: Run
    ) -> NDArray[np.float32]:
        moras = timeline(query, enable_interrogative_upspeak)
        parts = [_tone(mora, style_id) for mora in moras]
        return np.concatenate(parts) if parts else np.zeros(0, np.float32)


def _tone(mora: Mora, style_id: int) -> NDArray[np.float32]:
    frames = round((mora.consonant_length or 0.0) * 93.75) + round(mora.vowel_length * 93.75)
    time = np.arange(frames * 256) / RATE
    loudness = 0.0 if mora.vowel in ("pau", "sil") else 0.3
    hertz = 200 + 10 * IDS[mora.vowel] + style_id if mora.pitch == 0 else np.exp(mora.pitch)
    return (loudness * np.sin(2 * np.pi * hertz * time)).astype(np.float32)


class Cast:
    name = "cast"

    def find(self, places: Places) -> list[Speaker]:
        return [_speaker(*row) for row in CAST]

    def prepare(self, places: Places, device: str, progress: Progress) -> None:
        """Nothing to make."""

    def open_query(self, places: Places, device: Device) -> Query:
        return Query()

    def open_synthesis(self, places: Places, device: Device) -> Synthesis:
        return Synthesis()


FAMILY = Cast()
