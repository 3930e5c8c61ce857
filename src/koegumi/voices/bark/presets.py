"""Presets, the voices of Bark: found in a model's folder by their names, checked, and kept as one file each.

Files come from strangers: no name leads out of the folder, and no pickle is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from koegumi.voices.bark.rows import Preset, Tokens

PARTS = ("semantic", "coarse", "fine")
FOLDER = "speaker_embeddings"
INDEX = "speaker_embeddings_path.json"
# Rows of each part (none: a list), and how many tokens there are.
_ROWS = {"semantic": 0, "coarse": 2, "fine": 8}
_TOKENS = {"semantic": 10_000, "coarse": 1_024, "fine": 1_024}
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*){0,3}")
_MOST_NAME = 100


@dataclass(frozen=True)
class Source:
    """The files of a preset: one .npz for all parts, or a .npy for each."""

    name: str
    parts: dict[str, Path]


def check_name(name: str) -> str:
    """Raises ValueError for what is no plain name, as `v2/en_speaker_0` is."""
    if len(name) > _MOST_NAME or not _NAME.fullmatch(name):
        raise ValueError(f"{name[:_MOST_NAME]!r} is no name for a preset: letters, digits, _, -, . and / make one")
    return name


def find_presets(folder: Path) -> list[Source]:
    """By name, from the index that the folder may hold, and from its files. Raises ValueError."""
    found = {source.name: source for source in [*_listed(folder), *_lying(folder)]}
    return [found[name] for name in sorted(found)]


def _listed(folder: Path) -> Iterator[Source]:
    """Those of the index that are there; it lists a whole hub."""
    index = folder / INDEX
    if not index.is_file():
        return
    try:
        entries = json.loads(index.read_text(encoding="utf-8"))
        parts = {name: value for name, value in entries.items() if isinstance(value, dict)}
        files = {name: {part: str(value[f"{part}_prompt"]) for part in PARTS} for name, value in parts.items()}
    except (ValueError, AttributeError, KeyError) as error:
        raise ValueError(f"{index} is no index of presets: {error}") from error
    for name, paths in files.items():
        check_name(name)
        parts_of = {part: folder / _inside(path) for part, path in paths.items()}
        if all(path.is_file() for path in parts_of.values()):
            yield Source(name, parts_of)


def _inside(path: str) -> PurePosixPath:
    relative = PurePosixPath(path)
    if relative.is_absolute() or ".." in relative.parts:
        raise ValueError(f"the preset's file {path!r} is not inside the model's folder")
    return relative


def _lying(folder: Path) -> Iterator[Source]:
    root = folder / FOLDER
    for path in root.rglob("*.npz"):
        yield Source(_name_of(path.with_suffix(""), root), dict.fromkeys(PARTS, path))
    ending = "_semantic_prompt.npy"
    for path in root.rglob(f"*{ending}"):
        stem = path.name.removesuffix(ending)
        parts = {part: path.with_name(f"{stem}_{part}_prompt.npy") for part in PARTS}
        missing = [part.name for part in parts.values() if not part.is_file()]
        if missing:
            raise ValueError(f"the preset {stem} has no {', '.join(missing)} beside {path}")
        yield Source(_name_of(path.with_name(stem), root), parts)


def _name_of(path: Path, root: Path) -> str:
    return check_name(path.relative_to(root).as_posix())


def read_preset(source: Source) -> Preset:
    """Raises ValueError where it is none, and says which."""
    arrays = {part: _read_part(source, part) for part in PARTS}
    if arrays["coarse"].shape[1] != arrays["fine"].shape[1]:
        raise ValueError(
            f"the preset {source.name} has {_frames(arrays['coarse'])} coarse, {_frames(arrays['fine'])} fine"
        )
    return Preset(**arrays)


def _read_part(source: Source, part: str) -> Tokens:
    path = source.parts[part]
    try:
        loaded = np.load(path, allow_pickle=False)
        array = loaded[f"{part}_prompt"] if path.suffix == ".npz" else loaded
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise ValueError(f"the preset {source.name} cannot be read from {path}: {error}") from error
    if not _is_right(array, part):
        raise ValueError(f"the preset {source.name} has in {path} no {part} tokens")
    return np.asarray(array, np.int64)


def _is_right(array: NDArray[np.generic], part: str) -> bool:
    rows, dimensions = _ROWS[part], 2 if _ROWS[part] else 1
    if array.ndim != dimensions or not np.issubdtype(array.dtype, np.integer) or array.size == 0:
        return False
    return (not rows or array.shape[0] == rows) and bool(array.min() >= 0) and bool(array.max() < _TOKENS[part])


def _frames(array: Tokens) -> str:
    return f"{array.shape[1]} frames"


def write_preset(preset: Preset, path: Path) -> None:
    np.savez(path, **{part: getattr(preset, part).astype(np.int16) for part in PARTS})


def load_preset(path: Path) -> Preset:
    """What `write_preset` wrote. Raises OSError."""
    with np.load(path, allow_pickle=False) as arrays:
        return Preset(**{part: arrays[part].astype(np.int64) for part in PARTS})
