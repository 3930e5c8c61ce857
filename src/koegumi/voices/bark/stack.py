"""The graph of a transformer: hidden states in, logits of the wanted positions out. Embeddings are the host's.

Causal: GroupQueryAttention on one buffer of keys and values that is input and output at once. Fine:
MultiHeadAttention over the whole window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from onnx import TensorProto

from koegumi.voices.bark.checkpoint import Checkpoint, Floats
from koegumi.voices.bark.nodes import CONTRIB, GraphWriter
from koegumi.voices.bark.shape import Stack

HIDDEN = "hidden"
LOGITS = "logits"
PAST_LENGTHS = "past_lengths"  # [batch] int32: all keys that a row has after this step, less one
TOTAL_LENGTH = "total_length"  # [1] int32: the most keys that a row has after this step
FIRST, LAST, HEAD = "first", "last", "head"


def keys(layer: int, when: str) -> str:
    return f"{when}.{layer}.key"


def values(layer: int, when: str) -> str:
    return f"{when}.{layer}.value"


class Tensors(Protocol):
    """Where weights come from."""

    def get(self, name: str, shape: tuple[int, ...] | None = None) -> Floats: ...

    def find(self, name: str, shape: tuple[int, ...] | None = None) -> Floats | None: ...


@dataclass(frozen=True)
class Block:
    """Reads one layer's tensors: linear weights are [outputs, inputs] in a checkpoint."""

    graph: GraphWriter
    tensors: Tensors
    stack: Stack
    prefix: str
    layer: int

    def name(self, part: str) -> str:
        return f"{self.prefix}.layers.{self.layer}.{part}"

    def norm(self, hidden: str, part: str) -> str:
        name, size = self.name(part), (self.stack.hidden,)
        weight, bias = self.tensors.get(f"{name}.weight", size), self.tensors.find(f"{name}.bias", size)
        return self.graph.normalise(hidden, weight, bias, name)

    def linear(self, hidden: str, part: str, outputs: int, inputs: int) -> str:
        name = self.name(part)
        weight = self.tensors.get(f"{name}.weight", (outputs, inputs))
        return self.graph.linear(hidden, weight.T, self.tensors.find(f"{name}.bias", (outputs,)), name)

    def projection(self, hidden: str, part: int, what: str) -> str:
        """Query (0), key (1) or value (2) of the packed projection."""
        size, name = self.stack.hidden, self.name("attn.att_proj")
        rows = slice(part * size, (part + 1) * size)
        weight = self.tensors.get(f"{name}.weight", (3 * size, size))[rows]
        bias = self.tensors.find(f"{name}.bias", (3 * size,))
        return self.graph.linear(hidden, weight.T, None if bias is None else bias[rows], self.name(what))

    def add(self, hidden: str, other: str, part: str) -> str:
        return self.graph.apply("Add", [hidden, other], self.name(part))

    def after_attention(self, hidden: str, attended: str) -> str:
        size = self.stack.hidden
        hidden = self.add(hidden, self.linear(attended, "attn.out_proj", size, size), "attended")
        inner = self.linear(self.norm(hidden, "layernorm_2"), "mlp.in_proj", 4 * size, size)
        active = self.graph.apply("Gelu", [inner], self.name("gelu"), CONTRIB)
        return self.add(hidden, self.linear(active, "mlp.out_proj", size, 4 * size), "done")


