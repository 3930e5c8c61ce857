"""The graph of EnCodec's decoder: sums of codebook embeddings in, samples out. Always fp32: it is small."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from koegumi.voices.bark.checkpoint import Checkpoint, Floats
from koegumi.voices.bark.nodes import GraphWriter
from koegumi.voices.bark.shape import Codec

FRAMES = "frames"
WAVE = "wave"
_PREFIX = "codec_model.decoder.layers"


def codebook_names(codebooks: int) -> list[str]:
    return [f"codec_model.quantizer.layers.{number}.codebook.embed" for number in range(codebooks)]


def write_codec(graph: GraphWriter, checkpoint: Checkpoint, codec: Codec) -> None:
    """frames [1, size, kernel - 1 + n], mirrored on the left -> wave [1, 1, samples]."""
    writer = _Writer(graph, checkpoint)
    values = graph.input(FRAMES, TensorProto.FLOAT, [1, codec.hidden, "time"])
    values = writer.convolution(values, f"{_PREFIX}.0.conv", padding=0)
    values = writer.lstm(values, f"{_PREFIX}.1.lstm", codec.lstm_layers)
    layer = 2  # layers are numbered with the activations among them
    for ratio in codec.ratios:
        values = writer.elu(values, f"{_PREFIX}.{layer}")
        values = writer.upsampling(values, f"{_PREFIX}.{layer + 1}.conv", ratio)
        layer += 2
        for number in range(codec.residual_layers):
            dilation = codec.dilation_growth**number
            values = writer.residual(values, f"{_PREFIX}.{layer}", codec.residual_kernel, dilation)
            layer += 1
    values = writer.elu(values, f"{_PREFIX}.{layer}")
    values = writer.convolution(values, f"{_PREFIX}.{layer + 1}.conv", padding=codec.last_kernel - 1)
    graph.node("Identity", [values], [WAVE])
    graph.output(WAVE, TensorProto.FLOAT, [1, 1, "samples"])


class _Writer:
    def __init__(self, graph: GraphWriter, checkpoint: Checkpoint) -> None:
        self._graph = graph
        self._checkpoint = checkpoint

    def elu(self, values: str, name: str) -> str:
        return self._graph.apply("Elu", [values], f"{name}.elu")

    def convolution(self, values: str, name: str, padding: int, dilation: int = 1) -> str:
        """Causal: `padding` frames are mirrored before the first."""
        weight, bias = self._checkpoint.convolution(name)
        if padding:
            pads = self._graph.constant(f"{name}.pads", np.array([0, 0, padding, 0, 0, 0]))
            values = self._graph.apply("Pad", [values, pads], f"{name}.padded", mode="reflect")
        return self._graph.apply("Conv", [values, *self._weights(name, weight, bias)], name, dilations=[dilation])

    def upsampling(self, values: str, name: str, ratio: int) -> str:
        """What reaches beyond the last frame is cut off."""
        weight, bias = self._checkpoint.convolution(name)
        parts = [values, *self._weights(name, weight, bias)]
        pads = [0, weight.shape[2] - ratio]
        return self._graph.apply("ConvTranspose", parts, name, strides=[ratio], pads=pads)

    def residual(self, values: str, name: str, kernel: int, dilation: int) -> str:
        inner = self.elu(values, f"{name}.block.0")
        inner = self.convolution(inner, f"{name}.block.1.conv", (kernel - 1) * dilation, dilation)
        inner = self.elu(inner, f"{name}.block.2")
        inner = self.convolution(inner, f"{name}.block.3.conv", padding=0)
        shortcut = self.convolution(values, f"{name}.shortcut.conv", padding=0)
        return self._graph.apply("Add", [shortcut, inner], f"{name}.sum")

    def lstm(self, values: str, name: str, layers: int) -> str:
        """With a way around it. PyTorch's gates are input, forget, cell, output; ONNX wants input, output, forget,
        cell."""
        hidden = start = self._graph.apply("Transpose", [values], f"{name}.in", perm=[2, 0, 1])
        axis = self._graph.constant("axis_of_directions", np.array([1]))
        for layer in range(layers):
            weights = [self._gates(f"{name}.{part}_l{layer}") for part in ("weight_ih", "weight_hh")]
            biases = [self._gates(f"{name}.{part}_l{layer}") for part in ("bias_ih", "bias_hh")]
            own = f"{name}.{layer}"
            parts = [self._graph.floats(f"{own}.{n}", weight[None]) for n, weight in enumerate(weights)]
            parts.append(self._graph.floats(f"{own}.bias", np.concatenate(biases)[None]))
            size = weights[1].shape[1]
            hidden = self._graph.apply("LSTM", [hidden, *parts], own, hidden_size=size)
            hidden = self._graph.apply("Squeeze", [hidden, axis], f"{own}.out")
        total = self._graph.apply("Add", [hidden, start], f"{name}.sum")
        return self._graph.apply("Transpose", [total], f"{name}.out", perm=[1, 2, 0])

    def _gates(self, name: str) -> Floats:
        first, forget, cell, last = np.split(self._checkpoint.get(name), 4)
        return np.concatenate([first, last, forget, cell])

    def _weights(self, name: str, weight: Floats, bias: Floats) -> list[str]:
        return [self._graph.floats(f"{name}.weight", weight), self._graph.floats(f"{name}.bias", bias)]
