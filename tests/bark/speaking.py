"""Rows for tests, and an engine that keeps what every stage made."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from koegumi.voices.bark.engine import Engine
from koegumi.voices.bark.rows import Draw, Preset, Row, Sampling, Sentence, Wave
from koegumi.voices.bark.speech import Speech

GREEDY = Sampling(Draw(None), Draw(None), None, None)


@dataclass(eq=False)
class Listener:
    """A row that keeps what it is told."""

    sentence: Sentence
    on_check: Callable[[], None] = lambda: None
    wave: Wave | None = None
    error: Exception | None = None
    told: list[tuple[str, float]] = field(default_factory=list)
    speech: Speech | None = None

    def check(self) -> None:
        self.on_check()

    def progress(self, stage: str, share: float) -> None:
        self.told.append((stage, share))

    def done(self, wave: Wave) -> None:
        assert self.wave is None and self.error is None
        self.wave = wave

    def failed(self, error: Exception) -> None:
        assert self.wave is None and self.error is None
        self.error = error


class Line:
    """A source: rows that wait, some of which come only after so many looks at the source."""

    def __init__(self, rows: Sequence[Row], later: Sequence[tuple[int, Row]] = ()) -> None:
        self._rows = deque(rows)
        self._later = deque(later)
        self._looks = 0

    def take(self, room: int) -> list[Row]:
        assert room > 0
        self._looks += 1
        while self._later and self._later[0][0] <= self._looks:
            self._rows.append(self._later.popleft()[1])
        return [self._rows.popleft() for _ in range(min(room, len(self._rows)))]


class KeepingEngine(Engine):
    def _pass_on(self, name: str, speech: Speech) -> None:
        assert isinstance(speech.row, Listener)
        speech.row.speech = speech
        super()._pass_on(name, speech)


def speak(engine: Engine, rows: Sequence[Listener], later: Sequence[tuple[int, Listener]] = ()) -> None:
    """Raises what any row was told."""
    engine.speak(Line(rows, later))
    for row in (*rows, *(row for _, row in later)):
        if row.error is not None:
            raise row.error


def made(row: Listener) -> tuple[list[int], list[int], list[list[int]]]:
    """Semantic, coarse and fine tokens."""
    assert row.speech is not None and row.wave is not None
    return row.speech.semantic.tolist(), row.speech.coarse.tolist(), row.speech.codes.tolist()


def random_preset(seed: int, semantic: int, frames: int, vocabulary: int, codebook: int) -> Preset:
    source = np.random.default_rng(seed)
    fine = source.integers(0, codebook, (8, frames))
    return Preset(source.integers(0, vocabulary, semantic), fine[:2].copy(), fine)
