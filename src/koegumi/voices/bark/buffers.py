"""Keys and values of a batch: one buffer for each layer, which a graph reads and writes in place."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from koegumi.voices.bark.shape import Stack


class Buffer(Protocol):
    """[rows, heads, positions, size of a head]."""

    @property
    def address(self) -> int: ...

    def move(self, source: int, target: int, length: int) -> bool:
        """Copy a row's first `length` positions; False where it cannot be done."""


class HostBuffer:
    """Memory that is taken from the system when it is first written, so that short rows cost little; no huge pages,
    which would take all of it."""

    def __init__(self, shape: tuple[int, int, int, int], kind: np.dtype[Any]) -> None:
        memory = mmap.mmap(-1, int(np.prod(shape)) * kind.itemsize)
        if hasattr(mmap, "MADV_NOHUGEPAGE"):
            memory.madvise(mmap.MADV_NOHUGEPAGE)
        self._values: NDArray[Any] = np.frombuffer(memory, kind).reshape(shape)

    @property
    def address(self) -> int:
        return int(self._values.ctypes.data)

    def move(self, source: int, target: int, length: int) -> bool:
        self._values[target, :, :length] = self._values[source, :, :length]
        return True


class CudaBuffer:
    def __init__(self, shape: tuple[int, int, int, int], kind: np.dtype[Any]) -> None:
        self._value = ort.OrtValue.ortvalue_from_shape_and_type(shape, kind.type, "cuda", 0)

    @property
    def address(self) -> int:
        return int(self._value.data_ptr())

    def move(self, source: int, target: int, length: int) -> bool:
        return False  # ONNX Runtime has no copy from GPU to GPU for Python; a batch then has empty places


@dataclass(frozen=True)
class Cache:
    """Buffers of keys and values by layer."""

    device: str
    kind: np.dtype[Any]
    row_shape: tuple[int, int, int]
    layers: list[tuple[Buffer, Buffer]]

    @staticmethod
    def make(stack: Stack, rows: int, positions: int, device: str, kind: np.dtype[Any]) -> Cache:
        row_shape = (stack.heads, positions, stack.head_size)
        make: Callable[[], Buffer] = lambda: (HostBuffer if device == "cpu" else CudaBuffer)((rows, *row_shape), kind)  # noqa: E731
        return Cache(device, kind, row_shape, [(make(), make()) for _ in range(stack.layers)])

    def bind(self, binding: Any, inputs: list[str], outputs: list[str], first: int, rows: int) -> None:
        """Rows `first` and on, as inputs and outputs: names by layer, keys before values."""
        buffers = [buffer for pair in self.layers for buffer in pair]
        shape = (rows, *self.row_shape)
        start = first * int(np.prod(self.row_shape)) * self.kind.itemsize
        for buffer, given, made in zip(buffers, inputs, outputs, strict=True):
            place = (self.device, 0, self.kind.type, shape, buffer.address + start)
            binding.bind_input(given, *place)
            binding.bind_output(made, *place)

    def move(self, source: int, target: int, length: int) -> bool:
        return all(buffer.move(source, target, length) for pair in self.layers for buffer in pair)
