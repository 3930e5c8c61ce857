"""What the engine speaks and whom it tells. A row is one sentence on its way through the four models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.int64]
Wave = NDArray[np.float32]

SAMPLING_RATE = 24000


@dataclass(frozen=True)
class Draw:
    """How one stage draws a token: `temperature` None or 0 takes the likeliest; `top_k` and `top_p` None are off."""

    temperature: float | None = 0.7
    top_k: int | None = None
    top_p: float | None = None


@dataclass(frozen=True)
class Sampling:
    """The defaults are those of Suno's own generation code.

    `min_eos_p`: the sentence ends as soon as its end is at least this likely; None waits until the end is drawn.
    """

    semantic: Draw = Draw()
    coarse: Draw = Draw()
    fine_temperature: float | None = 0.5
    min_eos_p: float | None = 0.2


@dataclass(frozen=True)
class Preset:
    """A voice as the tokens of something that it said: semantic [n], coarse [2, m], fine [8, m]."""

    semantic: Tokens
    coarse: Tokens
    fine: Tokens


@dataclass(frozen=True, eq=False)
class Sentence:
    """`tokens` are WordPiece ids [n] without Bark's offset; more than 256 are cut by the model.

    The same sentence with the same seed gives the same sound, whatever else is spoken with it (int8 excepted).
    `most_tokens` bounds its semantic tokens (about 50 for a second of sound), `most_seconds` the time from its first
    step on; None is the model's own bound, and none.
    """

    tokens: Tokens
    preset: Preset | None = None
    sampling: Sampling = field(default_factory=Sampling)
    seed: int = 0
    most_tokens: int | None = None
    most_seconds: float | None = None


class Row(Protocol):
    """A sentence and who waits for it. After `done`, `failed` or a raised `Cancelled` the engine forgets it."""

    @property
    def sentence(self) -> Sentence: ...

    def check(self) -> None:
        """Raise `Cancelled` if nobody waits any more. Called between steps, often."""

    def progress(self, stage: str, share: float) -> None:
        """`stage` is semantic, coarse, fine or codec; `share` of it is done, from 0 to 1."""

    def done(self, wave: Wave) -> None:
        """Mono samples at 24 kHz."""

    def failed(self, error: Exception) -> None:
        """This row ends here; the others go on."""


class Source(Protocol):
    """Where rows wait."""

    def take(self, room: int) -> Sequence[Row]:
        """At most `room` rows (at least 1 is asked for); none where none waits. Never blocks."""
