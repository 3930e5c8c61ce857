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
# Frames before each group, so that the voice has time to fall silent.
MIN_SILENCE = 12
# How far silences follow when the whole becomes longer or shorter.
MAX_SILENCE_CHANGE = 2.0

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


# In the last vowel of a group the sound falls away where the energy is this far below its highest.
RELEASE_DEPTH = 1.0


@dataclass(frozen=True)
class Group:
    """Frames of a group: where its consonants and vowels begin and where it ends, [2 x morae + 1], odd; and where the
    last vowel begins to fall away. A mora without a consonant has an empty one."""

    bounds: Ints
    release: int

    @property
    def start(self) -> int:
        return int(self.bounds[0])

    @property
    def stop(self) -> int:
        return int(self.bounds[-1])


def token_starts(units: Ints) -> Ints:
    """Frames at which each token begins to sound, and where the last ends: [tokens + 1]."""
    total = np.concatenate([[0], np.cumsum(units)])
    return np.asarray(FRAMES_PER_UNIT * total - LEAD, np.int64)


def find_groups(tokens: Tokens, units: Ints, energy: Floats) -> list[Group]:
    """Where the groups sound. `units` and `energy` are predicted: [tokens], [frames]."""
    starts = token_starts(units)
    valleys = _valleys(tokens.groups, starts, energy)
    result: list[Group] = []
    for group, before, after in zip(tokens.groups, valleys[:-1], valleys[1:], strict=True):
        inner = [int(starts[token]) for spoken in group for token in (spoken.start, spoken.vowel)]
        inner[0] = _start(energy, before, inner[0])
        if group[0].start == group[0].vowel:
            inner[1] = inner[0]
        end = _end(energy, inner[-1] + FRAMES_PER_UNIT, after)
        result.append(Group(np.array([*inner, end], np.int64), _release(energy, inner[-1], end)))
    return result


def _valleys(groups: Sequence[Sequence[Spoken]], starts: Ints, energy: Floats) -> list[int]:
    """The quietest frame before, between and behind the groups, where no token of theirs stands; odd."""
    earliest = [0] + [int(starts[group[-1].stop]) for group in groups]
    latest = [int(starts[group[0].start]) for group in groups] + [int(starts[-1])]
    valleys = [
        first + int(np.argmin(energy[first : last + 1])) | 1 for first, last in zip(earliest, latest, strict=True)
    ]
    if energy[latest[-1]] > AUDIBLE:  # a short cry sounds to the very end
        valleys[-1] = latest[-1]
    return valleys


def _start(energy: Floats, valley: int, latest: int) -> int:
    heard = np.flatnonzero(energy[valley:latest] > AUDIBLE)
    return latest if heard.size == 0 else valley + int(heard[0]) - 1 | 1


def _end(energy: Floats, earliest: int, valley: int) -> int:
    heard = np.flatnonzero(energy[earliest:valley] > AUDIBLE)
    return earliest if heard.size == 0 else earliest + int(heard[-1]) + 1 | 1


def _release(energy: Floats, vowel: int, end: int) -> int:
    span = energy[vowel:end]
    return vowel + int(np.flatnonzero(span >= span.max() - RELEASE_DEPTH)[-1]) + 1


@dataclass(frozen=True)
class Warp:
    """Predicted frames to edited frames, piecewise linear. `groups` are the groups' bounds on the edited side."""

    units: Ints
    groups: tuple[Ints, ...]
    _old: Floats
    _new: Floats

    def apply(self, curve: Floats) -> Floats:
        """A curve over predicted frames, over edited frames."""
        frames = np.arange(FRAMES_PER_UNIT * int(self.units.sum())) + 0.5
        predicted = np.interp(frames, self._new, self._old) - 0.5
        return np.asarray(np.interp(predicted, np.arange(len(curve)), curve), np.float64)


def warp(units: Ints, groups: Sequence[Group], lengths: Sequence[Ints]) -> Warp:
    """Give the consonants and vowels of each group the `lengths` that are wanted, in units: [2 x morae].

    Silences grow and shrink with the whole: the decoder normalises over all it renders, and a changed share of silence
    would be heard as a changed volume.
    """
    starts = token_starts(units)
    ratio = FRAMES_PER_UNIT * sum(int(length.sum()) for length in lengths) / sum(g.stop - g.start for g in groups)
    ratio = min(max(ratio, 1 / MAX_SILENCE_CHANGE), MAX_SILENCE_CHANGE)

    def silence(frames: int) -> int:
        return FRAMES_PER_UNIT * round(frames * ratio / FRAMES_PER_UNIT)

    old: list[float] = [int(starts[0])]
    new: list[float] = [int(starts[0])]
    edited: list[Ints] = []
    for group, length in zip(groups, lengths, strict=True):
        begin = int(new[-1]) + max(silence(group.start - int(old[-1])), MIN_SILENCE)
        bounds = begin + FRAMES_PER_UNIT * np.concatenate([[0], np.cumsum(length)])
        release = max(bounds[-1] - (group.stop - group.release), (bounds[-2] + bounds[-1]) / 2)
        old += [*group.bounds[:-1], group.release, group.stop]
        new += [*bounds[:-1], release, bounds[-1]]
        edited.append(bounds)
    end = int(new[-1]) + silence(int(starts[-1]) - groups[-1].stop)
    old += [int(starts[-1]), int(starts[-1]) + LEAD]
    new += [end, end + LEAD]
    old_knots, new_knots = np.array(old, np.float64), np.array(new, np.float64)
    moved = np.interp(starts, old_knots, new_knots)
    total = np.rint((moved + LEAD) / FRAMES_PER_UNIT).astype(np.int64)
    return Warp(np.diff(total), tuple(edited), old_knots, new_knots)
