"""Kokoro as the teacher: a sentence to sound, with the phonemes of its samples known and the accent imposed."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import platformdirs
from numpy.typing import NDArray

from koegumi.schema.phonemes import IDS
from koegumi.schema.plain import AccentPhrase, AudioQuery
from koegumi.text.front_end import FrontEnd
from koegumi.text.kana import parse_kana
from koegumi.voices.interface import Device, FreeRun, Places
from koegumi.voices.kokoro import FAMILY
from koegumi.voices.kokoro.model import Predictor
from koegumi.voices.kokoro.pieces import pieces
from koegumi.voices.kokoro.query import KokoroQuery
from koegumi.voices.kokoro.synthesis import SAMPLES_PER_UNIT, KokoroSynthesis, place
from koegumi.voices.timeline import Timeline, timeline

# Style ids of the Kokoro family, in the order of our voices.
VOICES = ("jf_alpha", "jf_gongitsune", "jf_nezumi", "jf_tebukuro", "jm_kumo")
STYLES = (1, 2, 3, 4, 5)
# Before a text in AquesTalk-like notation.
NOTATION = "kana:"


@dataclass(frozen=True)
class Said:
    """One utterance: samples at 24 kHz; for each phoneme its number, where it ends in samples, the pitch asked for in
    ln Hz (0: unvoiced) and whether an accent phrase ends with it."""

    wave: NDArray[np.float32]
    phonemes: NDArray[np.int64]
    ends: NDArray[np.int64]
    pitches: NDArray[np.float64]
    phrase_ends: NDArray[np.bool_]


@dataclass
class Teacher:
    front_end: FrontEnd = field(default_factory=FrontEnd)

    def __post_init__(self) -> None:
        places = Places(Path(os.environ.get("KOEGUMI_CACHE_DIR") or platformdirs.user_cache_dir("koegumi")))
        FAMILY.prepare(places, "cpu", print)
        self.query_voice: KokoroQuery = FAMILY.open_query(places, Device())
        self.predictor: Predictor = self.query_voice._predictor
        self.synthesis_voice: KokoroSynthesis = FAMILY.open_synthesis(places, Device())

    def query(self, text: str, style: int, **fields: Any) -> AudioQuery:
        return AudioQuery(self.query_voice.mora_data(self.phrases(text), style), **fields)

    def phrases(self, text: str) -> list[AccentPhrase]:
        if text.startswith(NOTATION):
            return parse_kana(text.removeprefix(NOTATION))
        return self.front_end.accent_phrases(text)

    def say(self, query: AudioQuery, style: int) -> Said:
        wave = self.synthesis_voice.synthesis(query, style, True, FreeRun())
        spoken = timeline(query, True)
        rows = list(_phonemes(spoken, len(wave)))
        numbers, ends, pitches, last = zip(*rows, strict=True)
        return Said(wave, np.array(numbers), np.array(ends), np.array(pitches), np.array(last))


def moved(query: AudioQuery, ln: float) -> AudioQuery:
    """The same, `ln` higher."""

    def phrase(old: AccentPhrase) -> AccentPhrase:
        moras = [msgspec.structs.replace(m, pitch=m.pitch + ln if m.pitch > 0 else 0.0) for m in old.moras]
        return msgspec.structs.replace(old, moras=moras)

    return msgspec.structs.replace(query, accent_phrases=[phrase(old) for old in query.accent_phrases])


def _phonemes(spoken: Timeline, total: int) -> list[tuple[int, int, float, bool]]:
    parts = pieces(spoken)
    places, _ = place(spoken, parts)
    rows: list[tuple[int, int, float, bool]] = []
    for group, placement in sorted(places.items(), key=lambda item: item[1].start):
        rows.append((0, placement.start, 0.0, False))
        ends = placement.start + SAMPLES_PER_UNIT * np.cumsum(placement.lengths)
        for index, consonant, vowel in zip(group, ends[::2], ends[1::2], strict=True):
            mora = spoken.moras[index]
            if mora.consonant is not None:
                rows.append((IDS[mora.consonant], int(consonant), mora.pitch, False))
            rows.append((IDS[mora.vowel], int(vowel), mora.pitch, index in spoken.phrase_ends))
    rows.append((0, total, 0.0, False))
    return rows
