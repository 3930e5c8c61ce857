"""Integer convolutions as matrix products, which the CPU does several times faster.

ONNX Runtime's ConvInteger packs its operands at every run and has no kernel for signed weights; MatMulInteger packs
constant weights once and uses the processor's dot products of unsigned by signed bytes. Sums of integers are exact, so
the sound is the same to the bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

TO_TIME_FIRST = TO_CHANNELS_FIRST = [0, 2, 1]


def replace_convolutions(graph: onnx.GraphProto) -> None:
    """Rewrite every one-dimensional ConvInteger with more than one output channel, in place."""
    values = {value.name: value for value in graph.initializer}
    nodes: list[onnx.NodeProto] = []
    for node in graph.node:
        convolution = _Convolution.of(node, values)
        nodes += [node] if convolution is None else convolution.products(graph)
    del graph.node[:]
    graph.node.extend(nodes)
    _prune_values(graph)


@dataclass(frozen=True)
class _Convolution:
    """`weight` is [outputs, channels, taps], unsigned bytes, with one zero point."""

    node: onnx.NodeProto
    weight: NDArray[np.uint8]
    zero: int
    stride: int
    dilation: int
    pads: tuple[int, int]

    @classmethod
    def of(cls, node: onnx.NodeProto, values: dict[str, onnx.TensorProto]) -> _Convolution | None:
        """None for what is left as it is."""
        if node.op_type != "ConvInteger":
            return None
        attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        weight = numpy_helper.to_array(values[node.input[1]])
        zero = numpy_helper.to_array(values[node.input[3]])
        if weight.ndim != 3 or weight.shape[0] == 1 or weight.dtype != np.uint8 or attributes.get("group", 1) != 1:
            return None
        (stride,), (dilation,) = attributes["strides"], attributes["dilations"]
        return cls(node, weight, int(zero), stride, dilation, tuple(attributes["pads"]))

    def products(self, graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
        """x [1, channels, time] -> time first -> each output's taps side by side -> one product -> channels first."""
        make = _Maker(graph, self.node.name or self.node.output[0])
        outputs, _, taps = self.weight.shape
        x, _, x_zero = self.node.input[:3]
        yield make.node("Transpose", [x], "time_first", perm=TO_TIME_FIRST)
        if any(self.pads):
            pads = make.constant("pads", np.array([0, self.pads[0], 0, 0, self.pads[1], 0], np.int64))
            yield make.node("Pad", [make.last, pads, x_zero], "padded")
        if taps > 1 or self.stride > 1:
            yield from self._taps(make, taps)
        # One zero point's shift makes unsigned weights signed and changes no difference.
        signed = (self.weight.astype(np.int16) - 128).astype(np.int8)
        weight = make.constant("weight", np.ascontiguousarray(signed.transpose(2, 1, 0).reshape(-1, outputs)))
        zero = make.constant("zero", np.array(self.zero - 128, np.int8))
        yield make.node("MatMulInteger", [make.last, weight, x_zero, zero], "product")
        yield helper.make_node("Transpose", [make.last], [self.node.output[0]], perm=TO_CHANNELS_FIRST)

    def _taps(self, make: _Maker, taps: int) -> Iterator[onnx.NodeProto]:
        """Rows of the padded input, by the index of each output's taps: [1, outputs in time, taps x channels]."""
        padded = make.last
        reach = self.dilation * (taps - 1)
        one = make.constant("one", np.array(1, np.int64))
        yield make.node("Shape", [padded], "shape")
        yield make.node("Gather", [make.last, one], "padded_time")
        yield make.node("Sub", [make.last, make.constant("reach", np.array(reach, np.int64))], "limit")
        bounds = [make.constant("zero_index", np.array(0, np.int64)), make.last]
        yield make.node("Range", [*bounds, make.constant("stride", np.array(self.stride, np.int64))], "starts")
        yield make.node("Unsqueeze", [make.last, one], "column")
        offsets = np.arange(taps, dtype=np.int64) * self.dilation
        yield make.node("Add", [make.last, make.constant("offsets", offsets[None])], "indices")
        yield make.node("Gather", [padded, make.last], "gathered", axis=1)
        shape = np.array([1, -1, taps * self.weight.shape[1]], np.int64)
        yield make.node("Reshape", [make.last, make.constant("row", shape)], "taps")


class _Maker:
    """Nodes and constants under one prefix; `last` is the output of the node made last."""

    def __init__(self, graph: onnx.GraphProto, prefix: str) -> None:
        self._graph = graph
        self._prefix = prefix
        self.last = ""

    def node(self, op_type: str, inputs: list[str], name: str, **attributes: Any) -> onnx.NodeProto:
        self.last = f"{self._prefix}/{name}"
        return helper.make_node(op_type, inputs, [self.last], name=self.last, **attributes)

    def constant(self, name: str, value: NDArray[np.generic]) -> str:
        self._graph.initializer.append(numpy_helper.from_array(value, f"{self._prefix}/{name}"))
        return f"{self._prefix}/{name}"


def _prune_values(graph: onnx.GraphProto) -> None:
    used = {name for node in graph.node for name in node.input}
    kept = [value for value in graph.initializer if value.name in used]
    del graph.initializer[:]
    graph.initializer.extend(kept)
