"""Semantic tokens to the first two codebooks, in windows that slide over both."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from koegumi.voices.bark import sampling
from koegumi.voices.bark.batch import Feed
from koegumi.voices.bark.embeddings import Embeddings
from koegumi.voices.bark.rows import Preset, Tokens
from koegumi.voices.bark.semantic import padded
from koegumi.voices.bark.shape import Shape
from koegumi.voices.bark.speech import Speech


def head_rows(shape: Shape) -> slice:
    """Tokens that may come: both codebooks, and what lies behind them, as in transformers."""
    return slice(shape.semantic_numbers.vocabulary, shape.coarse.outputs)


def room(shape: Shape) -> int:
    """Positions of a row at most: the last token of a window is never fed."""
    numbers = shape.coarse_numbers
    return numbers.most_semantic + numbers.most_history + numbers.window


def coarse_length(semantic: int, shape: Shape) -> int:
    """Coarse tokens for so many semantic ones; rounded in fp32, as in transformers."""
    frames = np.float32(semantic) * np.float32(shape.ratio) / np.float32(shape.coarse_numbers.codebooks)
    return round(math.floor(frames) * shape.coarse_numbers.codebooks)


def most_semantic_history(shape: Shape) -> int:
    return math.floor(shape.coarse_numbers.most_history / shape.ratio)


def histories(preset: Preset | None, shape: Shape) -> tuple[Tokens, Tokens]:
    """The preset's semantic and (interleaved) coarse tokens, cut to the same stretch of time."""
    if preset is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    offsets = np.arange(len(preset.coarse))[:, None] * shape.codebook + shape.semantic_numbers.vocabulary
    coarse = (preset.coarse + offsets).T.reshape(-1)
    semantic_length = min(
        most_semantic_history(shape),
        len(preset.semantic) - len(preset.semantic) % 2,
        math.floor(len(coarse) / shape.ratio),
    )
    coarse_length = round(semantic_length * shape.ratio)
    # A length of 0 keeps everything, in transformers too. The last frame is left out: it sounds better.
    return preset.semantic[-semantic_length:], coarse[-coarse_length:][:-2]


class CoarseSequence:
    def __init__(self, speech: Speech, shape: Shape, embeddings: Embeddings) -> None:
        self.speech = speech
        self._shape = shape
        self._numbers = shape.coarse_numbers
        self._embeddings = embeddings
        self._generator = speech.generator("coarse")
        history, coarse = histories(speech.sentence.preset, shape)
        self._base = len(history)
        self._semantic = np.concatenate([history, speech.semantic])
        self._coarse = coarse.tolist()
        self._history = len(coarse)
        self._total = coarse_length(len(speech.semantic), shape)
        self._fed: Tokens = np.zeros(0, np.int64)  # what the keys and values of this window were made from
        self._in_window = 0
        self.feed: Feed | None = None
        if self._total:
            self._slide()
        else:
            self._end()

    @property
    def _made(self) -> int:
        return len(self._coarse) - self._history

    def accept(self, logits: NDArray[np.float32]) -> None:
        """logits [rows of the head] of the next token."""
        self._coarse.append(self._draw(logits))
        self._in_window += 1
        self.speech.progress("coarse", self._made / self._total)
        if self._made == self._total:
            self._end()
        elif self._in_window == self._numbers.window:
            self._slide()
        else:
            self._go_on()

    def _end(self) -> None:
        self.speech.coarse = np.array(self._coarse[self._history :], np.int64)
        self.feed = None

    def _draw(self, logits: NDArray[np.float32]) -> int:
        """The codebooks take turns."""
        first = self._shape.codebook if self._in_window % 2 else 0
        allowed = logits[first:] if first else logits[: self._shape.codebook]
        index = sampling.pick(allowed, self.speech.sentence.sampling.coarse, self._generator)
        return index + first + self._shape.semantic_numbers.vocabulary

    def _go_on(self) -> None:
        token = np.array(self._coarse[-1:])
        position = len(self._fed)
        self._fed = np.concatenate([self._fed, token])
        self.feed = Feed(self._embeddings.at(token, position), position)

    def _slide(self) -> None:
        """The next window. Where its prompt is what was fed so far and the newest token, the keys are there."""
        prompt = self._prompt()
        self._in_window = 0
        is_longer = len(self._fed) and len(prompt) == len(self._fed) + 1
        if is_longer and np.array_equal(prompt[:-1], self._fed):
            self._go_on()
            return
        self._fed = prompt
        self.feed = Feed(self._embeddings.at(prompt, 0), 0)

    def _prompt(self) -> Tokens:
        numbers = self._numbers
        newest = self._base + round(self._made / self._shape.ratio)
        semantic = self._semantic[max(0, newest - most_semantic_history(self._shape)) :][: numbers.most_semantic]
        coarse = self._coarse[-numbers.most_history :]
        parts = (padded(semantic, numbers.most_semantic, numbers.semantic_pad), [numbers.infer], coarse)
        return np.concatenate(parts).astype(np.int64)
