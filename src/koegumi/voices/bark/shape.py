"""The numbers of a checkpoint: config.json and generation_config.json, with Bark's own values where they are silent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar


@dataclass(frozen=True)
class Stack:
    """One transformer. `vocabulary` counts its input tokens, `outputs` the rows of its head."""

    layers: int = 12
    heads: int = 12
    hidden: int = 768
    positions: int = 1024
    vocabulary: int = 10048
    outputs: int = 10048
    codebooks_given: int = 1

    @property
    def head_size(self) -> int:
        return self.hidden // self.heads


@dataclass(frozen=True)
class Codec:
    """EnCodec's decoder."""

    hidden: int = 128
    filters: int = 32
    ratios: tuple[int, ...] = (8, 5, 4, 2)
    residual_layers: int = 1
    kernel: int = 7
    last_kernel: int = 7
    residual_kernel: int = 3
    dilation_growth: int = 2
    compress: int = 2
    lstm_layers: int = 2


@dataclass(frozen=True)
class SemanticNumbers:
    end: int = 10000
    vocabulary: int = 10000
    text_offset: int = 10048
    text_pad: int = 129595
    infer: int = 129599
    most_text: int = 256
    most_tokens: int = 768
    rate: float = 49.9


@dataclass(frozen=True)
class CoarseNumbers:
    semantic_pad: int = 12048
    infer: int = 12050
    rate: float = 75
    codebooks: int = 2
    most_semantic: int = 256
    most_history: int = 630
    window: int = 60


@dataclass(frozen=True)
class FineNumbers:
    most_history: int = 512
    window: int = 1024
    codebooks: int = 8


@dataclass(frozen=True)
class Shape:
    semantic: Stack = field(default_factory=lambda: Stack(vocabulary=129600))
    coarse: Stack = field(default_factory=lambda: Stack(vocabulary=12096, outputs=12096))
    fine: Stack = field(default_factory=lambda: Stack(vocabulary=1056, outputs=1056))
    codec: Codec = Codec()
    semantic_numbers: SemanticNumbers = SemanticNumbers()
    coarse_numbers: CoarseNumbers = CoarseNumbers()
    fine_numbers: FineNumbers = FineNumbers()
    codebook: int = 1024

    @property
    def ratio(self) -> float:
        """Coarse tokens for a semantic token."""
        return self.coarse_numbers.rate / self.semantic_numbers.rate * self.coarse_numbers.codebooks

    @property
    def hop(self) -> int:
        """Samples for a frame."""
        samples = 1
        for ratio in self.codec.ratios:
            samples *= ratio
        return samples

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")

    @staticmethod
    def load(path: Path) -> Shape:
        """What `save` wrote."""
        value = json.loads(path.read_text(encoding="utf-8"))
        value["codec"]["ratios"] = tuple(value["codec"]["ratios"])
        kinds = {"semantic": Stack, "coarse": Stack, "fine": Stack, "codec": Codec}
        kinds |= {"semantic_numbers": SemanticNumbers, "coarse_numbers": CoarseNumbers, "fine_numbers": FineNumbers}
        parts = {name: kind(**value[name]) for name, kind in kinds.items()}
        return Shape(**parts, codebook=value["codebook"])


_STACK = {
    "layers": "num_layers",
    "heads": "num_heads",
    "hidden": "hidden_size",
    "positions": "block_size",
    "vocabulary": "input_vocab_size",
    "outputs": "output_vocab_size",
    "codebooks_given": "n_codes_given",
}
_CODEC = {
    "hidden": "hidden_size",
    "filters": "num_filters",
    "ratios": "upsampling_ratios",
    "residual_layers": "num_residual_layers",
    "kernel": "kernel_size",
    "last_kernel": "last_kernel_size",
    "residual_kernel": "residual_kernel_size",
    "dilation_growth": "dilation_growth_rate",
    "compress": "compress",
    "lstm_layers": "num_lstm_layers",
}
_SEMANTIC = {
    "end": "eos_token_id",
    "vocabulary": "semantic_vocab_size",
    "text_offset": "text_encoding_offset",
    "text_pad": "text_pad_token",
    "infer": "semantic_infer_token",
    "most_text": "max_input_semantic_length",
    "most_tokens": "max_new_tokens",
    "rate": "semantic_rate_hz",
}
_COARSE = {
    "semantic_pad": "coarse_semantic_pad_token",
    "infer": "coarse_infer_token",
    "rate": "coarse_rate_hz",
    "codebooks": "n_coarse_codebooks",
    "most_semantic": "max_coarse_input_length",
    "most_history": "max_coarse_history",
    "window": "sliding_window_len",
}
_FINE = {"most_history": "max_fine_history_length", "window": "max_fine_input_length", "codebooks": "n_fine_codebooks"}
# What the graphs are built for; a checkpoint that says otherwise is refused.
_CODEC_MUST = {
    "norm_type": "weight_norm",
    "use_causal_conv": True,
    "pad_mode": "reflect",
    "trim_right_ratio": 1.0,
    "audio_channels": 1,
    "use_conv_shortcut": True,
}

Kind = TypeVar("Kind")


def read_shape(folder: Path) -> Shape:
    """From a folder in the hub's layout. Raises FileNotFoundError without config.json, ValueError where it is not
    Bark's or asks for what is not built here."""
    config = _json(folder / "config.json")
    if config is None:
        raise FileNotFoundError(f"{folder} has no config.json: it is not the folder of a Bark checkpoint")
    if config.get("model_type", "bark") != "bark":
        raise ValueError(f"{folder / 'config.json'} is of a {config['model_type']} model, not of Bark")
    generation = _json(folder / "generation_config.json") or {}
    codec = _part(config, "codec_config")
    for key, value in _CODEC_MUST.items():
        if codec.get(key, value) != value:
            raise ValueError(f"config.json: codec_config.{key} is {codec[key]!r}, only {value!r} can be built")
    default = Shape()
    return Shape(
        semantic=_read(default.semantic, _STACK, _part(config, "semantic_config")),
        coarse=_read(default.coarse, _STACK, _part(config, "coarse_acoustics_config")),
        fine=_read(default.fine, _STACK, _part(config, "fine_acoustics_config")),
        codec=_read(default.codec, _CODEC, codec),
        semantic_numbers=_read(default.semantic_numbers, _SEMANTIC, _part(generation, "semantic_config")),
        coarse_numbers=_read(default.coarse_numbers, _COARSE, _part(generation, "coarse_acoustics_config")),
        fine_numbers=_read(default.fine_numbers, _FINE, _part(generation, "fine_acoustics_config")),
        codebook=int(generation.get("codebook_size") or default.codebook),
    )


def _json(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{path} is no JSON object")
    return value


def _part(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = value.get(name) or {}
    if not isinstance(part, dict):
        raise ValueError(f"{name} is no JSON object")
    return part


def _read(default: Kind, names: Mapping[str, str], part: Mapping[str, Any]) -> Kind:
    """`default` with what `part` says; null is silence."""
    values: dict[str, Any] = {}
    for item in fields(default):  # type: ignore[arg-type]
        standing = getattr(default, item.name)
        given = part.get(names[item.name])
        values[item.name] = standing if given is None else _cast(standing, given, names[item.name])
    return type(default)(**values)


def _cast(standing: Any, given: Any, name: str) -> Any:
    try:
        return tuple(int(one) for one in given) if isinstance(standing, tuple) else type(standing)(given)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {given!r}, which is no number") from None
