"""Bark of the small and the large shape with random weights: how long it takes does not depend on their values."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

from bench.bark_naive import write_naive
from koegumi.voices.bark.checkpoint import Checkpoint
from koegumi.voices.bark.nodes import Precision
from koegumi.voices.bark.prepare import prepare
from koegumi.voices.bark.shape import read_shape
from tests.bark.tiny import Tiny, write_tiny

# (layers, heads, size of a hidden state), as in suno/bark-small and suno/bark; EnCodec is the same for both.
SHAPES = {"small": (12, 12, 768), "large": (24, 16, 1024)}
_WEIGHTS = 0.02  # as wide as a model's weights are before it is trained


def checkpoint(folder: Path, shape: str) -> Path:
    """In the hub's layout, made once: 1.7 GB small, 5.4 GB large."""
    layers, heads, hidden = SHAPES[shape]
    target = folder / shape / "checkpoint"
    if not target.is_dir():
        tiny = Tiny(1, full_numbers=True, layers=layers, heads=heads, hidden=hidden, spread=_WEIGHTS)
        whole = replace(tiny, codec_hidden=128, codec_filters=32)
        unfinished = target.with_name("checkpoint.new")
        shutil.rmtree(unfinished, ignore_errors=True)
        write_tiny(unfinished, whole).rename(target)
    return target


def prepared(folder: Path, shape: str, precisions: tuple[Precision, ...]) -> Path:
    """What the engine opens, of the graphs that ship."""
    target = folder / shape / "fused"
    prepare(checkpoint(folder, shape), target, precisions, print)
    return target


def naive(folder: Path, shape: str, precision: Precision) -> Path:
    """The same, with the naive graphs in place of those with fused attention."""
    target = folder / shape / "naive"
    fused = prepared(folder, shape, (precision,))
    if not (target / f"coarse-{precision}.onnx").is_file():
        target.mkdir(parents=True, exist_ok=True)
        for file in fused.iterdir():
            if not file.name.startswith(("semantic-f", "coarse-f", "fine-f")) and not (target / file.name).exists():
                os.link(file, target / file.name)
        source = checkpoint(folder, shape)
        write_naive(Checkpoint(source), read_shape(source), target, precision)
    return target
