from __future__ import annotations

import numpy as np
import pytest

from koegumi.voices.bark.coarse import coarse_length, histories
from koegumi.voices.bark.codec import reflect_left
from koegumi.voices.bark.rows import Draw
from koegumi.voices.bark.sampling import choose, ends, pick, probabilities
from koegumi.voices.bark.shape import Shape
from tests.bark.speaking import random_preset

CHANCES = np.array([0.1, 0.4, 0.2, 0.3], np.float32)
LOGITS = np.log(CHANCES)


@pytest.mark.parametrize(
    ("draw", "expected"),
    [
        (Draw(1.0), CHANCES),
        (Draw(0.5), np.array([1, 16, 4, 9]) / 30),
        (Draw(1.0, top_k=2), np.array([0, 4, 0, 3]) / 7),
        (Draw(1.0, top_k=9), CHANCES),
        (Draw(1.0, top_p=0.65), np.array([0, 4, 0, 3]) / 7),
        (Draw(1.0, top_p=0.01), np.array([0, 1, 0, 0])),
        (Draw(1.0, top_k=3, top_p=0.5), np.array([0, 4, 0, 3]) / 7),
    ],
)
def test_probabilities(draw: Draw, expected: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
    np.testing.assert_allclose(probabilities(LOGITS, draw), expected, atol=1e-6)


def test_tokens_come_as_often_as_they_are_likely() -> None:
    chosen = choose(np.tile(CHANCES, (20000, 1)), np.random.default_rng(0))
    np.testing.assert_allclose(np.bincount(chosen, minlength=4) / 20000, CHANCES, atol=0.02)
    assert choose(np.array([[0, 0, 1, 0]], np.float32), np.random.default_rng(0)).tolist() == [2]


def test_without_temperature_the_likeliest_is_taken() -> None:
    assert [pick(LOGITS, Draw(value), np.random.default_rng(0)) for value in (None, 0.0)] == [1, 1]


def test_the_end_is_taken_when_it_is_likely_enough() -> None:
    assert ends(LOGITS, 3, 0.29) and not ends(LOGITS, 3, 0.31) and not ends(LOGITS, 3, None)


def test_lengths_of_bark() -> None:
    shape = Shape()
    assert [coarse_length(count, shape) for count in (0, 1, 2, 200, 499, 768)] == [0, 2, 6, 600, 1500, 2308]
    semantic, coarse = histories(random_preset(0, 300, 450, 10000, 1024), shape)
    assert (len(semantic), len(coarse)) == (209, 626)
    assert coarse[0::2].max() < 11024 <= coarse[1::2].min() and coarse.min() >= 10000


def test_the_shortest_sounds_are_mirrored_with_silence() -> None:
    three = np.array([[1.0, 2.0, 3.0]], np.float32)
    assert reflect_left(three, 2).tolist() == [[3, 2, 1, 2, 3]]
    assert reflect_left(three, 4).tolist() == [[0, 0, 3, 2, 1, 2, 3]]
