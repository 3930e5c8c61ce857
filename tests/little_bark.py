"""A Bark of a few thousand random numbers, in the hub's layout: it speaks in no time, and says nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from koegumi.voices.bark import FAMILY
from koegumi.voices.interface import Places

HIDDEN, LAYERS, HEADS, POSITIONS = 16, 1, 2, 96
SEMANTIC, CODEBOOK = 40, 16
TEXT_OFFSET, TEXTS = 48, 128
WORDS = ("[UNK]", "[", "]", ".", ",", "!", "laughs", "hello", "world", "one", "two", "##s", "声", "。", "♪", "WHO")
PRESETS = ("v2/en_speaker_0", "v2/en_speaker_1", "v2/ja_speaker_3", "announcer")
MOST_TOKENS = 24
_STACK = {"num_layers": LAYERS, "num_heads": HEADS, "hidden_size": HIDDEN, "block_size": POSITIONS, "bias": False}
_VOCABULARIES = {
    "semantic": (TEXT_OFFSET + TEXTS + 2, TEXT_OFFSET),
    "coarse_acoustics": (SEMANTIC + 2 * CODEBOOK + 2, SEMANTIC + 2 * CODEBOOK),
    "fine_acoustics": (CODEBOOK + 2, CODEBOOK + 2),
}
_CODEC = {"hidden_size": 8, "num_filters": 2}
_RATIOS = (8, 5, 4, 2)

Tensors = dict[str, NDArray[np.float32]]


def write_model(folder: Path, presets: tuple[str, ...] = PRESETS) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    _write_json(folder / "config.json", _config())
    _write_json(folder / "generation_config.json", _generation_config())
    (folder / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    chance = np.random.default_rng(0)
    write_safetensors(folder / "model.safetensors", {**_transformers(chance), **_codec(chance)})
    for number, name in enumerate(presets):
        write_preset(folder, name, number)
    return folder


def prepare_model(folder: Path, presets: tuple[str, ...] = PRESETS) -> Path:
    """A cache with the model in it."""
    source, cache = write_model(folder / "model", presets), folder / "cache"
    FAMILY.prepare(Places(cache, (), {"bark": source}), "cpu", lambda step: None)
    return cache


def write_preset(folder: Path, name: str, seed: int, as_one: bool = False) -> None:
    chance = np.random.default_rng(seed)
    stem = folder / "speaker_embeddings" / name
    stem.parent.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Any] = {
        "semantic_prompt": chance.integers(SEMANTIC, size=12),
        "coarse_prompt": chance.integers(CODEBOOK, size=(2, 18)),
        "fine_prompt": chance.integers(CODEBOOK, size=(8, 18)),
    }
    if as_one:
        np.savez(stem.with_name(f"{stem.name}.npz"), **arrays)
    for part, array in {} if as_one else arrays.items():
        np.save(stem.with_name(f"{stem.name}_{part}.npy"), array)


def write_safetensors(path: Path, tensors: Tensors) -> None:
    header, place = {}, 0
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": values.shape, "data_offsets": [place, place + values.nbytes]}
        place += values.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(each.tobytes() for each in tensors.values()))


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def _config() -> dict[str, Any]:
    parts: dict[str, Any] = {
        f"{name}_config": _STACK | {"input_vocab_size": inputs, "output_vocab_size": outputs}
        for name, (inputs, outputs) in _VOCABULARIES.items()
    }
    parts["fine_acoustics_config"] |= {"n_codes_given": 1, "n_codes_total": 8}
    return {"model_type": "bark", **parts, "codec_config": _CODEC | {"upsampling_ratios": _RATIOS}}


def _generation_config() -> dict[str, Any]:
    return {
        "codebook_size": CODEBOOK,
        "semantic_config": {
            "eos_token_id": SEMANTIC,
            "semantic_vocab_size": SEMANTIC,
            "text_encoding_offset": TEXT_OFFSET,
            "text_pad_token": TEXT_OFFSET + TEXTS,
            "semantic_infer_token": TEXT_OFFSET + TEXTS + 1,
            "max_input_semantic_length": 16,
            "max_new_tokens": MOST_TOKENS,
        },
        "coarse_acoustics_config": {
            "coarse_semantic_pad_token": SEMANTIC + 2 * CODEBOOK,
            "coarse_infer_token": SEMANTIC + 2 * CODEBOOK + 1,
            "max_coarse_input_length": 16,
            "max_coarse_history": 30,
            "sliding_window_len": 12,
        },
        "fine_acoustics_config": {"max_fine_history_length": 32, "max_fine_input_length": 64},
    }


def _transformers(chance: np.random.Generator) -> Tensors:
    tensors: Tensors = {}

    def add(name: str, *shape: int) -> None:
        tensors[name] = (0.25 * chance.standard_normal(shape)).astype(np.float32)

    for prefix, (inputs, outputs) in _VOCABULARIES.items():
        is_fine = prefix == "fine_acoustics"
        add(f"{prefix}.position_embeds_layer.weight", POSITIONS, HIDDEN)
        names = [f"{prefix}.layers.{layer}.layernorm_{number}" for layer in range(LAYERS) for number in (1, 2)]
        for name in [*names, f"{prefix}.layernorm_final"]:
            add(f"{name}.weight", HIDDEN)
            if is_fine:
                add(f"{name}.bias", HIDDEN)
        for layer in range(LAYERS):
            name = f"{prefix}.layers.{layer}"
            add(f"{name}.attn.att_proj.weight", 3 * HIDDEN, HIDDEN)
            add(f"{name}.attn.out_proj.weight", HIDDEN, HIDDEN)
            add(f"{name}.mlp.in_proj.weight", 4 * HIDDEN, HIDDEN)
            add(f"{name}.mlp.out_proj.weight", HIDDEN, 4 * HIDDEN)
        if is_fine:
            for number in range(8):
                add(f"{prefix}.input_embeds_layers.{number}.weight", inputs, HIDDEN)
            for number in range(7):
                add(f"{prefix}.lm_heads.{number}.weight", outputs, HIDDEN)
        else:
            add(f"{prefix}.input_embeds_layer.weight", inputs, HIDDEN)
            add(f"{prefix}.lm_head.weight", outputs, HIDDEN)
    return tensors


def _codec(chance: np.random.Generator) -> Tensors:
    tensors: Tensors = {}
    size, channels = _CODEC["hidden_size"], _CODEC["num_filters"] * 2 ** len(_RATIOS)
    decoder = "codec_model.decoder.layers"

    def add(name: str, *shape: int) -> None:
        tensors[name] = (0.25 * chance.standard_normal(shape)).astype(np.float32)

    def convolve(name: str, outputs: int, inputs: int, kernel: int) -> None:
        add(f"{name}.weight", outputs, inputs, kernel)
        add(f"{name}.bias", outputs)

    for number in range(8):
        add(f"codec_model.quantizer.layers.{number}.codebook.embed", CODEBOOK, size)
    convolve(f"{decoder}.0.conv", channels, size, 7)
    for layer in range(2):
        for part in ("ih", "hh"):
            add(f"{decoder}.1.lstm.weight_{part}_l{layer}", 4 * channels, channels)
            add(f"{decoder}.1.lstm.bias_{part}_l{layer}", 4 * channels)
    for number, ratio in enumerate(_RATIOS):
        layer, half = 3 + 3 * number, channels // 2
        add(f"{decoder}.{layer}.conv.weight", channels, half, 2 * ratio)
        add(f"{decoder}.{layer}.conv.bias", half)
        convolve(f"{decoder}.{layer + 1}.block.1.conv", half // 2, half, 3)
        convolve(f"{decoder}.{layer + 1}.block.3.conv", half, half // 2, 1)
        convolve(f"{decoder}.{layer + 1}.shortcut.conv", half, half, 1)
        channels = half
    convolve(f"{decoder}.15.conv", 1, channels, 7)
    return tensors
