"""Kokoro's graph cut in three, and the decoder without integer convolutions: for the CPU and for CUDA.

tokens, style                                -> encoder -> raw durations, prosody and acoustic features
prosody features, durations, style           -> prosody -> F0, energy
acoustic features, durations, F0, energy, style -> decoder -> audio
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from koegumi.voices.kokoro.products import replace_convolutions

TOKENS = "tokens"
STYLE = "style"
AUDIO = "audio"
RAW_DURATIONS = "/encoder/predictor/ReduceSum_output_0"
DURATIONS = "/encoder/Cast_output_0"
PROSODY_FEATURES = "/encoder/predictor/text_encoder/Concat_4_output_0"
ACOUSTIC_FEATURES = "/encoder/text_encoder/Transpose_2_output_0"
F0 = "/encoder/Reshape_output_0"
ENERGY = "/encoder/Reshape_1_output_0"

_PARTS = {
    "encoder": ([TOKENS, STYLE], [RAW_DURATIONS, PROSODY_FEATURES, ACOUSTIC_FEATURES]),
    "prosody": ([PROSODY_FEATURES, DURATIONS, STYLE], [F0, ENERGY]),
    "decoder": ([ACOUSTIC_FEATURES, DURATIONS, F0, ENERGY, STYLE], [AUDIO]),
}


def cut(model: Path, folder: Path) -> None:
    """Write encoder.onnx, prosody.onnx and decoder.onnx."""
    for name, (inputs, outputs) in _PARTS.items():
        _extract(model, folder / f"{name}.onnx", inputs, outputs)


def write_cpu_decoder(decoder: Path, target: Path) -> None:
    """The decoder with its integer convolutions as matrix products: the same sound in much less time."""
    model = onnx.load(os.fspath(decoder))
    replace_convolutions(model.graph)
    onnx.save(model, os.fspath(target))


def write_float_decoder(decoder: Path, target: Path) -> None:
    """The decoder with its integer convolutions and products in fp32: CUDA has no ConvInteger."""
    model = onnx.load(os.fspath(decoder))
    _Dequantizer(model.graph).run()
    unpruned = target.with_suffix(".unpruned.onnx")
    onnx.save(model, os.fspath(unpruned))
    _extract(unpruned, target, *_PARTS["decoder"])
    unpruned.unlink()


def _extract(source: Path, target: Path, inputs: list[str], outputs: list[str]) -> None:
    onnx.utils.extract_model(
        os.fspath(source), os.fspath(target), inputs, outputs, check_model=False, infer_shapes=False
    )


class _Dequantizer:
    """Replaces, in place, each dynamically quantised product of this pattern by a float one:

    DynamicQuantizeLinear -> ConvInteger | MatMulInteger -> [Add bias] -> Cast -> Mul (input's scale x weight's scale)
    """

    def __init__(self, graph: onnx.GraphProto) -> None:
        self._graph = graph
        self._values = {value.name: value for value in graph.initializer}
        self._makers = {output: node for node in graph.node for output in node.output}
        self._users: dict[str, list[onnx.NodeProto]] = {}
        for node in graph.node:
            for name in node.input:
                self._users.setdefault(name, []).append(node)

    def run(self) -> None:
        float_types = {"ConvInteger": "Conv", "MatMulInteger": "MatMul"}
        for node in [node for node in self._graph.node if node.op_type in float_types]:
            self._replace(node, float_types[node.op_type])

    def _replace(self, node: onnx.NodeProto, op_type: str) -> None:
        quantize = self._makers[node.input[0]]
        bias: list[str] = []
        user = self._only_user(node)
        if user.op_type == "Add":
            bias = [self._bias(next(name for name in user.input if name != node.output[0]))]
            user = self._only_user(user)
        scale = self._only_user(user)
        if (quantize.op_type, user.op_type, scale.op_type) != ("DynamicQuantizeLinear", "Cast", "Mul"):
            raise ValueError(f"{node.name}: not the pattern of a dynamically quantised product")
        weight = self._weight(node, next(name for name in scale.input if name != user.output[0]))
        end = scale.output[0]
        scale.output[0] = f"{end}_integer"
        node.op_type = op_type
        del node.input[:]
        node.input.extend([quantize.input[0], weight, *bias])
        node.output[0] = end

    def _only_user(self, node: onnx.NodeProto) -> onnx.NodeProto:
        (user,) = self._users[node.output[0]]
        return user

    def _bias(self, name: str) -> str:
        """The float bias from which the integer one is made."""
        while name not in self._values:
            name = self._makers[name].input[0]
        return name

    def _weight(self, node: onnx.NodeProto, scales: str) -> str:
        """Add the float weight as an initializer."""
        scale = next(self._array(name) for name in self._makers[scales].input if name in self._values)
        weight = (self._array(node.input[1]) - self._array(node.input[3])) * scale
        name = f"{node.name}_float_weight"
        self._graph.initializer.append(numpy_helper.from_array(weight, name))
        return name

    def _array(self, name: str) -> NDArray[np.float32]:
        return np.asarray(numpy_helper.to_array(self._values[name]), np.float32)
