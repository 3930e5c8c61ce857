"""Text to semantic tokens: the prompt, and one row's sequence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from koegumi.voices.bark import sampling
from koegumi.voices.bark.batch import Feed
from koegumi.voices.bark.embeddings import Embeddings
from koegumi.voices.bark.rows import Sentence, Tokens
from koegumi.voices.bark.shape import SemanticNumbers, Shape
from koegumi.voices.bark.speech import Speech


def head_rows(numbers: SemanticNumbers) -> list[int]:
    """Tokens that may come: the vocabulary, then the end."""
    return [*range(numbers.vocabulary), numbers.end]


def room(shape: Shape, most_tokens: int | None) -> int:
    """Positions of a row at most."""
    return shape.semantic_numbers.most_text + limit(shape, most_tokens)


def limit(shape: Shape, most_tokens: int | None) -> int:
    """Semantic tokens at most; the last is never fed, so it needs no position."""
    numbers = shape.semantic_numbers
    most = min(numbers.most_tokens, shape.semantic.positions - numbers.most_text)
    return most if most_tokens is None else max(0, min(most, most_tokens))


class SemanticSequence:
    def __init__(self, speech: Speech, shape: Shape, embeddings: Embeddings, most_tokens: int | None) -> None:
        self.speech = speech
        self._numbers = shape.semantic_numbers
        self._embeddings = embeddings
        self._generator = speech.generator("semantic")
        self._most = min(limit(shape, most_tokens), limit(shape, speech.sentence.most_tokens))
        self._tokens: list[int] = []
        self.feed: Feed | None = self._prompt() if self._most else None

    def accept(self, logits: NDArray[np.float32]) -> None:
        """logits [vocabulary + 1] of the next token; `feed` is None when it was the last."""
        token = self._draw(logits)
        if token == self._numbers.vocabulary:
            self._end()
            return
        self._tokens.append(token)
        self.speech.progress("semantic", len(self._tokens) / self._most)
        if len(self._tokens) == self._most:
            self._end()
            return
        position = self._numbers.most_text + len(self._tokens)
        self.feed = Feed(self._embeddings.at(np.array([token]), position), position)

    def _end(self) -> None:
        self.speech.semantic = np.array(self._tokens, np.int64)
        self.feed = None

    def _draw(self, logits: NDArray[np.float32]) -> int:
        settings = self.speech.sentence.sampling
        if sampling.ends(logits, self._numbers.vocabulary, settings.min_eos_p):
            return self._numbers.vocabulary
        return sampling.pick(logits, settings.semantic, self._generator)

    def _prompt(self) -> Feed:
        """Text and history lie over each other, 256 positions of both, then the sign to begin."""
        numbers, sentence = self._numbers, self.speech.sentence
        text = padded(sentence.tokens[: numbers.most_text] + numbers.text_offset, numbers.most_text, numbers.text_pad)
        history = padded(_history(sentence)[-numbers.most_text :], numbers.most_text, numbers.end)
        rows = self._embeddings.tokens.rows
        both = np.concatenate([rows(text) + rows(history), rows(np.array([numbers.infer]))])
        hidden = both + self._embeddings.positions[: len(both)]
        return Feed(hidden, 0)


def _history(sentence: Sentence) -> Tokens:
    return np.zeros(0, np.int64) if sentence.preset is None else sentence.preset.semantic


def padded(tokens: Tokens, length: int, value: int) -> Tokens:
    """Padded on the right."""
    return np.concatenate([tokens, np.full(length - len(tokens), value, np.int64)])
