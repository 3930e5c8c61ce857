"""Trains the network of decode: `python -m models.build.train_decode FOLDER OUT [--minutes M]`.

The checkpoint that is kept is the best on the validation sentences; the test sentences are never read here.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import random
import time
from pathlib import Path

import numpy as np
import torch
from models.build.frames_data import FAINT_DB, SILENT_DB, VOWELS, Utterance, load
from models.build.network import POINTS, Acoustic, Pitch
from torch import Tensor, nn
from torch.nn import functional

SEED = 3
BATCH_FRAMES = 1500
PEAK = 2e-3
# Of the running mean of the weights, which is what is kept.
DECAY = 0.998
CEPSTRA = 24
STRETCHED = 0.35
HEALTHY_DB = -15.0


class Arrays:
    """One utterance, or several one after the other, as tensors."""

    def __init__(self, utterances: list[Utterance], chance: random.Random | None, pitch: Pitch) -> None:
        parts = [_indices(each, chance) for each in utterances]

        def joined(name: str) -> Tensor:
            rows = [getattr(each, name)[index] for each, index in zip(utterances, parts, strict=True)]
            return torch.from_numpy(np.concatenate(rows))

        self.ids = joined("labels")
        self.hertz = joined("pitch")
        self.height = pitch(self.hertz)
        self.voice = torch.cat(
            [torch.full((len(index),), each.voice) for each, index in zip(utterances, parts, strict=True)]
        )
        self.heard = (joined("hertz") > 0).float()
        self.target = torch.cat([joined("envelope"), joined("aperiodicity")], 1)
        self.measured = joined("measured")
        self.sounds = (joined("level") > SILENT_DB).float()
        self.learnt = (~joined("ignored")).float()
        self.loud = (joined("level") > FAINT_DB).float()


def _indices(utterance: Utterance, chance: random.Random | None) -> np.ndarray:
    """Frames in order, with the middle of some vowels repeated: the network has to hold what the teacher cannot."""
    index = np.arange(len(utterance.labels))
    if chance is None or chance.random() > STRETCHED:
        return index
    bounds = [0, *(np.flatnonzero(np.diff(utterance.labels)) + 1).tolist(), len(index)]
    healthy = []
    for start, stop in itertools.pairwise(bounds):
        steady = (utterance.hertz[start:stop] > 0).all() and (utterance.level[start + 1 : stop - 1] > HEALTHY_DB).all()
        if int(utterance.labels[start]) in VOWELS and stop - start >= 6 and steady:
            healthy.append((start + stop) // 2)
    for middle in sorted(chance.sample(healthy, min(2, len(healthy))), reverse=True):
        index = np.insert(index, middle, np.full(chance.randint(10, 70), middle))
    return index


class Loss(nn.Module):
    def __init__(self, network: Acoustic) -> None:
        super().__init__()
        self.network = network
        self.cepstra = cepstra(POINTS)

    def predicted(self, data: Arrays) -> tuple[Tensor, Tensor, Tensor]:
        # Products in bfloat16: three times as fast where the CPU has them, and as good.
        with torch.autocast("cpu", torch.bfloat16):
            found = self.network(data.ids, data.height, (data.hertz > 0).float(), data.voice)
        envelope, bands, voicing = (each.float() for each in found)
        return envelope, bands, voicing

    def forward(
        self, data: Arrays, envelope: Tensor, bands: Tensor, voicing: Tensor
    ) -> tuple[Tensor, dict[str, float]]:
        wrong = (torch.cat([envelope, bands], 1) - data.target) / self.network.scale
        weight = data.learnt * (0.2 + 0.8 * data.loud)
        shape, rough = wrong[:, :POINTS], wrong[:, POINTS:]
        move = (shape[1:] - shape[:-1]).abs().mean(1)
        both = weight * data.heard
        decibels = cepstral(envelope - data.target[:, :POINTS], self.cepstra)
        parts = {
            "dB": mean(decibels, weight),
            "shape": mean(shape.abs().mean(1), weight),
            "move": mean(move, weight[1:] * weight[:-1]),
            "rough": mean(rough.abs().mean(1), both),
            "voicing": mean(functional.binary_cross_entropy_with_logits(voicing, data.heard, reduction="none"), weight),
        }
        total = (
            0.1 * parts["dB"]
            + 0.6 * parts["shape"]
            + 0.3 * parts["move"]
            + 0.3 * parts["rough"]
            + 0.3 * parts["voicing"]
        )
        return total, {name: float(value.detach()) for name, value in parts.items()}


def cepstra(points: int) -> Tensor:
    order, point = torch.arange(1, CEPSTRA + 1).unsqueeze(0), torch.arange(points).unsqueeze(1)
    return torch.cos(torch.pi * order * (point + 0.5) / points) * (2 / points)


def cepstral(difference: Tensor, basis: Tensor) -> Tensor:
    """Mel-cepstral distortion in dB of each frame."""
    return 6.142 * ((difference @ basis).square().sum(1) + 1e-4).sqrt()


def mean(values: Tensor, weight: Tensor) -> Tensor:
    return (values * weight).sum() / weight.sum().clamp(min=1)


def standardise(network: Acoustic, utterances: list[Utterance]) -> None:
    """Means and deviations of what is to be predicted, over frames that are heard; each voice's range of pitch."""
    targets = np.concatenate(
        [np.concatenate([u.envelope, u.aperiodicity], 1)[(u.level > FAINT_DB) & ~u.ignored] for u in utterances]
    )
    network.mean.copy_(torch.from_numpy(targets.mean(0)))
    network.scale.copy_(torch.from_numpy(targets.std(0)))
    for voice in range(len(network.lowest)):
        pitches = np.concatenate([np.log(u.pitch[u.pitch > 0]) for u in utterances if u.voice == voice])
        network.lowest[voice], network.highest[voice] = np.percentile(pitches, [3, 97]).tolist()


