"""From logits to a token, in the order of transformers: end of sentence, temperature, top_k, top_p, softmax."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from koegumi.voices.bark.rows import Draw

Floats = NDArray[np.float32]


def softmax(logits: Floats) -> Floats:
    """Over the last axis."""
    exponents: Floats = np.exp(logits - logits.max(axis=-1, keepdims=True))
    exponents /= exponents.sum(axis=-1, keepdims=True)
    return exponents


def probabilities(logits: Floats, draw: Draw) -> Floats:
    """logits [n] -> what a token is drawn from [n]. Needs a temperature above 0."""
    assert draw.temperature
    scores: Floats = logits / np.float32(draw.temperature)
    if draw.top_k and draw.top_k < len(scores):
        least = np.partition(scores, -draw.top_k)[-draw.top_k]
        scores[scores < least] = -np.inf
    if draw.top_p is not None and draw.top_p < 1:
        scores[_beyond(scores, draw.top_p)] = -np.inf
    return softmax(scores)


def pick(logits: Floats, draw: Draw, generator: np.random.Generator) -> int:
    """An index into logits [n]."""
    if not draw.temperature:
        return int(logits.argmax())
    return int(choose(probabilities(logits, draw)[None], generator)[0])


def choose(chances: Floats, generator: np.random.Generator) -> NDArray[np.int64]:
    """One index for each row of chances [rows, n], by one random number each."""
    sums = np.cumsum(chances, axis=-1, dtype=np.float64)
    marks = generator.random(len(sums)) * sums[:, -1]
    found = (sums <= marks[:, None]).sum(axis=-1)
    return np.asarray(np.minimum(found, chances.shape[-1] - 1), np.int64)


def ends(logits: Floats, end: int, min_eos_p: float | None) -> bool:
    """Whether the end is likely enough to be taken at once. Before the temperature, as in transformers."""
    if not min_eos_p:
        return False
    return bool(softmax(logits)[end] > min_eos_p)


def _beyond(scores: Floats, top_p: float) -> NDArray[np.int64]:
    """Indices of the least likely, whose chances together are at most 1 - top_p; never all."""
    order = np.argsort(scores, kind="stable")
    sums = np.cumsum(softmax(scores[order]))
    return np.asarray(order[:-1][sums[:-1] <= 1 - top_p], np.int64)
