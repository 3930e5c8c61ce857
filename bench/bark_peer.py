"""transformers' Bark, as `bench.bark_worker speak`: `python bark_peer.py JSON`, in the environment that has it.

Nothing of ours is imported: that environment has neither us nor what we need.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import torch
from transformers import BarkModel
from transformers.utils import logging


def main(task: dict[str, Any]) -> dict[str, Any]:
    torch.set_num_threads(task["threads"])
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    if task["do"] == "nothing":
        return {"megabytes": peak()}
    model = BarkModel.from_pretrained(task["checkpoint"]).eval()
    torch.manual_seed(1)
    speak(model, 1, 2)
    started = time.process_time()
    wave = speak(model, task["rows"], task["tokens"])
    taken = time.process_time() - started
    attention = model.semantic.config._attn_implementation
    return {"taken": taken, "megabytes": peak(), "seconds": wave.numel() / 24000, "attention": attention}


def speak(model: Any, rows: int, tokens: int) -> Any:
    """[rows, samples]."""
    ids, mask = torch.zeros((rows, 256), dtype=torch.long), torch.zeros((rows, 256), dtype=torch.long)
    ids[:, :24], mask[:, :24] = torch.arange(1000, 1024), 1
    with torch.inference_mode():
        return model.generate(
            ids,
            attention_mask=mask,
            do_sample=True,
            semantic_temperature=0.7,
            semantic_max_new_tokens=tokens,
            semantic_min_new_tokens=tokens,
            coarse_temperature=0.7,
            fine_temperature=0.5,
        )


def peak() -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
