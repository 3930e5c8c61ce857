"""A continuous batch: rows of different lengths and ages in one run; who ends gives its place to who waits."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from koegumi.voices.bark.speech import Speech

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Feed:
    """What a row feeds next: hidden states [time, size] from `position` on. From position 0 it is a prompt."""

    hidden: Floats
    position: int


class Sequence(Protocol):
    """One row's way through a causal model. `feed` is None when it is done."""

    speech: Speech
    feed: Feed | None

    def accept(self, logits: Floats) -> None:
        """Take the logits [rows of the head] after `feed`, and say by `feed` what comes next."""


class CausalModel(Protocol):
    def run(self, place: int, hidden: Floats, lengths: NDArray[np.int64]) -> Floats:
        """hidden [rows, time, size] of the places from `place` on, each of which has lengths [rows] positions once
        it is run -> logits [rows, n]."""

    def move(self, source: int, target: int, length: int) -> bool:
        """Copy a place's keys and values; False where this device does not."""


class Batch:
    """At most `width` rows. A step is one run: a single row's prompt, or one token of every row."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._waiting: deque[Sequence] = deque()
        self._places: list[Sequence | None] = []

    def __len__(self) -> int:
        return len(self._waiting) + sum(place is not None for place in self._places)

    def add(self, sequence: Sequence) -> None:
        self._waiting.append(sequence)

    def speeches(self) -> list[Speech]:
        seated = [sequence.speech for sequence in self._places if sequence is not None]
        return seated + [sequence.speech for sequence in self._waiting]

    def clear(self) -> None:
        self._waiting.clear()
        self._places.clear()

    def step(self, model: CausalModel) -> list[Speech]:
        """Those that are done."""
        self._drop_unwanted(model)
        done = self._seat()
        prompt = next((place for place, row in enumerate(self._places) if _is_at_prompt(row)), None)
        if prompt is not None:
            self._run_prompt(model, prompt)
        elif self._places:
            self._run_tokens(model)
        done += [row.speech for row in self._places if row is not None and row.feed is None]
        self._leave(model, [place for place, row in enumerate(self._places) if row is not None and row.feed is None])
        return done

    def _drop_unwanted(self, model: CausalModel) -> None:
        self._waiting = deque(row for row in self._waiting if row.speech.is_wanted())
        self._leave(model, [n for n, row in enumerate(self._places) if row is not None and not row.speech.is_wanted()])

    def _seat(self) -> list[Speech]:
        """Fill free places; those that have nothing to do are done at once."""
        done = []
        while self._waiting:
            if self._waiting[0].feed is None:
                done.append(self._waiting.popleft().speech)
            elif None in self._places:
                self._places[self._places.index(None)] = self._waiting.popleft()
            elif len(self._places) < self._width:
                self._places.append(self._waiting.popleft())
            else:
                break
        return done

    def _run_prompt(self, model: CausalModel, place: int) -> None:
        row = self._places[place]
        assert row is not None and row.feed is not None
        length = row.feed.position + len(row.feed.hidden)
        row.accept(model.run(place, row.feed.hidden[None], np.array([length]))[0])

    def _run_tokens(self, model: CausalModel) -> None:
        """An empty place between others runs along with a token that nobody reads."""
        size = next(row.feed.hidden.shape[1] for row in self._places if row is not None and row.feed is not None)
        hidden = np.zeros((len(self._places), 1, size), np.float32)
        lengths = np.ones(len(self._places), np.int64)
        for place, row in enumerate(self._places):
            if row is not None and row.feed is not None:
                hidden[place] = row.feed.hidden
                lengths[place] = row.feed.position + 1
        logits = model.run(0, hidden, lengths)
        for place, row in enumerate(self._places):
            if row is not None:
                row.accept(logits[place])

    def _leave(self, model: CausalModel, places: list[int]) -> None:
        """Free places. The last row moves into each, where rows can be moved, so that none runs empty."""
        for place in sorted(places, reverse=True):
            self._places[place] = None
            last = self._places[-1]
            if place < len(self._places) - 1 and last is not None and not self._waiting:
                length = last.feed.position if last.feed is not None else 0
                if model.move(len(self._places) - 1, place, length):
                    self._places[place], self._places[-1] = last, None
            while self._places and self._places[-1] is None:
                self._places.pop()


def _is_at_prompt(row: Sequence | None) -> bool:
    return row is not None and row.feed is not None and row.feed.position == 0
