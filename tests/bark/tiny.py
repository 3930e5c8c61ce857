"""Tiny Bark checkpoints with random weights, made with numpy alone: the same bytes for the same seed everywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

# Everything small, and no two numbers the same, so that none can stand for another unnoticed.
SMALL_NUMBERS: dict[str, Any] = {
    "semantic_config": {
        "eos_token_id": 90,
        "semantic_vocab_size": 90,
        "text_encoding_offset": 97,
        "text_pad_token": 193,
        "semantic_infer_token": 197,
        "max_input_semantic_length": 24,
        "max_new_tokens": 70,
        "semantic_rate_hz": 49.9,
    },
    "coarse_acoustics_config": {
        "coarse_semantic_pad_token": 155,
        "coarse_infer_token": 157,
        "max_coarse_input_length": 26,
        "max_coarse_history": 63,
        "sliding_window_len": 12,
    },
    "fine_acoustics_config": {"max_fine_history_length": 32, "max_fine_input_length": 64},
    "codebook_size": 32,
}
# Bark's own are the default of both sides.
FULL_NUMBERS: dict[str, Any] = {
    "semantic_config": {"eos_token_id": 10000},
    "coarse_acoustics_config": {"n_coarse_codebooks": 2},
    "fine_acoustics_config": {"n_fine_codebooks": 8},
    "codebook_size": 1024,
}
# (input vocabulary, output vocabulary, positions) of semantic, coarse and fine.
SMALL_SIZES = ((200, 93, 128), (160, 160, 128), (35, 35, 64))
FULL_SIZES = ((129600, 10048, 1024), (12096, 12096, 1024), (1056, 1056, 1024))


@dataclass(frozen=True)
class Tiny:
    seed: int = 0
    full_numbers: bool = False  # Bark's own vocabularies and windows, with layers as tiny as ever
    bias: bool = False
    layers: int = 2
    heads: int = 2
    hidden: int = 32
    spread: float = 0.25  # near-uniform logits make the likeliest token a matter of rounding
    likely_end: float = 1.0  # factor on the end's row of the head
    old_names: bool = False  # weight norm as weight_g and weight_v
    stored_heads: bool = False  # the fine model's tied heads, a second time
    codec_hidden: int = 8
    codec_filters: int = 2


def write_tiny(folder: Path, tiny: Tiny) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(_config(tiny), indent=1))
    numbers = FULL_NUMBERS if tiny.full_numbers else SMALL_NUMBERS
    (folder / "generation_config.json").write_text(json.dumps({"model_type": "bark", **numbers}, indent=1))
    write_safetensors(folder / "model.safetensors", dict(tensors(tiny)))
    return folder


def write_safetensors(path: Path, values: dict[str, Floats]) -> None:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    place = 0
    for name, value in values.items():
        offsets = [place, place + value.nbytes]
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": offsets}
        place += value.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for value in values.values():
            file.write(np.ascontiguousarray(value).data)


def tensors(tiny: Tiny) -> Iterator[tuple[str, Floats]]:
    """By BarkModel's names."""
    source = np.random.default_rng(tiny.seed)

    def draw(*shape: int) -> Floats:
        return source.standard_normal(shape, dtype=np.float32) * np.float32(tiny.spread)

    sizes = FULL_SIZES if tiny.full_numbers else SMALL_SIZES
    end = 10000 if tiny.full_numbers else 90
    for prefix, (inputs, outputs, positions) in zip(("semantic", "coarse_acoustics"), sizes, strict=False):
        yield f"{prefix}.input_embeds_layer.weight", draw(inputs, tiny.hidden)
        head = draw(outputs, tiny.hidden)
        if prefix == "semantic":
            head[end] *= tiny.likely_end
        yield f"{prefix}.lm_head.weight", head
        yield from _layers(prefix, tiny, positions, tiny.bias, draw)
    inputs, outputs, positions = sizes[2]
    tables = [draw(inputs, tiny.hidden) for _ in range(8)]
    for number, table in enumerate(tables):
        yield f"fine_acoustics.input_embeds_layers.{number}.weight", table
        if number and tiny.stored_heads:
            yield f"fine_acoustics.lm_heads.{number - 1}.weight", table
    yield from _layers("fine_acoustics", tiny, positions, True, draw)
    yield from _codec(tiny, draw)


