"""Embeddings stay on disk, mapped: of a table of hundreds of megabytes a sentence touches a few rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from koegumi.voices.bark.rows import Tokens

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Embeddings:
    """`tokens` [vocabulary, size] (of several codebooks: [codebooks, vocabulary, size]), `positions` [n, size]."""

    tokens: Floats
    positions: Floats

    @staticmethod
    def open(folder: Path, name: str) -> Embeddings:
        """What `save` wrote."""
        tokens, positions = _paths(folder, name)
        return Embeddings(np.load(tokens, mmap_mode="r"), np.load(positions))

    @staticmethod
    def save(folder: Path, name: str, tokens: Floats, positions: Floats) -> None:
        for path, values in zip(_paths(folder, name), (tokens, positions), strict=True):
            np.save(path, np.ascontiguousarray(values, np.float32))

    def at(self, tokens: Tokens, position: int) -> Floats:
        """tokens [n] from `position` on -> [n, size]."""
        return np.asarray(self.tokens[tokens] + self.positions[position : position + len(tokens)])


def _paths(folder: Path, name: str) -> tuple[Path, Path]:
    return folder / f"{name}-tokens.npy", folder / f"{name}-positions.npy"
