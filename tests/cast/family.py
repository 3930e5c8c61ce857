"""The reference engine's mock voices: no model, exact formulas, and a sound that ignores the numbers.

Lengths: round(phoneme id x 0.0625 + style, 2). Pitches: round((vowel id + consonant id (-1 if none) + the four accent
marks) x 0.0625 + style, 2), 0 where unvoiced. Talk sounds as Open JTalk's own voice reads the morae's texts; without
any mora it is silent. Songs have formulas too, down to the samples.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from koegumi.schema.phonemes import IDS
from koegumi.schema.plain import UNVOICED, AccentPhrase, AudioQuery, Mora
from koegumi.voices.interface import (
    TALK,
    Capability,
    Device,
    Integers,
    Places,
    Progress,
    Run,
    Speaker,
    Style,
    StyleFiles,
)

TALK_RATE = 48000
FRAMES_A_SECOND = 93.75
MoraChange = Callable[[Mora, int], Mora]
Floats = NDArray[np.float32]
HERE = Path(__file__).parent
FILES = StyleFiles(icon=HERE / "icon.png", samples=(HERE / "sample.wav",))
CAST: tuple[tuple[str, str, dict[int, str], str], ...] = (
    (
        "dummy1",
        "7ffcb7ce-00ec-4bdc-82cd-45a8889e43ff",
        {0: "talk", 2: "talk", 4: "frame_decode", 6: "frame_decode"},
        "ALL",
    ),
    (
        "dummy2",
        "388f246b-8c41-4ac1-8e2d-5d79f3ff56d9",
        {1: "talk", 3: "talk", 5: "frame_decode", 7: "sing"},
        "SELF_ONLY",
    ),
    ("dummy3", "35b2c544-660e-401e-b503-0e14c635303a", {8: "talk"}, "NOTHING"),
    ("dummy4", "b1a81618-b27b-40d2-b0ea-27a9ad408c4b", {9: "sing"}, "ALL"),
)


def _speaker(name: str, speaker_uuid: str, styles: dict[int, str], morphing: str) -> Speaker:
    return Speaker(
        name=name,
        uuid=speaker_uuid,
        version="mock",
        styles=tuple(Style(number, f"style{number}", FILES, kind) for number, kind in styles.items()),
        policy="For tests.",
        portrait=HERE / "icon.png",
        capabilities=TALK | {Capability.SONG},
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

    def sing_consonant_lengths(
        self, consonants: Integers, vowels: Integers, note_lengths: Integers, style_id: int
    ) -> Integers:
        return np.where(consonants == -1, 0, consonants % 3 + vowels % 5 + note_lengths % 7 + style_id % 11)

    def sing_f0(self, phonemes: Integers, keys: Integers, style_id: int) -> Floats:
        hertz = 2.0 ** ((keys - 69) / 12) * (440 + phonemes / 10 + style_id)
        return np.where(keys == -1, 0, hertz).astype(np.float32)

    def sing_volume(self, phonemes: Integers, keys: Integers, f0: Floats, style_id: int) -> Floats:
        volume = phonemes / 40 * (keys / 88) * (f0 / 440) * 0.5**style_id * 10
        return np.where(keys == -1, 0, volume).astype(np.float32)


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
    sampling_rate = TALK_RATE
    device = "cpu"

    def __init__(self) -> None:
        _read("ア")  # Open JTalk loads its dictionary and its voice now

    def synthesis(self, query: AudioQuery, style_id: int, enable_interrogative_upspeak: bool, run: Run) -> Floats:
        from koegumi.text.guard import pieces

        moras = [mora for phrase in query.accent_phrases for mora in (*phrase.moras, phrase.pause_mora) if mora]
        parts = [
            _read(piece.text) for piece in pieces("".join(mora.text for mora in moras)) if _KANA.search(piece.text)
        ]
        return np.concatenate(parts) if parts else _silence(query)

    def sing(self, phonemes: Integers, f0: Floats, volume: Floats, style_id: int, run: Run) -> Floats:
        return np.repeat(f0 / 440 * volume * (phonemes / 40) + style_id, 256).astype(np.float32)


# What Open JTalk certainly has a phoneme for: without any, it crashes.
_KANA = re.compile("[ア-オカ-ヂツ-モヤユヨ-ロワ-ヴ]")


def _read(text: str) -> Floats:
    import pyopenjtalk

    wave, rate = pyopenjtalk.tts(text)
    assert rate == TALK_RATE
    return np.asarray(wave / 32768, np.float32)


def _silence(query: AudioQuery) -> Floats:
    """Whole frames, as the reference has them when nobody speaks."""
    ends = (query.pre_phoneme_length, query.post_phoneme_length)
    frames = sum(round(seconds / query.speed_scale * FRAMES_A_SECOND) for seconds in ends)
    return np.zeros(round(frames * TALK_RATE / FRAMES_A_SECOND), np.float32)


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