def _layers(prefix: str, tiny: Tiny, positions: int, norm_bias: bool, draw: Any) -> Iterator[tuple[str, Floats]]:
    size = tiny.hidden
    yield f"{prefix}.position_embeds_layer.weight", draw(positions, size)
    norms = [f"layers.{layer}.layernorm_{n}" for layer in range(tiny.layers) for n in (1, 2)] + ["layernorm_final"]
    for name in norms:
        yield f"{prefix}.{name}.weight", 1 + draw(size)
        if norm_bias:
            yield f"{prefix}.{name}.bias", draw(size)
    parts = {"attn.att_proj": (3, 1), "attn.out_proj": (1, 1), "mlp.in_proj": (4, 1), "mlp.out_proj": (1, 4)}
    for layer in range(tiny.layers):
        for part, (outputs, inputs) in parts.items():
            yield f"{prefix}.layers.{layer}.{part}.weight", draw(outputs * size, inputs * size)
            if tiny.bias:
                yield f"{prefix}.layers.{layer}.{part}.bias", draw(outputs * size)


def _codec(tiny: Tiny, draw: Any) -> Iterator[tuple[str, Floats]]:
    prefix, filters, hidden = "codec_model.decoder.layers", tiny.codec_filters, tiny.codec_hidden
    codebook = 1024 if tiny.full_numbers else 32
    for number in range(32 if tiny.full_numbers else 8):
        yield f"codec_model.quantizer.layers.{number}.codebook.embed", 4 * draw(codebook, hidden)
    names = ("weight_g", "weight_v") if tiny.old_names else tuple(f"parametrizations.weight.original{n}" for n in "01")

    def convolution(layer: str, first: int, second: int, kernel: int, bias: int) -> Iterator[tuple[str, Floats]]:
        yield f"{prefix}.{layer}.conv.{names[0]}", 1 + draw(first, 1, 1)
        yield f"{prefix}.{layer}.conv.{names[1]}", draw(first, second, kernel)
        yield f"{prefix}.{layer}.conv.bias", draw(bias)

    width = 16 * filters
    yield from convolution("0", width, hidden, 7, width)
    for number in range(2):
        for part, shape in (("weight_ih", (4 * width, width)), ("weight_hh", (4 * width, width))):
            yield f"{prefix}.1.lstm.{part}_l{number}", draw(*shape)
        for part in ("bias_ih", "bias_hh"):
            yield f"{prefix}.1.lstm.{part}_l{number}", draw(4 * width)
    layer = 3
    for ratio in (8, 5, 4, 2):
        yield from convolution(str(layer), width, width // 2, 2 * ratio, width // 2)
        width //= 2
        yield from convolution(f"{layer + 1}.block.1", width // 2, width, 3, width // 2)
        yield from convolution(f"{layer + 1}.block.3", width, width // 2, 1, width)
        yield from convolution(f"{layer + 1}.shortcut", width, width, 1, width)
        layer += 3
    yield from convolution(str(layer), 1, width, 7, 1)


def _config(tiny: Tiny) -> dict[str, Any]:
    sizes = FULL_SIZES if tiny.full_numbers else SMALL_SIZES
    common = {"num_layers": tiny.layers, "num_heads": tiny.heads, "hidden_size": tiny.hidden, "bias": tiny.bias}
    stacks = [
        {**common, "input_vocab_size": inputs, "output_vocab_size": outputs, "block_size": positions}
        for inputs, outputs, positions in sizes
    ]
    codec = {
        "model_type": "encodec",
        "hidden_size": tiny.codec_hidden,
        "num_filters": tiny.codec_filters,
        "codebook_dim": tiny.codec_hidden,
        "codebook_size": 1024 if tiny.full_numbers else 32,
    }
    if not tiny.full_numbers:
        codec["target_bandwidths"] = [3.0]  # 8 codebooks of 5 bits at 75 Hz
    return {
        "model_type": "bark",
        "architectures": ["BarkModel"],
        "initializer_range": tiny.spread,
        "semantic_config": {"model_type": "semantic", **stacks[0]},
        "coarse_acoustics_config": {"model_type": "coarse_acoustics", **stacks[1]},
        "fine_acoustics_config": {"model_type": "fine_acoustics", **stacks[2], "n_codes_total": 8, "n_codes_given": 1},
        "codec_config": codec,
    }
