"""A row on its way: what the stages have made of it so far, its random numbers and its limits."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from koegumi.voices.bark.rows import Row, Sentence, Tokens, Wave
from koegumi.voices.bark.shape import Shape
from koegumi.voices.interface import Cancelled, VoiceError

STAGES = ("semantic", "coarse", "fine", "codec")
_STEP_OF_PROGRESS = 0.02


class TookTooLong(VoiceError):  # noqa: N818 - reads as a sentence where it is raised
    """A sentence's own limit of time is over."""


@dataclass(eq=False)
class Speech:
    row: Row
    until: float = float("inf")
    clock: Callable[[], float] = time.monotonic
    semantic: Tokens = field(default_factory=lambda: np.zeros(0, np.int64))
    coarse: Tokens = field(default_factory=lambda: np.zeros(0, np.int64))  # [frames x 2], as the coarse model has them
    codes: Tokens = field(default_factory=lambda: np.zeros((8, 0), np.int64))
    _told: tuple[str, float] = ("", 0.0)

    @property
    def sentence(self) -> Sentence:
        return self.row.sentence

    def generator(self, stage: str) -> np.random.Generator:
        """Random numbers of this row and stage alone, so that no neighbour changes them."""
        return np.random.default_rng([self.sentence.seed, STAGES.index(stage)])

    def is_wanted(self) -> bool:
        """False when the row ended: cancelled, too late, or its check failed. Who waits has then been told."""
        try:
            self.row.check()
            if self.clock() > self.until:
                raise TookTooLong(f"The sentence took longer than {self.sentence.most_seconds:g} s and was stopped.")
        except Cancelled:
            return False
        except Exception as error:
            self.row.failed(error)
            return False
        return True

    def progress(self, stage: str, share: float) -> None:
        told_stage, told_share = self._told
        if stage != told_stage or share >= 1 or share - told_share >= _STEP_OF_PROGRESS:
            self._told = (stage, share)
            self.row.progress(stage, min(share, 1.0))

    def done(self, wave: Wave) -> None:
        self.progress("codec", 1.0)
        self.row.done(wave)


def begin(row: Row, shape: Shape, clock: Callable[[], float] = time.monotonic) -> Speech:
    """Raises VoiceError where the sentence is none that the models can be given."""
    sentence = row.sentence
    room = shape.semantic.vocabulary - shape.semantic_numbers.text_offset
    _check("a token of the text", sentence.tokens, 1, room)
    if sentence.preset is not None:
        _check("a semantic token of the preset", sentence.preset.semantic, 1, shape.semantic_numbers.vocabulary)
        _check("a coarse token of the preset", sentence.preset.coarse, 2, shape.codebook)
        _check("a fine token of the preset", sentence.preset.fine, 2, shape.codebook)
        _check_rows("coarse", sentence.preset.coarse, shape.coarse_numbers.codebooks)
        _check_rows("fine", sentence.preset.fine, shape.fine_numbers.codebooks)
    until = float("inf") if sentence.most_seconds is None else clock() + sentence.most_seconds
    return Speech(row, until, clock)


def _check(what: str, tokens: Tokens, dimensions: int, room: int) -> None:
    if tokens.ndim != dimensions:
        raise VoiceError(f"{what} is not where it should be: {tokens.ndim} dimensions instead of {dimensions}")
    if tokens.size and not 0 <= tokens.min() <= tokens.max() < room:
        raise VoiceError(f"{what} is not between 0 and {room - 1}")


def _check_rows(what: str, tokens: Tokens, rows: int) -> None:
    if len(tokens) != rows:
        raise VoiceError(f"the preset has {len(tokens)} {what} codebooks instead of {rows}")
