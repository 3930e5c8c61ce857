"""Pitch: what the model sings, what the dictionary's accent wants, and how a wanted pitch is imposed.

Kokoro's tokens carry no accent, and its guesses are bad. So the model gives the height of each accent phrase, and the
accent gives the pattern around it. Pitches are in ln Hz.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from koegumi.schema.plain import UNVOICED, AccentPhrase

Floats = NDArray[np.float64]

# At 10 Hz and below a frame is unvoiced for the model.
UNVOICED_HZ = 10.0
# The highest that 24,000 samples a second hold; scales may ask for more than exp() can give.
MAX_PITCH = float(np.log(12_000.0))
# Frames further below the median than this are on their way to silence or creak.
FALLING = 0.55
# How far below its median the model's pitch is followed.
DEEPEST = 0.15
# Where nothing of a piece is voiced.
FALLBACK_PITCH = float(np.log(180.0))

# The pattern, in ln Hz about the phrase's mean.
HIGH = 0.14
LOW = -0.14
FIRST_LOW = -0.08
DECLINATION = -0.008


@dataclass(frozen=True)
class Contour:
    """Pitch over frames, drawn on through unvoiced ones, and where the model is voiced."""

    pitch: Floats
    hertz: Floats

    @classmethod
    def of(cls, hertz: Floats) -> Contour:
        voiced = hertz > UNVOICED_HZ
        firm = voiced & (hertz > FALLING * np.median(hertz[voiced])) if voiced.any() else voiced
        at = np.flatnonzero(firm)
        if at.size == 0:
            return cls(np.full(len(hertz), FALLBACK_PITCH), hertz)
        return cls(np.interp(np.arange(len(hertz)), at, np.log(hertz[at])), hertz)

    def mean(self, start: int, stop: int) -> float:
        """Of a span of frames, which may not be empty."""
        return float(self.pitch[start:stop].mean())

    def height(self, start: int, stop: int) -> float:
        """The mean, but not so low that the voice would creak."""
        return max(self.mean(start, stop), float(np.median(self.pitch)) - DEEPEST)


def accent_pitches(phrase: AccentPhrase, predicted: Sequence[float]) -> list[float]:
    """A pitch for each mora: the mean of what the model gave its voiced morae, with the pattern of the accent.

    Devoiced morae get 0. An accent beyond the morae, or below 1, is flat.
    """
    voiced = [mora.vowel not in UNVOICED for mora in phrase.moras]
    if not any(voiced):
        return [0.0] * len(voiced)
    pattern = [_step(index, phrase.accent) for index in range(len(voiced))]
    centre = float(np.mean(predicted, where=voiced)) - float(np.mean(pattern, where=voiced))
    return [centre + step if is_voiced else 0.0 for step, is_voiced in zip(pattern, voiced, strict=True)]


def _step(index: int, accent: int) -> float:
    """Low-high-low: the first mora is low unless accented, and all behind the accented one are low."""
    if 1 <= accent <= index:
        level = LOW
    elif index == 0 and accent != 1:
        level = FIRST_LOW
    else:
        level = HIGH
    return level + DECLINATION * index


@dataclass(frozen=True)
class Target:
    """What one mora shall have: frames of its consonant [start, vowel) and vowel [vowel, stop); pitch 0 is unvoiced."""

    start: int
    vowel: int
    stop: int
    pitch: float


def impose(contour: Contour, targets: Sequence[Target]) -> Floats:
    """F0 in Hz over frames: the model's contour moved to the targets, unvoiced outside them.

    Within the middle half of a vowel the move is constant, between vowels it glides.
    """
    voiced = [target for target in targets if target.pitch > 0 and target.stop > target.vowel]
    hertz = np.zeros(len(contour.hertz))
    if not voiced:
        return hertz
    moves = [min(target.pitch, MAX_PITCH) - contour.mean(target.vowel, target.stop) for target in voiced]
    knots = [target.vowel + part * (target.stop - target.vowel) - 0.5 for target in voiced for part in (0.25, 0.75)]
    move = np.interp(np.arange(len(hertz)), knots, np.repeat(moves, 2))
    wanted = np.exp(contour.pitch + move)
    natural = np.where(contour.hertz > UNVOICED_HZ, contour.hertz * np.exp(move), 0.0)
    for target in targets:
        if target.pitch > 0:
            hertz[target.start : target.vowel] = natural[target.start : target.vowel]
            hertz[target.vowel : target.stop] = wanted[target.vowel : target.stop]
    return hertz