def write_causal(graph: GraphWriter, tensors: Tensors, stack: Stack, prefix: str, rows: slice | list[int]) -> None:
    """Semantic or coarse: hidden [batch, time, size] -> logits [batch, rows] of the last position.

    `rows` are the tokens that may come next; the others' logits are never computed.
    """
    cache: list[str | int] = ["batch", stack.heads, "room", stack.head_size]
    hidden = graph.input(HIDDEN, graph.float_type, ["batch", "time", stack.hidden])
    graph.input(PAST_LENGTHS, TensorProto.INT32, ["batch"])
    graph.input(TOTAL_LENGTH, TensorProto.INT32, [1])
    for layer in range(stack.layers):
        for part in (keys, values):
            graph.input(part(layer, "past"), graph.float_type, cache)
            graph.output(part(layer, "present"), graph.float_type, cache)
        block = Block(graph, tensors, stack, prefix, layer)
        packed = block.linear(block.norm(hidden, "layernorm_1"), "attn.att_proj", 3 * stack.hidden, stack.hidden)
        past = [keys(layer, "past"), values(layer, "past"), PAST_LENGTHS, TOTAL_LENGTH]
        attended = block.name("attention")
        graph.node(
            "GroupQueryAttention",
            [packed, "", "", *past],
            [attended, keys(layer, "present"), values(layer, "present")],
            CONTRIB,
            num_heads=stack.heads,
            kv_num_heads=stack.heads,
        )
        if layer == stack.layers - 1:  # what follows looks at one position at a time
            last = graph.constant("-1", np.array([-1])), graph.constant("end", np.array([np.iinfo(np.int64).max]))
            hidden = _slice(graph, hidden, *last, "last_hidden")
            attended = _slice(graph, attended, *last, "last_attended")
        hidden = block.after_attention(hidden, attended)
    hidden = _final_norm(graph, tensors, stack, prefix, hidden)
    hidden = graph.apply("Squeeze", [hidden, graph.constant("axis_of_time", np.array([1]))], "last")
    head = tensors.get(f"{prefix}.lm_head.weight", (stack.outputs, stack.hidden))[rows]
    _output(graph, graph.linear(hidden, head.T, None, "head"), ["batch", len(head)])


def write_fine(graph: GraphWriter, tensors: Tensors, stack: Stack, prefix: str, heads: Floats) -> None:
    """hidden [batch, time, size] -> logits [batch, last - first, codebook] by head number `head`.

    `heads` [number, size, codebook]. All positions are attended; from the last layer on only those asked for go on.
    """
    hidden = graph.input(HIDDEN, graph.float_type, ["batch", "time", stack.hidden])
    for name in (FIRST, LAST, HEAD):
        graph.input(name, TensorProto.INT64, [1])
    for layer in range(stack.layers):
        block = Block(graph, tensors, stack, prefix, layer)
        normal = block.norm(hidden, "layernorm_1")
        key, value = block.projection(normal, 1, "key"), block.projection(normal, 2, "value")
        if layer == stack.layers - 1:
            hidden = _slice(graph, hidden, FIRST, LAST, "wanted_hidden")
            normal = _slice(graph, normal, FIRST, LAST, "wanted_normal")
        parts = [block.projection(normal, 0, "query"), key, value]
        attended = graph.apply("MultiHeadAttention", parts, block.name("attention"), CONTRIB, num_heads=stack.heads)
        hidden = block.after_attention(hidden, attended)
    hidden = _final_norm(graph, tensors, stack, prefix, hidden)
    all_heads = graph.floats("heads", heads)
    head = graph.apply("Gather", [all_heads, HEAD], "one_head", axis=0)
    _output(graph, graph.apply("MatMul", [hidden, head], "head_logits"), ["batch", "wanted", heads.shape[2]])


def heads_of_fine(checkpoint: Checkpoint, stack: Stack, prefix: str, codebooks: int, codebook: int) -> Floats:
    """[heads, size, codebook]. Heads are tied to the embeddings of the next codebook, and then not always stored."""
    found = []
    for number in range(codebooks - stack.codebooks_given):
        name = f"{prefix}.lm_heads.{number}.weight"
        if name not in checkpoint:
            name = f"{prefix}.input_embeds_layers.{number + 1}.weight"
        found.append(checkpoint.get(name, (stack.outputs, stack.hidden))[:codebook].T)
    return np.stack(found)


def _final_norm(graph: GraphWriter, tensors: Tensors, stack: Stack, prefix: str, hidden: str) -> str:
    name, size = f"{prefix}.layernorm_final", (stack.hidden,)
    return graph.normalise(hidden, tensors.get(f"{name}.weight", size), tensors.find(f"{name}.bias", size), name)


def _slice(graph: GraphWriter, hidden: str, first: str, last: str, name: str) -> str:
    """Positions first to last, which are inputs or constants."""
    axis = graph.constant("axis_of_time", np.array([1]))
    return graph.apply("Slice", [hidden, first, last, axis], name)


def _output(graph: GraphWriter, logits: str, shape: list[str | int]) -> None:
    graph.node("Cast", [logits], [LOGITS], to=TensorProto.FLOAT)
    graph.output(LOGITS, TensorProto.FLOAT, shape)
