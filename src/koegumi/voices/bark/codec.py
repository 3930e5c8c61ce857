"""Codes to sound: EnCodec's decoder, each row alone at its own length, as its LSTM hears what stands behind."""

from __future__ import annotations

from collections import deque
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from koegumi.voices.bark.rows import Tokens, Wave
from koegumi.voices.bark.speech import Speech

Floats = NDArray[np.float32]


class CodecModel(Protocol):
    def run(self, codes: Tokens) -> Wave:
        """codes [codebooks, frames], at least one frame -> samples."""


class CodecQueue:
    def __init__(self) -> None:
        self._waiting: deque[Speech] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, speech: Speech) -> None:
        self._waiting.append(speech)

    def speeches(self) -> list[Speech]:
        return list(self._waiting)

    def clear(self) -> None:
        self._waiting.clear()

    def step(self, model: CodecModel) -> list[Speech]:
        """One row, which is told its sound."""
        self._waiting = deque(speech for speech in self._waiting if speech.is_wanted())
        if not self._waiting:
            return []
        codes = self._waiting[0].codes
        wave = model.run(codes) if codes.shape[1] else np.zeros(0, np.float32)
        speech = self._waiting.popleft()
        speech.done(wave)
        return [speech]


def reflect_left(values: Floats, size: int) -> Floats:
    """values [n, frames] with `size` frames mirrored before them. Fewer frames than that are first filled up with
    silence, which is taken away again: how EnCodec treats the shortest sounds."""
    frames = values.shape[1]
    missing = max(0, size + 1 - frames)
    longer = np.pad(values, ((0, 0), (0, missing)))
    return np.pad(longer, ((0, 0), (size, 0)), mode="reflect")[:, : size + frames]
