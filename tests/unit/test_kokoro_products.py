"""Convolutions as products: the same integers, for every shape that a graph may have."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from koegumi.voices.kokoro.products import replace_convolutions

Array = NDArray[Any]


@given(
    outputs=st.integers(2, 5),
    channels=st.integers(1, 4),
    taps=st.integers(1, 5),
    stride=st.integers(1, 3),
    dilation=st.integers(1, 3),
    pads=st.tuples(st.integers(0, 6), st.integers(0, 6)),
    zero=st.integers(0, 255),
    time=st.integers(13, 40),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_product_is_the_convolution(
    outputs: int,
    channels: int,
    taps: int,
    stride: int,
    dilation: int,
    pads: tuple[int, int],
    zero: int,
    time: int,
    seed: int,
) -> None:
    chance = np.random.default_rng(seed)
    weight = chance.integers(0, 256, (outputs, channels, taps), np.uint8)
    model = _model(weight, zero, stride, dilation, pads)
    feed = {
        "x": chance.integers(0, 256, (1, channels, time), np.uint8),
        "x_zero": np.array(chance.integers(0, 256), np.uint8),
    }
    expected = _run(model, feed)
    replace_convolutions(model.graph)
    assert {node.op_type for node in model.graph.node} >= {"MatMulInteger"}
    assert not [node for node in model.graph.node if node.op_type == "ConvInteger"]
    np.testing.assert_array_equal(_run(model, feed), expected)


def _model(weight: Array, zero: int, stride: int, dilation: int, pads: tuple[int, int]) -> onnx.ModelProto:
    node = helper.make_node(
        "ConvInteger",
        ["x", "w", "x_zero", "w_zero"],
        ["y"],
        name="convolution",
        kernel_shape=[weight.shape[2]],
        strides=[stride],
        dilations=[dilation],
        pads=list(pads),
        group=1,
    )
    graph = helper.make_graph(
        [node],
        "test",
        [
            helper.make_tensor_value_info("x", TensorProto.UINT8, [1, weight.shape[1], None]),
            helper.make_tensor_value_info("x_zero", TensorProto.UINT8, []),
        ],
        [helper.make_tensor_value_info("y", TensorProto.INT32, None)],
        [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(np.array(zero, np.uint8), "w_zero")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def _run(model: onnx.ModelProto, feed: dict[str, Array]) -> Array:
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, feed)[0])
