"""Bark's transformers as an exporter leaves them: attention of plain operators, keys and values concatenated at every
step. What fused attention with one shared buffer is compared with; all else is as in the graphs that ship.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray
from onnx import TensorProto

from koegumi.voices.bark import coarse, semantic
from koegumi.voices.bark.checkpoint import Checkpoint
from koegumi.voices.bark.engine import Engine
from koegumi.voices.bark.models import Models, graph_path
from koegumi.voices.bark.nodes import GraphWriter, Precision
from koegumi.voices.bark.prepare import COARSE, FINE, SEMANTIC
from koegumi.voices.bark.shape import Shape, Stack
from koegumi.voices.bark.stack import FIRST, HEAD, HIDDEN, LAST, LOGITS, Block, Tensors, heads_of_fine, keys, values

_UNSEEN = -60000.0  # fits into half precision
MASK = "mask"  # [time, all positions]: 0, or a large negative number where a position must not be seen

Floats = NDArray[np.float32]


def write_naive(checkpoint: Checkpoint, shape: Shape, folder: Path, precision: Precision) -> None:
    heads = heads_of_fine(checkpoint, shape.fine, FINE, shape.fine_numbers.codebooks, shape.codebook)
    with GraphWriter(graph_path(folder, "semantic", precision), precision) as graph:
        rows = semantic.head_rows(shape.semantic_numbers)
        write_causal(graph, checkpoint, shape.semantic, SEMANTIC, rows)
    with GraphWriter(graph_path(folder, "fine", precision), precision) as graph:
        write_fine(graph, checkpoint, shape.fine, FINE, heads)
    with GraphWriter(graph_path(folder, "coarse", precision), precision) as graph:
        write_causal(graph, checkpoint, shape.coarse, COARSE, coarse.head_rows(shape))


def write_causal(graph: GraphWriter, tensors: Tensors, stack: Stack, prefix: str, rows: slice | list[int]) -> None:
    """hidden [batch, time, size] -> logits [batch, rows] of the last position."""
    graph.input(HIDDEN, graph.float_type, ["batch", "time", stack.hidden])
    graph.input(MASK, graph.float_type, ["time", "all"])
    hidden = HIDDEN
    for layer in range(stack.layers):
        block = Block(graph, tensors, stack, prefix, layer)
        query, key, value = _parts(block, block.norm(hidden, "layernorm_1"))
        grown = []
        for part, new in ((keys, key), (values, value)):
            past, present = part(layer, "past"), part(layer, "present")
            graph.input(past, graph.float_type, ["batch", stack.heads, "past", stack.head_size])
            graph.node("Concat", [past, new], [present], axis=2)
            graph.output(present, graph.float_type, ["batch", stack.heads, "all", stack.head_size])
            grown.append(present)
        hidden = block.after_attention(hidden, _attended(block, query, grown[0], grown[1], MASK))
    hidden = _final_norm(graph, tensors, stack, prefix, hidden)
    last = graph.apply("Gather", [hidden, graph.constant("end", np.array([-1]))], "last_hidden", axis=1)
    last = graph.apply("Squeeze", [last, graph.constant("axis_of_time", np.array([1]))], "last")
    head = tensors.get(f"{prefix}.lm_head.weight", (stack.outputs, stack.hidden))[rows]
    _finish(graph, graph.linear(last, head.T, None, "head"), ["batch", len(head)])


def write_fine(graph: GraphWriter, tensors: Tensors, stack: Stack, prefix: str, heads: Floats) -> None:
    """hidden [batch, time, size] -> logits [batch, last - first, codebook] by head number `head`."""
    hidden = graph.input(HIDDEN, graph.float_type, ["batch", "time", stack.hidden])
    for name in (FIRST, LAST, HEAD):
        graph.input(name, TensorProto.INT64, [1])
    for layer in range(stack.layers):
        block = Block(graph, tensors, stack, prefix, layer)
        query, key, value = _parts(block, block.norm(hidden, "layernorm_1"))
        hidden = block.after_attention(hidden, _attended(block, query, key, value, None))
    hidden = _final_norm(graph, tensors, stack, prefix, hidden)
    head = graph.apply("Gather", [graph.floats("heads", heads), HEAD], "one_head", axis=0)
    logits = graph.apply("MatMul", [hidden, head], "head_logits")
    wanted = graph.apply("Slice", [logits, FIRST, LAST, graph.constant("axis_of_time", np.array([1]))], "wanted")
    _finish(graph, wanted, ["batch", "wanted", heads.shape[2]])


def write_products(path: Path, stack: Stack) -> None:
    """The layers' weights and the products with them, one after another: [positions, size] -> the same."""
    source = np.random.default_rng(1)

    def product(hidden: str, name: str, inputs: int, outputs: int) -> str:
        weight = source.standard_normal((inputs, outputs), np.float32) / math.sqrt(inputs)  # else it fades to denormals
        return graph.linear(hidden, weight, None, name)

    with GraphWriter(path, "fp32") as graph:
        size = stack.hidden
        hidden = graph.input(HIDDEN, graph.float_type, ["positions", size])
        for layer in range(stack.layers):
            packed = [f"{layer}.query", f"{layer}.key", f"{layer}.value"]
            graph.node("Split", [product(hidden, f"{layer}.packed", size, 3 * size)], packed, num_outputs=3, axis=-1)
            attended = product(graph.apply("Sum", packed, f"{layer}.sum"), f"{layer}.attended", size, size)
            hidden = product(product(attended, f"{layer}.in", size, 4 * size), f"{layer}.out", 4 * size, size)
        graph.output(hidden, graph.float_type, ["positions", size])
        graph.finish()


