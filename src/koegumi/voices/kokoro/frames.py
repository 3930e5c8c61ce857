"""Where the tokens sound, and how their frames move when lengths are edited.

A duration unit is 25 ms; pitch and energy have two frames a unit. The sound leads its tokens by 2.5 units, so the
token boundaries lie on odd frames: 2 x (units before) - 5. At the edges of a group the spans of its tokens do not tell
where it sounds: the last vowel's span holds the silence behind it, and a first vowel may set in before its span. The
predicted energy tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from koegumi.voices.kokoro.tokens import Spoken, Tokens

UNIT_SECONDS = 0.025
FRAMES_PER_UNIT = 2
LEAD = 5
# Predicted energy above this is heard; at it the sound has fallen to about -50 dB.
AUDIBLE = -1.0
# Frames between two groups, so that the voice has time to fall silent.
MIN_SILENCE = 12

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def bounds(units: Ints) -> Ints:
    """Frames at which each token begins to sound, and where the last ends: [tokens + 1]."""
    total = np.concatenate([[0], np.cumsum(units)])
    return np.asarray(FRAMES_PER_UNIT * total - LEAD, np.int64)


def segments(tokens: Tokens, units: Ints, energy: Floats) -> list[Ints]:
    """For each group the frames at which its consonants and vowels begin, and where it ends: [2 x morae + 1], odd.

    A mora without a consonant has an empty one. `units` and `energy` are predicted: [tokens], [frames].
    """
    starts = bounds(units)
    valleys = _valleys(tokens.groups, starts, energy)
    result: list[Ints] = []
    for group, before, after in zip(tokens.groups, valleys[:-1], valleys[1:], strict=True):
        inner = [starts[token] for spoken in group for token in (spoken.start, spoken.vowel)]
        end = _end(energy, int(starts[group[-1].vowel]) + FRAMES_PER_UNIT, after)
        inner[0] = min(inner[0], _start(energy, before, int(inner[0])))
        if group[0].start == group[0].vowel:
            inner[1] = inner[0]
        result.append(np.array([*inner, end], np.int64))
    return result


def _valleys(groups: Sequence[Sequence[Spoken]], starts: Ints, energy: Floats) -> list[int]:
    """The quietest frame before, between and behind the groups; odd."""
    earliest = [0] + [int(starts[group[-1].vowel]) + FRAMES_PER_UNIT for group in groups]
    latest = [int(starts[group[0].start]) for group in groups] + [len(energy) - 1]
    return [first + int(np.argmin(energy[first : last + 1])) | 1 for first, last in zip(earliest, latest, strict=True)]


def _start(energy: Floats, valley: int, latest: int) -> int:
    heard = np.flatnonzero(energy[valley:latest] > AUDIBLE)
    return latest if heard.size == 0 else (valley + int(heard[0])) - 1 | 1


def _end(energy: Floats, earliest: int, valley: int) -> int:
    heard = np.flatnonzero(energy[earliest:valley] > AUDIBLE)
    return earliest if heard.size == 0 else earliest + int(heard[-1]) + 1 | 1


@dataclass(frozen=True)
class Warp:
    """Predicted frames to edited frames, piecewise linear between the segments' bounds; silences keep their length.

    `groups` are the segments' bounds on the edited side, as `segments` gives them on the predicted one.
    """

    units: Ints
    groups: tuple[Ints, ...]
    _old: Floats
    _new: Floats

    def apply(self, curve: Floats) -> Floats:
        """A curve over predicted frames, over edited frames."""
        frames = np.arange(FRAMES_PER_UNIT * int(self.units.sum())) + 0.5
        predicted = np.interp(frames, self._new, self._old) - 0.5
        return np.asarray(np.interp(predicted, np.arange(len(curve)), curve), np.float64)


def warp(units: Ints, old_groups: Sequence[Ints], lengths: Sequence[Ints]) -> Warp:
    """Give the segments of each group the `lengths` that are wanted, in units."""
    starts = bounds(units)
    new_groups: list[Ints] = []
    for old, length in zip(old_groups, lengths, strict=True):
        if new_groups:
            begin = new_groups[-1][-1] + max(int(old[0] - old_groups[len(new_groups) - 1][-1]), MIN_SILENCE)
        else:
            begin = old[0]
        new_groups.append(np.concatenate([[begin], begin + FRAMES_PER_UNIT * np.cumsum(length)]))
    tail = starts[-1] + LEAD
    old_knots = np.concatenate([[starts[0]], *old_groups, [tail]]).astype(np.float64)
    end = new_groups[-1][-1] + tail - old_groups[-1][-1]
    new_knots = np.concatenate([[starts[0]], *new_groups, [end]]).astype(np.float64)
    moved = np.interp(starts, old_knots, new_knots)
    total = np.rint((moved + LEAD) / FRAMES_PER_UNIT).astype(np.int64)
    return Warp(np.diff(total), tuple(new_groups), old_knots, new_knots)
