"""The tensors of a checkpoint by name: safetensors, or a .bin of PyTorch without PyTorch."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from koegumi.voices.bark.pickles import read_pickle

Floats = NDArray[np.float32]
Reader = Callable[[], NDArray[Any]]

_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_TYPES: dict[str, str] = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
    "U8": "u1", "BOOL": "?",
}  # fmt: skip


class MissingTensors(ValueError):  # noqa: N818 - reads as a sentence where it is raised
    """The message names what the checkpoint lacks."""


class Checkpoint:
    """Tensors are read when they are asked for, as fp32. Names are BarkModel's."""

    def __init__(self, folder: Path) -> None:
        """Raises FileNotFoundError without weights, ValueError where a file is broken."""
        self._readers: dict[str, Reader] = {}
        for file in _files(folder):
            read = read_safetensors if file.suffix == ".safetensors" else read_pickle
            self._readers |= read(file)

    def __contains__(self, name: str) -> bool:
        return name in self._readers

    def require(self, names: Iterable[str]) -> None:
        missing = [name for name in names if name not in self]
        if missing:
            more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
            raise MissingTensors(f"the checkpoint lacks {', '.join(missing[:5])}{more}")

    def get(self, name: str, shape: tuple[int, ...] | None = None) -> Floats:
        """Raises MissingTensors, or ValueError where its shape is another."""
        self.require([name])
        value = np.asarray(self._readers[name](), np.float32)
        if shape is not None and value.shape != shape:
            raise ValueError(f"{name} is {list(value.shape)}, and config.json makes it {list(shape)}")
        return value

    def find(self, name: str, shape: tuple[int, ...] | None = None) -> Floats | None:
        """As `get`, None where it is not there: biases are optional."""
        return self.get(name, shape) if name in self else None

    def convolution(self, name: str) -> tuple[Floats, Floats]:
        """Weight and bias; weight norm in its old and new names is multiplied out."""
        weight = self.find(f"{name}.weight")
        for size, direction in (
            ("weight_g", "weight_v"),
            ("parametrizations.weight.original0", "parametrizations.weight.original1"),
        ):
            if weight is None and f"{name}.{size}" in self:
                values = self.get(f"{name}.{direction}").astype(np.float64)
                axes = tuple(range(1, values.ndim))
                norm = np.sqrt(np.square(values).sum(axis=axes, keepdims=True))
                weight = (values * (self.get(f"{name}.{size}") / norm)).astype(np.float32)
        if weight is None:
            self.require([f"{name}.parametrizations.weight.original0"])
        assert weight is not None
        return weight, self.get(f"{name}.bias")


def _files(folder: Path) -> list[Path]:
    for name in _WEIGHTS:
        if (folder / name).is_file():
            return [folder / name]
        index = folder / f"{name}.index.json"
        if index.is_file():
            return _shards(index)
    raise FileNotFoundError(f"{folder} has neither {' nor '.join(_WEIGHTS)}")


def _shards(index: Path) -> list[Path]:
    names = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    if any(os.path.basename(name) != name for name in names):
        raise ValueError(f"{index} names files outside its folder")
    shards = [index.with_name(name) for name in sorted(names)]
    for shard in shards:
        if not shard.is_file():
            raise FileNotFoundError(f"{shard} is missing, {index.name} names it")
    return shards


def read_safetensors(path: Path) -> dict[str, Reader]:
    """The format: the header's length (8 bytes), the header (JSON: type, shape, place), the values."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(size - 8, 100_000_000):
            raise ValueError(f"{path} is no safetensors file, or it is cut off")
        try:
            header = json.loads(file.read(length))
        except ValueError as error:
            raise ValueError(f"{path}: its header is no JSON: {error}") from None
    header.pop("__metadata__", None)
    start = 8 + length
    return {name: _reader(path, start, size, name, entry) for name, entry in header.items()}


def _reader(path: Path, start: int, size: int, name: str, entry: dict[str, Any]) -> Reader:
    begin, end = entry["data_offsets"]
    kind = _TYPES.get(entry["dtype"])
    shape = tuple(entry["shape"])
    if kind is None:
        raise ValueError(f"{path}: {name} is of type {entry['dtype']}, which is not known")
    count = int(np.prod(shape, dtype=np.int64))
    if not (0 <= begin <= end <= size - start and end - begin == count * np.dtype(kind).itemsize):
        raise ValueError(f"{path}: {name} does not lie where the header says, the file may be cut off")

    def read() -> NDArray[Any]:
        values = np.fromfile(path, np.dtype(kind), count, offset=start + begin).reshape(shape)
        return widen(values) if entry["dtype"] == "BF16" else values

    return read


def widen(values: NDArray[Any]) -> Floats:
    """bfloat16, as its bits in uint16, to fp32."""
    return (values.astype(np.uint32) << 16).view(np.float32)