def _parts(block: Block, normal: str) -> list[str]:
    """Query, key and value [batch, heads, time, size of a head]."""
    graph, stack = block.graph, block.stack
    packed = block.linear(normal, "attn.att_proj", 3 * stack.hidden, stack.hidden)
    names = [block.name(name) for name in ("query", "key", "value")]
    graph.node("Split", [packed], names, num_outputs=3, axis=-1)
    by_heads = graph.constant("by_heads", np.array([0, 0, stack.heads, stack.head_size]))
    split = [graph.apply("Reshape", [name, by_heads], f"{name}.split") for name in names]
    return [graph.apply("Transpose", [name], f"{name}.heads", perm=[0, 2, 1, 3]) for name in split]


def _attended(block: Block, query: str, key: str, value: str, mask: str | None) -> str:
    graph, stack, name = block.graph, block.stack, block.name
    scale = graph.floats("scale", np.array(1 / math.sqrt(stack.head_size)))
    turned = graph.apply("Transpose", [key], name("key.turned"), perm=[0, 1, 3, 2])
    scores = graph.apply("Mul", [graph.apply("MatMul", [query, turned], name("products")), scale], name("scores"))
    if mask is not None:
        scores = graph.apply("Add", [scores, mask], name("masked"))
    mixed = graph.apply("MatMul", [graph.apply("Softmax", [scores], name("shares"), axis=-1), value], name("mixed"))
    back = graph.apply("Transpose", [mixed], name("mixed.back"), perm=[0, 2, 1, 3])
    joined = graph.constant("joined", np.array([0, 0, stack.hidden]))
    return graph.apply("Reshape", [back, joined], name("attended_heads"))


def _final_norm(graph: GraphWriter, tensors: Tensors, stack: Stack, prefix: str, hidden: str) -> str:
    name, size = f"{prefix}.layernorm_final", (stack.hidden,)
    return graph.normalise(hidden, tensors.get(f"{name}.weight", size), tensors.find(f"{name}.bias", size), name)


def _finish(graph: GraphWriter, logits: str, shape: list[str | int]) -> None:
    graph.node("Cast", [logits], [LOGITS], to=TensorProto.FLOAT)
    graph.output(LOGITS, TensorProto.FLOAT, shape)
    graph.finish()


class NaiveCausal:
    """Rows of the same length and age only: prompts one by one, then tokens of all. Each step's keys and values are
    the next step's input as they are, without a copy outside of the graph."""

    def __init__(self, session: ort.InferenceSession, stack: Stack, device: str) -> None:
        self._session, self._stack, self._device = session, stack, device
        self._kind: np.dtype[Any] = np.dtype(np.float16 if "float16" in session.get_inputs()[0].type else np.float32)
        names = [(part, layer) for layer in range(stack.layers) for part in (keys, values)]
        self._past = [part(layer, "past") for part, layer in names]
        self._present = [part(layer, "present") for part, layer in names]
        self._prompts: list[list[Any]] = []
        self._state: list[Any] = []

    def run(self, place: int, hidden: Floats, lengths: NDArray[np.int64]) -> Floats:
        """See `batch.CausalModel`."""
        assert lengths.min() == lengths.max(), "the naive graph has no rows of different lengths"
        if hidden.shape[1] == int(lengths[0]):  # a prompt
            logits, grown = self._grow(hidden, self.nothing(1, 0), 0)
            self._prompts = [*self._prompts[:place], grown]
            self._state = []
            return logits
        if not self._state:
            self._state = self._joined()
        logits, self._state = self._grow(hidden, self._state, int(lengths[0]) - hidden.shape[1])
        return logits

    def move(self, source: int, target: int, length: int) -> bool:
        return False

    def rest(self) -> None:
        self._prompts, self._state = [], []

    def nothing(self, rows: int, length: int) -> list[Any]:
        """Keys and values of so many rows and positions, all 0."""
        shape = (rows, self._stack.heads, length, self._stack.head_size)
        return [self._value(np.zeros(shape, self._kind)) for _ in self._past]

    def _value(self, array: NDArray[Any]) -> Any:
        device = self._device if array.size else "cpu"  # a GPU has no place for nothing
        return ort.OrtValue.ortvalue_from_numpy(array, device, 0)

    def _joined(self) -> list[Any]:
        if len(self._prompts) == 1:
            return self._prompts[0]
        return [
            self._value(np.concatenate([one.numpy() for one in parts])) for parts in zip(*self._prompts, strict=True)
        ]

    def _grow(self, hidden: Floats, past: list[Any], before: int) -> tuple[Floats, list[Any]]:
        time = hidden.shape[1]
        mask = np.triu(np.full((time, before + time), _UNSEEN, self._kind), before + 1)
        binding = self._session.io_binding()
        binding.bind_cpu_input(HIDDEN, np.ascontiguousarray(hidden, self._kind))
        binding.bind_cpu_input(MASK, mask)
        for name, value in zip(self._past, past, strict=True):
            binding.bind_ortvalue_input(name, value)
        binding.bind_output(LOGITS, "cpu")
        for name in self._present:
            binding.bind_output(name, self._device)
        self._session.run_with_iobinding(binding)
        logits, *grown = binding.get_outputs()  # in the order of binding
        return logits.numpy(), grown


class NaiveModels(Models):
    def _make(self, stage: str, session: ort.InferenceSession) -> Any:
        if stage in ("semantic", "coarse"):
            return NaiveCausal(session, getattr(self.shape, stage), self._device.kind)
        return super()._make(stage, session)


class NaiveEngine(Engine):
    models = NaiveModels
