"""The first two codebooks to all eight: windows of 1024 frames, one codebook after another."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from koegumi.voices.bark import sampling
from koegumi.voices.bark.rows import Tokens
from koegumi.voices.bark.shape import Shape
from koegumi.voices.bark.speech import Speech

Floats = NDArray[np.float32]
# Whether a window is filled up with padding, as in transformers, or ends where the sentence ends.
FineWindow = Literal["full", "short"]


class FineModel(Protocol):
    def run(self, codes: Tokens, codebook: int, first: int, last: int) -> Floats:
        """codes [rows, frames, codebooks] -> logits [rows, last - first, codebook size] of one codebook."""


@dataclass
class Window:
    """`start` in the row's frames; from `first` on in the window codes are made, from `needed` on nobody hears them."""

    start: int
    first: int
    needed: int


class FineSequence:
    """One row's frames and its history before them; behind them, in a full window, padding, which is attended."""

    def __init__(self, speech: Speech, shape: Shape, window: FineWindow = "full") -> None:
        self.speech = speech
        self._shape = shape
        numbers = shape.fine_numbers
        self._generator = speech.generator("fine")
        preset = speech.sentence.preset
        history = preset.fine.T[-numbers.most_history :] if preset else np.zeros((0, numbers.codebooks), np.int64)
        coarse = speech.coarse.reshape(-1, shape.coarse_numbers.codebooks) - shape.semantic_numbers.vocabulary
        self._history, self._frames = len(history), len(coarse)
        own = self._history + self._frames
        length = own if window == "short" else max(numbers.window, own)
        self.size = min(numbers.window, length)
        self._codes = np.full((length, numbers.codebooks), shape.codebook, np.int64)
        self._codes[: self._history] = history
        made = slice(self._history, self._history + self._frames)
        self._codes[made, : coarse.shape[1]] = coarse % shape.codebook
        self._windows = deque(self._cut())
        self._count = len(self._windows)

    @property
    def window(self) -> Window | None:
        return self._windows[0] if self._windows else None

    def codes(self) -> Tokens:
        """The window's codes [frames, codebooks]; a view."""
        start = self._windows[0].start
        return self._codes[start : start + self.size]

    def last(self, codebook: int) -> int:
        """Up to where in the window this codebook is wanted: padding is read by the next codebook alone."""
        return self._windows[0].needed if codebook == self._shape.fine_numbers.codebooks - 1 else self.size

    def accept(self, codebook: int, logits: Floats) -> None:
        """logits [frames, codebook size] from the window's first frame on."""
        window, temperature = self._windows[0], self.speech.sentence.sampling.fine_temperature
        logits = logits[: self.last(codebook) - window.first]
        if temperature:
            tokens = sampling.choose(sampling.softmax(logits / np.float32(temperature)), self._generator)
        else:
            tokens = logits.argmax(axis=-1)
        self.codes()[window.first : window.first + len(tokens), codebook] = tokens
        self._progress(codebook)
        if codebook == self._shape.fine_numbers.codebooks - 1:
            self._windows.popleft()
            if not self._windows:
                self.speech.codes = self._codes[self._history :][: self._frames].T

    def _progress(self, codebook: int) -> None:
        given = self._shape.coarse_numbers.codebooks
        of_window = (codebook + 1 - given) / (self._shape.fine_numbers.codebooks - given)
        self.speech.progress("fine", (self._count - len(self._windows) + of_window) / self._count)

    def _cut(self) -> list[Window]:
        if not self._frames:
            return []
        length, size, step = len(self._codes), self.size, self._shape.fine_numbers.most_history
        windows = []
        for number in range(max(0, math.ceil((self._frames - (size - self._history)) / step)) + 1):
            start = min(number * step, length - size)
            first = max(self._history, min(self._history + number * step, length - step)) - start
            windows.append(Window(start, first, min(size, self._history + self._frames - start)))
        return windows


class FineGroup:
    """Micro-batches of at most `together` rows, whose windows are of one size: all positions are attended, so a row
    must not be filled up for its neighbour. They go from codebook to codebook side by side."""

    def __init__(self, together: int, shape: Shape) -> None:
        self._together = together
        self._given = shape.coarse_numbers.codebooks
        self._all = shape.fine_numbers.codebooks
        self._waiting: deque[FineSequence] = deque()
        self._group: list[FineSequence] = []
        self._codebook = self._given

    def __len__(self) -> int:
        return len(self._waiting) + len(self._group)

    def add(self, sequence: FineSequence) -> None:
        self._waiting.append(sequence)

    def speeches(self) -> list[Speech]:
        return [row.speech for row in (*self._group, *self._waiting)]

    def clear(self) -> None:
        self._waiting.clear()
        self._group.clear()

    def step(self, model: FineModel) -> list[Speech]:
        """One codebook of one window of each row in the group. Those that are done are returned."""
        self._waiting = deque(row for row in self._waiting if row.speech.is_wanted())
        self._group = [row for row in self._group if row.speech.is_wanted()]
        if not self._group:
            self._codebook = self._given
        while self._codebook == self._given and self._waiting and self._has_room(self._waiting[0]):
            self._group.append(self._waiting.popleft())
        done = self._leave()
        if self._group:
            self._run(model)
            done += self._leave()
        return done

    def _has_room(self, row: FineSequence) -> bool:
        return len(self._group) < self._together and all(other.size == row.size for other in self._group)

    def _leave(self) -> list[Speech]:
        done = [row.speech for row in self._group if row.window is None]
        self._group = [row for row in self._group if row.window is not None]
        return done

    def _run(self, model: FineModel) -> None:
        windows = [row.window for row in self._group if row.window is not None]
        first = min(window.first for window in windows)
        last = max(row.last(self._codebook) for row in self._group)
        codes = np.stack([row.codes() for row in self._group])
        logits = model.run(codes, self._codebook, first, last)
        for row, window, own in zip(self._group, windows, logits, strict=True):
            row.accept(self._codebook, own[window.first - first :])
        self._codebook = self._codebook + 1 if self._codebook + 1 < self._all else self._given
