"""Utterances from their npz files, as the networks read them. The rules of what is learnt and measured are here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]

VOWELS = (7, 14, 21, 30, 40)
DEVOICED = (1, 2, 3, 5, 6)
# p t k and the like: no voice until the vowel.
VOICELESS = (9, 10, 16, 19, 20, 23, 24, 31, 32, 35, 36, 37, 38, 39)
NOISY = (9, 16, 19, 20, 35, 36, 38)
CL = 11
# Levels in dB below an utterance's loud frames.
SILENT_DB, FAINT_DB = -40.0, -50.0
# ln amplitudes below are all the same silence.
FLOOR = -10.5
MOST_MOVED = 3


@dataclass(frozen=True)
class Utterance:
    """[T] each, envelope [T, 72], measured [T, 80], aperiodicity [T, 3]; `pitch` in Hz as asked for, `hertz` as heard;
    `ignored` frames are neither learnt from nor measured."""

    name: str
    voice: int
    labels: NDArray[np.int64]
    pitch: NDArray[np.float32]
    hertz: NDArray[np.float32]
    level: NDArray[np.float32]
    envelope: NDArray[np.float32]
    measured: NDArray[np.float32]
    aperiodicity: NDArray[np.float32]
    ignored: NDArray[np.bool_]


def load(folder: Path, part: str) -> list[Utterance]:
    return [read(path) for path in sorted(folder.glob(f"{part}-*.npz")) if not path.name.endswith(".new.npz")]


def read(path: Path) -> Utterance:
    with np.load(path) as data:
        hertz, level = data["hertz"], data["level"]
        labels = refine(data["labels"].astype(np.int64), hertz, data["pitch"] > 0)
        asked = np.exp(data["pitch"].astype(np.float64))
        pitch = _pitches(labels, data["labels"], np.where(data["pitch"] > 0, asked, 0.0))
        return Utterance(
            path.stem,
            int(path.stem[-1]),
            labels,
            pitch.astype(np.float32),
            hertz,
            level,
            np.maximum(data["envelope"], FLOOR),
            data["measured"],
            data["aperiodicity"],
            ignored(labels, pitch, hertz, level),
        )


def ignored(labels: Ints, pitch: NDArray[Any], hertz: Floats, level: Floats) -> NDArray[np.bool_]:
    """Frames of a vowel with a pitch where the teacher is silent, or unvoiced two frames or more inside it."""
    vowel = np.isin(labels, VOWELS) & (pitch > 0)
    inside = vowel.copy()
    for shift in (-2, -1, 1, 2):
        inside &= np.roll(labels, shift) == labels
    return np.asarray((vowel & (level < SILENT_DB)) | (inside & (hertz == 0)), np.bool_)


def refine(labels: Ints, hertz: Floats, pitched: NDArray[np.bool_]) -> Ints:
    """The teacher's bounds lie on a grid of 25 ms: between a voiceless consonant and a vowel they move, by three
    frames at most, to where the voice sets in or stops."""
    labels = labels.copy()
    bounds: list[int] = [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), len(labels)]
    for number in range(1, len(bounds) - 1):
        at = bounds[number]
        left, right = int(labels[at - 1]), int(labels[at])
        lowest = max(bounds[number - 1] + 1, at - MOST_MOVED)
        highest = min(bounds[number + 1] - 1, at + MOST_MOVED)
        near = range(lowest, highest + 1)
        if left in VOICELESS and right in VOWELS and pitched[at]:
            found = [i for i in near if hertz[i] > 0 and hertz[i - 1] == 0]
        elif left in VOWELS and (right in VOICELESS or right == CL) and pitched[at - 1]:
            found = [i for i in near if hertz[i] == 0 and hertz[i - 1] > 0]
        else:
            continue
        if found:
            moved = _nearest(found, at)
            labels[moved:at], labels[at:moved] = right, left
            bounds[number] = moved
    return labels


def _pitches(labels: Ints, before: NDArray[Any], pitch: NDArray[Any]) -> NDArray[Any]:
    """Frames that changed their phoneme take the pitch of their new neighbours."""
    pitch = pitch.copy()
    for at in np.flatnonzero(labels != before).tolist():
        same = [i for i in range(max(at - 4, 0), min(at + 5, len(labels))) if before[i] == labels[at]]
        if same:
            pitch[at] = pitch[_nearest(same, at)]
    return pitch


def _nearest(places: list[int], at: int) -> int:
    return min(places, key=lambda place: abs(place - at))
