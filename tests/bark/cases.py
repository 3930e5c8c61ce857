"""What is asked of BarkModel and of us: checkpoints, texts, voices."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from koegumi.voices.bark.rows import Preset
from tests.bark.speaking import random_preset
from tests.bark.tiny import Tiny, write_tiny

PLAIN = Tiny()
CHECKPOINTS = {
    "plain": PLAIN,
    "bias": Tiny(seed=1, bias=True, layers=3, likely_end=0.8),
    "old": Tiny(seed=2, old_names=True, stored_heads=True, heads=4),
    "endless": Tiny(seed=3, likely_end=0.0),
    "full": Tiny(seed=4, full_numbers=True, likely_end=1.1),
    "full-endless": Tiny(seed=5, full_numbers=True, likely_end=0.0),
}
SMALL_PRESETS = {"short": (11, 18), "long": (80, 120), "odd": (31, 40)}
FULL_PRESETS = {"short": (150, 226), "long": (300, 450)}
ROWS = [[1, 2, 3], [5, 6, 7, 8], [9], [4] * 30, [17, 3], [40, 41, 42, 43, 44, 45]]


@dataclass(frozen=True)
class Case:
    name: str
    checkpoint: str
    rows: list[list[int]]
    preset: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def min_eos_p(self) -> float | None:
        return self.settings.get("min_eos_p")

    @property
    def most_tokens(self) -> int | None:
        return self.settings.get("semantic_max_new_tokens")

    def voice(self) -> Preset | None:
        if self.preset is None:
            return None
        is_full = self.checkpoint.startswith("full")
        semantic, frames = (FULL_PRESETS if is_full else SMALL_PRESETS)[self.preset]
        return random_preset(len(self.preset), semantic, frames, *((10000, 1024) if is_full else (90, 32)))


CASES = [
    Case("one", "plain", ROWS[:1]),
    Case("two", "plain", ROWS[:2]),
    Case("three-end-early", "plain", ROWS[:3], settings={"min_eos_p": 0.06}),
    Case("four-ragged", "plain", ROWS[:4]),
    Case("five-bias", "bias", ROWS[:5], settings={"min_eos_p": 0.05}),
    Case("six-ragged-old-names", "old", ROWS, settings={"min_eos_p": 0.02}),
    Case("short-preset", "plain", ROWS[:3], "short"),
    Case("long-preset", "bias", ROWS[1:4], "long"),
    Case("odd-preset-long", "endless", ROWS[:2], "odd"),
    Case("long", "endless", ROWS[2:4]),
    Case("limited", "endless", ROWS[:2], settings={"semantic_max_new_tokens": 9}),
    Case("full-ragged", "full", ROWS[:4], settings={"min_eos_p": 0.0004, "semantic_max_new_tokens": 90}),
    Case("full-preset", "full", ROWS[:2], "long", {"semantic_max_new_tokens": 70}),
    Case("full-short-preset", "full-endless", ROWS[:1], "short", {"semantic_max_new_tokens": 150}),
    Case("full-longest", "full-endless", ROWS[3:4]),
]
# Kept for those who have no torch, of the sound every 16th sample.
KEPT_STEP = 16
KEPT = ["four-ragged", "three-end-early", "long-preset", "long"]

PROCESSORS = [
    {"stage": stage, "step": step, "min_eos_p": end, "temperature": temperature, "top_k": top_k, "top_p": top_p}
    for stage, step, end in (("semantic", 0, None), ("semantic", 0, 0.0005), ("coarse", 0, None), ("coarse", 1, None))
    for temperature, top_k, top_p in ((1.0, None, None), (0.7, None, None), (0.6, 50, None), (1.3, None, 0.9))
] + [{"stage": "semantic", "step": 0, "min_eos_p": 0.2, "temperature": 0.7, "top_k": 40, "top_p": 0.5}]


def write_checkpoints(folder: Path, names: set[str]) -> None:
    for name in names:
        write_tiny(folder / name, CHECKPOINTS[name])


def ask_peer(python: Path, folder: Path, cases: list[Case], logits: np.ndarray[Any, np.dtype[np.float32]]) -> None:
    """Write FOLDER/NAME.npz for each case and FOLDER/processors.npz; checkpoints stand in FOLDER."""
    asked = []
    for case in cases:
        voice, preset = case.voice(), folder / f"{case.name}-preset.npz"
        if voice is not None:
            np.savez(preset, semantic_prompt=voice.semantic, coarse_prompt=voice.coarse, fine_prompt=voice.fine)
        asked.append(
            {
                "name": case.name,
                "checkpoint": str(folder / case.checkpoint),
                "rows": case.rows,
                "preset": str(preset) if voice is not None else None,
                "settings": case.settings,
            }
        )
    np.save(folder / "logits.npy", logits)
    (folder / "cases.json").write_text(json.dumps({"cases": asked, "processors": PROCESSORS}))
    subprocess.run([python, Path(__file__).with_name("peer.py"), folder], check=True, stdin=subprocess.DEVNULL)
