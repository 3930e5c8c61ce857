"""A tiny Bark with all that a server wants of it: words, presets, and a cache that it is prepared in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from koegumi.voices.bark import FAMILY
from koegumi.voices.interface import Places
from tests.bark.tiny import Tiny, write_tiny

WORDS = ("[UNK]", "[", "]", ".", ",", "!", "laughs", "hello", "world", "one", "two", "##s", "声", "。", "♪", "WHO")
PRESETS = ("v2/en_speaker_0", "v2/en_speaker_1", "v2/ja_speaker_3", "announcer")
# It ends its sentences early, so that it is quick.
TINY = Tiny(seed=3, layers=1, hidden=16, likely_end=4.0)


def write_model(folder: Path, presets: tuple[str, ...] = PRESETS) -> Path:
    """A folder in the hub's layout."""
    write_tiny(folder, TINY)
    (folder / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    for number, name in enumerate(presets):
        write_preset(folder, name, number)
    return folder


def prepare_model(folder: Path, presets: tuple[str, ...] = PRESETS) -> Path:
    """A cache with the model in it."""
    source, cache = write_model(folder / "model", presets), folder / "cache"
    FAMILY.prepare(Places(cache, (), {"bark": source}), "cpu", lambda step: None)
    return cache


def write_preset(folder: Path, name: str, seed: int, as_one: bool = False) -> None:
    """In one file, or in three."""
    chance = np.random.default_rng(seed)
    stem = folder / "speaker_embeddings" / name
    stem.parent.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Any] = {
        "semantic_prompt": chance.integers(90, size=12),
        "coarse_prompt": chance.integers(32, size=(2, 18)),
        "fine_prompt": chance.integers(32, size=(8, 18)),
    }
    if as_one:
        np.savez(stem.with_name(f"{stem.name}.npz"), **arrays)
    for part, array in {} if as_one else arrays.items():
        np.save(stem.with_name(f"{stem.name}_{part}.npy"), array)
