"""Trains predict_duration and predict_intonation: `python -m models.build.train_prosody FILE OUT [--minutes M]`.

What is kept is best on the validation sentences; the test sentences are never read here.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import time
from collections.abc import Callable
from pathlib import Path

import torch
from models.build.predictors import UNVOICED, Durations, Intonation
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

SEED = 5
BATCH = 64
PEAK = 2e-3
DECAY = 0.995
MARKS = ("start", "end", "first", "last")
Row = dict[str, list[float]]


class Batch:
    """Rows of prosody.jsonl side by side, with the silence at both ends that the server adds."""

    def __init__(self, rows: list[Row]) -> None:
        def column(name: str, end: float, outside: float) -> Tensor:
            return pad_sequence([torch.tensor([end, *row[name], end]) for row in rows], True, outside)

        self.voice = torch.tensor([row["voice"] for row in rows])
        self.phonemes = column("phoneme", 0, 0).long()
        self.seconds = column("length", 0, 0)
        self.phoneme_mask = column("phoneme", 0, -1).ge(0).float()
        self.length_weight = column("length", 0, 0).gt(0).float()
        self.vowels = column("vowel", 0, 0).long()
        self.consonants = column("consonant", -1, -1).long()
        self.marks = torch.stack([column(name, 0, 0) for name in MARKS], 2)
        self.mora_mask = column("vowel", 0, -1).ge(0).float()
        self.pitch = column("pitch", 0, 0)
        self.voiced = (self.pitch > 0).float() * ~torch.isin(self.vowels, torch.tensor(UNVOICED))


def duration_loss(network: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    """What is learnt from, and the mean error in ms."""
    lengths = network(batch.phonemes, batch.voice, batch.phoneme_mask)
    seconds, weight = torch.exp(lengths), batch.length_weight
    wrong = ((seconds - batch.seconds).abs() * weight).sum() / weight.sum()
    relative = ((lengths - batch.seconds.clamp(min=0.01).log()).abs() * weight).sum() / weight.sum()
    speech = weight * (batch.phonemes > 0)
    total = ((seconds - batch.seconds) * speech).sum(1).abs() / (batch.seconds * speech).sum(1)
    return 10 * wrong + 0.2 * relative + 0.5 * total.mean(), 1000 * wrong


def intonation_loss(network: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    """What is learnt from, and the mean error in cents."""
    pitch = network(batch.vowels, batch.consonants, batch.marks, batch.voice, batch.mora_mask)
    wrong = (pitch - batch.pitch) * batch.voiced
    both = batch.voiced[:, 1:] * batch.voiced[:, :-1]
    step = ((wrong[:, 1:] - wrong[:, :-1]).abs() * both).sum() / both.sum()
    mean = wrong.abs().sum() / batch.voiced.sum()
    return mean + step, 1200 / 0.6931 * mean


def train(
    network: nn.Module,
    loss: Callable[[nn.Module, Batch], tuple[Tensor, Tensor]],
    rows: dict[str, list[Row]],
    minutes: float,
    steps: int,
    seed: int = SEED,
) -> dict[str, Tensor]:
    chance = random.Random(seed)  # noqa: S311
    optimizer = torch.optim.AdamW(network.parameters(), PEAK, weight_decay=0.05)
    validation = Batch(rows["validation"])
    mean = copy.deepcopy(network).eval()  # a running mean of the weights, which is what is kept
    best, kept = float("inf"), copy.deepcopy(mean.state_dict())
    started, step = time.monotonic(), 0
    while (progress := max((time.monotonic() - started) / (60 * minutes), step / steps)) < 1:
        for group in optimizer.param_groups:
            group["lr"] = PEAK * min(1, (step + 1) / 100) * max(0.01, 1 - progress)
        value, _ = loss(network, Batch(chance.sample(rows["train"], min(BATCH, len(rows["train"])))))
        optimizer.zero_grad()
        value.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        step += 1
        with torch.no_grad():
            for weight, now in zip(mean.parameters(), network.parameters(), strict=True):
                weight.lerp_(now, 1 - min(DECAY, step / (step + 20)))
        if step % 50 == 0:
            with torch.no_grad():
                value, shown = loss(mean, validation)
            if step % 200 == 0:
                print(f"{type(network).__name__} {step}: validation {shown:.2f} ms or cents", flush=True)
            if float(value) < best:
                best, kept = float(value), copy.deepcopy(mean.state_dict())
    return kept


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=4, help="for each of the networks")
    parser.add_argument("--steps", type=int, default=100_000)
    arguments = parser.parse_args()
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    rows: dict[str, list[Row]] = {"train": [], "validation": [], "test": []}
    for line in arguments.file.read_text("utf-8").splitlines():
        row = json.loads(line)
        rows[row["part"]].append(row)
    rows["test"].clear()
    minutes, steps = arguments.minutes, arguments.steps
    durations, intonation = Durations(), Intonation()
    for number, member in enumerate(durations.members):
        member.load_state_dict(train(member, duration_loss, rows, minutes, steps, SEED + number))
    with torch.no_grad():
        _, wrong = duration_loss(durations.eval(), Batch(rows["validation"]))
    print(f"their mean: validation {wrong:.2f} ms", flush=True)
    kept = train(intonation, intonation_loss, rows, minutes, steps)
    torch.save({"Durations": durations.state_dict(), "Intonation": kept}, arguments.out)


if __name__ == "__main__":
    main()