def distance(network: Acoustic, utterances: list[Utterance], pitch: Pitch) -> tuple[float, float]:
    """dB between envelopes without their means (a mel-cepstral distortion of all coefficients) and the share of frames
    with the wrong voicing, over frames that are heard."""
    network.eval()
    decibels, errors, count = 0.0, 0.0, 0
    with torch.no_grad():
        for each in utterances:
            data = Arrays([each], None, pitch)
            envelope, _, voicing = network(data.ids, data.height, (data.hertz > 0).float(), data.voice)
            wrong = envelope - data.target[:, :POINTS]
            wrong = (wrong - wrong.mean(1, keepdim=True)).square().mean(1).sqrt() * 8.686
            keep = (data.loud * data.learnt) > 0
            decibels += float(wrong[keep].sum())
            errors += float((((voicing > 0) & (data.hertz > 0)) != (data.heard > 0))[keep].sum())
            count += int(keep.sum())
    return decibels / count, errors / count


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--start", type=Path, help="go on from what was trained before")
    parser.add_argument("--peak", type=float, default=PEAK)
    parser.add_argument("--dropout", type=float, default=0.08)
    arguments = parser.parse_args()
    torch.manual_seed(SEED)
    torch.set_num_threads(arguments.threads)
    chance = random.Random(SEED)  # noqa: S311
    train, validation = load(arguments.folder, "train"), load(arguments.folder, "validation")
    network, pitch = Acoustic(dropout=arguments.dropout), Pitch()
    standardise(network, train)
    if arguments.start:
        network.load_state_dict(torch.load(arguments.start)["network"])
    loss, kept = Loss(network), copy.deepcopy(network)
    optimizer = torch.optim.AdamW(network.parameters(), PEAK, weight_decay=0.02)
    started = time.monotonic()
    best, step, epoch = float("inf"), 0, 0

    def progress() -> float:
        return max((time.monotonic() - started) / (60 * arguments.minutes), step / arguments.steps)

    while progress() < 1:
        order = chance.sample(train, len(train))
        while order and progress() < 1:
            batch: list[Utterance] = []
            while order and sum(len(each.labels) for each in batch) < BATCH_FRAMES:
                batch.append(order.pop())
            for group in optimizer.param_groups:
                group["lr"] = arguments.peak * min(1, (step + 1) / 100) * max(0.01, 1 - progress())
            data = Arrays(batch, chance, pitch)
            total, parts = loss(data, *loss.predicted(data))
            optimizer.zero_grad()
            total.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            with torch.no_grad():
                decay = min(DECAY, step / (step + 20))
                for slow, weight in zip(kept.parameters(), network.parameters(), strict=True):
                    slow.lerp_(weight, 1 - decay)
            step += 1
        epoch += 1
        decibels, errors = distance(kept, validation, pitch)
        score = decibels + 10 * errors
        shown = " ".join(f"{name} {value:.3f}" for name, value in parts.items())
        seconds = time.monotonic() - started
        print(f"{seconds:5.0f} s, epoch {epoch}, step {step}: {shown}; {decibels:.3f} dB, {errors:.2%}", flush=True)
        if score < best:
            best = score
            torch.save({"network": kept.state_dict(), "epoch": epoch, "dB": decibels}, arguments.out)


if __name__ == "__main__":
    main()
