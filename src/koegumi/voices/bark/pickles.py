"""pytorch_model.bin without PyTorch: a zip of one pickle and the raw values.

A pickle can call anything when it is read, so this reader knows only what a state dict is made of.
"""

from __future__ import annotations

import collections
import pickle
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_STORAGES = {
    "DoubleStorage": "<f8", "FloatStorage": "<f4", "HalfStorage": "<f2", "BFloat16Storage": "bfloat16",
    "LongStorage": "<i8", "IntStorage": "<i4", "ShortStorage": "<i2", "CharStorage": "i1", "ByteStorage": "u1",
    "BoolStorage": "?",
}  # fmt: skip


@dataclass(frozen=True)
class _Storage:
    kind: str
    key: str
    count: int


@dataclass(frozen=True)
class _Tensor:
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def _tensor(storage: _Storage, offset: int, shape: Any, strides: Any, *_rest: object) -> _Tensor:
    return _Tensor(storage, offset, tuple(shape), tuple(strides))


def _parameter(data: _Tensor, *_rest: object) -> _Tensor:
    return data


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if module in ("torch", "torch.storage") and name in _STORAGES:
            return _STORAGES[name]
        known: dict[tuple[str, str], Any] = {
            ("collections", "OrderedDict"): collections.OrderedDict,
            ("torch._utils", "_rebuild_tensor_v2"): _tensor,
            ("torch._utils", "_rebuild_parameter"): _parameter,
        }
        if (module, name) not in known:
            raise ValueError(f"its pickle wants {module}.{name}, which no checkpoint needs: it is not read")
        return known[module, name]

    def persistent_load(self, pid: Any) -> _Storage:
        _, kind, key, _device, count = pid
        return _Storage(kind, str(key), int(count))


def read_pickle(path: Path) -> dict[str, Callable[[], NDArray[Any]]]:
    """Raises ValueError where the file is of another kind, broken, or wants to call what it should not."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.endswith("/data.pkl")]
            if len(names) != 1:
                raise ValueError("it is a zip, but not one of PyTorch")
            with archive.open(names[0]) as file:
                value = _Unpickler(file).load()
    except zipfile.BadZipFile:
        raise ValueError(f"{path} is not in PyTorch's zip format (1.6 or later), or it is cut off") from None
    except (ValueError, pickle.UnpicklingError, TypeError, EOFError, IndexError, AttributeError) as error:
        raise ValueError(f"{path}: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{path} holds no state dict")
    folder = names[0].removesuffix("data.pkl")
    return {str(name): _reader(path, folder, tensor) for name, tensor in value.items() if isinstance(tensor, _Tensor)}


def _reader(path: Path, folder: str, tensor: _Tensor) -> Callable[[], NDArray[Any]]:
    kind = np.dtype("<u2" if tensor.storage.kind == "bfloat16" else tensor.storage.kind)

    def read() -> NDArray[Any]:
        with zipfile.ZipFile(path) as archive:
            raw = archive.read(f"{folder}data/{tensor.storage.key}")
        values = np.frombuffer(raw, kind)
        steps = zip(tensor.shape, tensor.strides, strict=True)
        last = tensor.offset + sum((size - 1) * step for size, step in steps)
        empty = 0 in tensor.shape
        if min(tensor.offset, *tensor.strides, 0) < 0 or (not empty and last >= len(values)):
            raise ValueError(f"{path}: a tensor reaches beyond its values")
        strides = tuple(step * kind.itemsize for step in tensor.strides)
        view = np.lib.stride_tricks.as_strided(values[tensor.offset :], tensor.shape, strides, writeable=False)
        if tensor.storage.kind != "bfloat16":
            return view
        return (np.ascontiguousarray(view).astype(np.uint32) << 16).view(np.float32)

    return read
