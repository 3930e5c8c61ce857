"""What an ONNX model takes and gives, read from its bytes without a runtime.

Only the few protobuf fields that say so are read (onnx.proto, IR version 3 and later); weights are skipped over. So
the front can check a voice, and a hostile file meets no native code before it is known to have the right form.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

# TensorProto.DataType
_TYPES = {1: "float32", 6: "int32", 7: "int64", 9: "bool", 10: "float16", 11: "float64"}
_EXTERNAL = 1


class NotOnnx(ValueError):  # noqa: N818 - reads as a sentence where it is raised
    """The bytes are no ONNX model; the message says what is wrong with them."""


@dataclass(frozen=True)
class Port:
    """An input or an output. `rank` is None where the model does not tell."""

    name: str
    type: str
    rank: int | None

    def __str__(self) -> str:
        return f"{self.name} {self.type}[{'?' if self.rank is None else ','.join('_' * self.rank)}]"

    def agrees(self, other: Port) -> bool:
        same_rank = self.rank == other.rank or self.rank is None or other.rank is None
        return (self.name, self.type) == (other.name, other.type) and same_rank


@dataclass(frozen=True)
class Signature:
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]

    def complaints(self, wanted: Signature) -> list[str]:
        """What is not as it is `wanted`; order counts."""
        both = (("inputs", self.inputs, wanted.inputs), ("outputs", self.outputs, wanted.outputs))
        return [
            f"{kind} are {_listed(have)}, and should be {_listed(want)}"
            for kind, have, want in both
            if len(have) != len(want) or not all(map(Port.agrees, have, want))
        ]


def _listed(ports: tuple[Port, ...]) -> str:
    return ", ".join(map(str, ports)) or "none"


def read_signature(model: bytes) -> Signature:
    """Raises NotOnnx, also where weights lie in another file."""
    graphs = [_bytes(value) for number, value in _fields(memoryview(model)) if number == 7]
    if len(graphs) != 1:
        raise NotOnnx("it holds no graph")
    weights: set[str] = set()
    inputs: list[Port] = []
    outputs: list[Port] = []
    for number, value in _fields(graphs[0]):
        if number == 5:
            weights.add(_weight(_bytes(value)))
        elif number == 11:
            inputs.append(_port(_bytes(value)))
        elif number == 12:
            outputs.append(_port(_bytes(value)))
    # Old models list their weights among the inputs.
    return Signature(tuple(port for port in inputs if port.name not in weights), tuple(outputs))


def _weight(tensor: memoryview) -> str:
    """The name of a TensorProto."""
    name = ""
    for number, value in _fields(tensor):
        if number == 8:
            name = _text(value)
        elif number == 13 or (number == 14 and value == _EXTERNAL):
            raise NotOnnx("its weights lie in another file")
    return name


def _port(info: memoryview) -> Port:
    """A ValueInfoProto."""
    name, type_, rank = "", "", None
    for number, value in _fields(info):
        if number == 1:
            name = _text(value)
        elif number == 2:
            type_, rank = _tensor_type(_bytes(value))
    return Port(name, type_, rank)


def _tensor_type(type_proto: memoryview) -> tuple[str, int | None]:
    type_, rank = "no tensor", None
    for number, value in _fields(type_proto):
        if number == 1:  # a tensor, and not a sequence or a map
            type_ = "unknown"
            for inner, part in _fields(_bytes(value)):
                if inner == 1 and isinstance(part, int):
                    type_ = _TYPES.get(part, f"type {part}")
                elif inner == 2:
                    rank = sum(1 for dimension, _ in _fields(_bytes(part)) if dimension == 1)
    return type_, rank


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Field numbers and values: integers, or the bytes of what has a length. Fixed-width values are left out."""
    position = 0
    while position < len(message):
        tag, position = _varint(message, position)
        kind = tag & 7
        if kind == 0:
            value, position = _varint(message, position)
            yield tag >> 3, value
            continue
        length = 0
        if kind == 2:
            length, position = _varint(message, position)
        elif kind not in (1, 5):
            raise NotOnnx("it is no protobuf message")
        end = position + (length if kind == 2 else 8 if kind == 1 else 4)
        if end > len(message):
            raise NotOnnx("it is cut short")
        if kind == 2:
            yield tag >> 3, message[position:end]
        position = end


def _varint(message: memoryview, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(message):
            raise NotOnnx("it is cut short")
        byte = message[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
    raise NotOnnx("it is no protobuf message")


def _bytes(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise NotOnnx("it is no ONNX model")
    return value


def _text(value: int | memoryview) -> str:
    return bytes(_bytes(value)).decode("utf-8", "replace")
