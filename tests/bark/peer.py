"""Runs in the environment that has transformers and torch: reads cases, writes what BarkModel makes of them.

`python peer.py FOLDER`: FOLDER/cases.json names checkpoints, rows and settings; each case becomes FOLDER/NAME.npz.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import BarkModel
from transformers.generation.logits_process import (
    AlternatingCodebooksLogitsProcessor,
    BarkEosPrioritizerLogitsProcessor,
    SuppressTokensLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)
from transformers.utils import logging

STAGES = {"semantic": "semantic", "coarse": "coarse_acoustics", "fine": "fine_acoustics"}


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    work = json.loads((folder / "cases.json").read_text())
    models: dict[str, Any] = {}
    for case in work["cases"]:
        if case["checkpoint"] not in models:
            models[case["checkpoint"]] = BarkModel.from_pretrained(case["checkpoint"]).eval()
        np.savez(folder / f"{case['name']}.npz", **run(models[case["checkpoint"]], case))
    if "processors" in work:
        np.savez(folder / "processors.npz", **processed(work["processors"], np.load(folder / "logits.npy")))


def run(model: Any, case: dict[str, Any]) -> dict[str, Any]:
    """The batch as it is, then every row alone: in a batch the fine model hears what stands behind shorter rows."""
    together = generate(model, case, case["rows"])
    result = {f"batch.{name}": value for name, value in together.items()}
    for number, row in enumerate(case["rows"]):
        alone = generate(model, case, [row]) if len(case["rows"]) > 1 else together
        result |= {f"{number}.{name}": value[0] for name, value in alone.items()}
    return result


def generate(model: Any, case: dict[str, Any], rows: list[list[int]]) -> dict[str, Any]:
    width = model.generation_config.semantic_config
    width = (width if isinstance(width, dict) else width.to_dict()).get("max_input_semantic_length", 256)
    ids, mask = np.zeros((len(rows), width), np.int64), np.zeros((len(rows), width), np.int64)
    for number, row in enumerate(rows):
        ids[number, : len(row)], mask[number, : len(row)] = row[:width], 1
    settings = dict(case["settings"])
    if case["preset"]:
        preset = np.load(case["preset"])
        settings["history_prompt"] = {name: torch.from_numpy(preset[name]) for name in preset.files}
    kept: dict[str, Any] = {}
    originals = {stage: getattr(model, attribute).generate for stage, attribute in STAGES.items()}
    for stage, attribute in STAGES.items():
        getattr(model, attribute).generate = keeping(kept, stage, originals[stage])
    try:
        wave = model.generate(torch.from_numpy(ids), attention_mask=torch.from_numpy(mask), do_sample=False, **settings)
    finally:
        for attribute in STAGES.values():
            del getattr(model, attribute).generate
    return {**kept, "wave": wave.numpy()}


def keeping(kept: dict[str, Any], stage: str, generate: Any) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        result = generate(*args, **kwargs)
        kept[stage] = result.clone().numpy()
        return result

    return call


def processed(settings: list[dict[str, Any]], logits: np.ndarray) -> dict[str, Any]:
    """Probabilities [rows, vocabulary] by transformers' processors in the order of its generate."""
    scores = torch.from_numpy(logits)
    result = {}
    for number, one in enumerate(settings):
        chain: list[Any] = []
        if one["stage"] == "semantic":
            chain.append(SuppressTokensLogitsProcessor(list(range(10001, scores.shape[1]))))
            chain.append(BarkEosPrioritizerLogitsProcessor(10000, one["min_eos_p"]))
        else:
            chain.append(AlternatingCodebooksLogitsProcessor(5, 10000, 1024))
        chain.append(TemperatureLogitsWarper(one["temperature"]))
        if one["top_k"]:
            chain.append(TopKLogitsWarper(one["top_k"]))
        if one["top_p"]:
            chain.append(TopPLogitsWarper(one["top_p"]))
        ids, values = torch.zeros((len(scores), 5 + one["step"]), dtype=torch.long), scores.clone()
        for step in chain:
            values = step(ids, values)
        result[str(number)] = torch.softmax(values, dim=-1).numpy()
    return result


if __name__ == "__main__":
    main(Path(sys.argv[1]))
