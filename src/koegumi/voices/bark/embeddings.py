"""Embeddings stay on disk: of a table of hundreds of megabytes a sentence reads a few rows. They are read and not
mapped, because what is mapped counts as the process's memory, with what the system reads around it."""

from __future__ import annotations

import os
import weakref
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from koegumi.voices.bark.rows import Tokens

Floats = NDArray[np.float32]


class Table:
    """A .npy file of fp32 [vocabulary, size], or of several codebooks [codebooks, vocabulary, size]."""

    def __init__(self, path: Path) -> None:
        header = np.load(path, mmap_mode="r")
        self._vocabulary, self.size = header.shape[-2:]
        self._first = int(header.offset)
        self._path, self._descriptor = path, os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._descriptor)

    def rows(self, tokens: Tokens, codebook: int = 0) -> Floats:
        """tokens [...] -> [..., size]. Raises OSError where the file has ended."""
        different, places = np.unique(tokens, return_inverse=True)
        values = np.empty((len(different), self.size), np.float32)
        for value, token in zip(values, different.tolist(), strict=True):
            place = self._first + (codebook * self._vocabulary + token) * value.nbytes
            if os.preadv(self._descriptor, [value], place) != value.nbytes:
                raise OSError(f"{self._path} is shorter than it was")
        return values[places.reshape(tokens.shape)]


@dataclass(frozen=True)
class Embeddings:
    """Of tokens, and of positions [n, size]."""

    tokens: Table
    positions: Floats

    @staticmethod
    def open(folder: Path, name: str) -> Embeddings:
        """What `save` wrote."""
        tokens, positions = _paths(folder, name)
        return Embeddings(Table(tokens), np.load(positions))

    @staticmethod
    def save(folder: Path, name: str, tokens: Floats, positions: Floats) -> None:
        for path, values in zip(_paths(folder, name), (tokens, positions), strict=True):
            np.save(path, np.ascontiguousarray(values, np.float32))

    def at(self, tokens: Tokens, position: int) -> Floats:
        """tokens [n] from `position` on -> [n, size]."""
        return self.tokens.rows(tokens) + self.positions[position : position + len(tokens)]


def _paths(folder: Path, name: str) -> tuple[Path, Path]:
    return folder / f"{name}-tokens.npy", folder / f"{name}-positions.npy"
