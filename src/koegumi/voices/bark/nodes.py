"""Writing an ONNX graph node by node, its weights straight into a file beside it."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Literal

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

Precision = Literal["fp32", "fp16", "int8"]
PRECISIONS: tuple[Precision, ...] = ("fp32", "fp16", "int8")

OPSET = 20
CONTRIB = "com.microsoft"
_ALIGNMENT = 4096  # so that values can be mapped
_INLINE = 1024  # bytes; smaller values stay in the graph, where shape inference reads them

Array = NDArray[Any]


class GraphWriter:
    """One graph and its weights: `path` and `path`.weights, with the modes that a new file has.

    Values are float: fp16 where the precision says so, fp32 else. In int8 only `linear` differs: its weights are
    uint8 with a scale for each column, its inputs are quantised as they come.
    """

    def __init__(self, path: Path, precision: Precision) -> None:
        self.precision = precision
        self.kind = np.dtype(np.float16 if precision == "fp16" else np.float32)
        self._path = path
        self._weights_path = path.with_name(f"{path.name}.weights")
        self._weights: BinaryIO = self._weights_path.open("wb")
        self._nodes: list[onnx.NodeProto] = []
        self._initializers: dict[str, onnx.TensorProto] = {}
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []

    def __enter__(self) -> GraphWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._weights.close()

    @property
    def float_type(self) -> int:
        return int(TensorProto.FLOAT16 if self.precision == "fp16" else TensorProto.FLOAT)

    def input(self, name: str, kind: int, shape: list[str | int]) -> str:
        self._inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, kind: int, shape: list[str | int]) -> None:
        self._outputs.append(helper.make_tensor_value_info(name, kind, shape))

    def node(self, kind: str, inputs: list[str], outputs: list[str], domain: str = "", **attributes: Any) -> None:
        self._nodes.append(helper.make_node(kind, inputs, outputs, outputs[0], domain=domain, **attributes))

    def apply(self, kind: str, inputs: list[str], name: str, domain: str = "", **attributes: Any) -> str:
        """A node with one output, whose name is returned."""
        self.node(kind, inputs, [name], domain, **attributes)
        return name

    def constant(self, name: str, values: Array) -> str:
        """An initializer of the values' own type."""
        if name not in self._initializers:
            values = np.ascontiguousarray(values)
            if values.nbytes < _INLINE:
                self._initializers[name] = onnx.numpy_helper.from_array(values, name)
            else:
                self._initializers[name] = self._external(name, values)
        return name

    def floats(self, name: str, values: Array) -> str:
        """An initializer in the graph's float type."""
        return self.constant(name, values.astype(self.kind))

    def linear(self, values: str, weight: Array, bias: Array | None, name: str) -> str:
        """values [..., n] x weight [n, m] (+ bias)."""
        if self.precision == "int8":
            return self._integer_linear(values, weight, bias, name)
        product = self.apply("MatMul", [values, self.floats(f"{name}.weight", weight)], name)
        if bias is None:
            return product
        return self.apply("Add", [product, self.floats(f"{name}.bias", bias)], f"{name}.biased")

    def normalise(self, values: str, weight: Array, bias: Array | None, name: str) -> str:
        parts = [values, self.floats(f"{name}.weight", weight)]
        if bias is not None:
            parts.append(self.floats(f"{name}.bias", bias))
        return self.apply("LayerNormalization", parts, name, axis=-1, epsilon=1e-5)

    def finish(self) -> None:
        """Write the graph; its weights are in their file already."""
        graph = helper.make_graph(
            self._nodes, self._path.stem, self._inputs, self._outputs, list(self._initializers.values())
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10, producer_name="koegumi")
        self._path.write_bytes(model.SerializeToString())

    def _integer_linear(self, values: str, weight: Array, bias: Array | None, name: str) -> str:
        quantised, scale = quantise(weight)
        parts = [
            values,
            self.constant(f"{name}.weight", quantised),
            self.constant(f"{name}.scale", scale),
            self.constant(f"{name}.zero", np.zeros(len(scale), quantised.dtype)),
        ]
        if bias is not None:
            parts.append(self.constant(f"{name}.bias", bias.astype(np.float32)))
        return self.apply("DynamicQuantizeMatMul", parts, name, CONTRIB)

    def _external(self, name: str, values: Array) -> onnx.TensorProto:
        start = -self._weights.tell() % _ALIGNMENT
        self._weights.write(bytes(start))
        offset = self._weights.tell()
        self._weights.write(values.data)
        tensor = onnx.TensorProto(name=name, data_type=helper.np_dtype_to_tensor_dtype(values.dtype))
        tensor.dims.extend(values.shape)
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", self._weights_path.name), ("offset", offset), ("length", values.nbytes)):
            tensor.external_data.add(key=key, value=str(value))
        return tensor


def quantise(weight: Array) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """weight [n, m] as int8 and a scale for each column [m], symmetric."""
    scale = np.abs(weight).max(axis=0) / 127
    scale[scale == 0] = 1
    return np.round(weight / scale).astype(np.int8), scale.astype(np.float32)
