"""Voices that break on purpose, in ways a real worker breaks: the process dies, hangs in native code, or is slow."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from koegumi.schema.plain import AccentPhrase, AudioQuery
from koegumi.voices.interface import Device, Places, Progress, Run, Speaker, Style, StyleFiles, VoiceError

CRASH, HANG, CRASH_ONCE, BUG, SLOW, REFUSE = range(90, 96)
HERE = Path(__file__).parent.parent / "cast"
FILES = StyleFiles(icon=HERE / "icon.png", samples=(HERE / "sample.wav",))


class Query:
    def mora_length(self, phrases: Sequence[AccentPhrase], style_id: int) -> list[AccentPhrase]:
        return self.mora_data(phrases, style_id)

    def mora_pitch(self, phrases: Sequence[AccentPhrase], style_id: int) -> list[AccentPhrase]:
        return self.mora_data(phrases, style_id)

    def mora_data(self, phrases: Sequence[AccentPhrase], style_id: int) -> list[AccentPhrase]:
        for phrase in phrases:
            phrase.moras = [msgspec.structs.replace(mora, vowel_length=0.1, pitch=5.5) for mora in phrase.moras]
        return list(phrases)


class Synthesis:
    sampling_rate = 24000
    device = "cpu"

    def synthesis(
        self, query: AudioQuery, style_id: int, enable_interrogative_upspeak: bool, run: Run
    ) -> NDArray[np.float32]:
        match style_id:
            case 90:
                ctypes.string_at(0)
            case 91:
                ctypes.PyDLL(None).sleep(3600)  # with the interpreter's lock held: no thread of ours gets a word in
            case 92:
                _once()
            case 93:
                raise RuntimeError("a bug in a voice")
            case 94:
                _spin(run)
            case 95:
                raise VoiceError("this voice speaks no such text")
        return np.full(2400, 0.1, np.float32)


def _once() -> None:
    """Die the first time; the folder's mark survives the process."""
    mark = Path(os.environ["KOEGUMI_TEST_MARKS"]) / "crashed"
    if not mark.exists():
        mark.touch()
        os.abort()


def _spin(run: Run) -> None:
    """Work that ends only when it is cancelled, or when the test says so."""
    go_on = Path(os.environ["KOEGUMI_TEST_MARKS"]) / "go on"
    while not go_on.exists():
        run.check()


class Faulty:
    name = "faulty"

    def find(self, places: Places) -> list[Speaker]:
        styles = tuple(Style(number, f"fault {number}", FILES) for number in range(90, 96))
        return [
            Speaker("faulty", "00000000-0000-4000-8000-000000000090", "mock", styles, "For tests.", HERE / "icon.png")
        ]

    def prepare(self, places: Places, device: str, progress: Progress) -> None:
        """Nothing to make."""

    def open_query(self, places: Places, device: Device) -> Query:
        return Query()

    def open_synthesis(self, places: Places, device: Device) -> Synthesis:
        return Synthesis()


FAMILY = Faulty()
