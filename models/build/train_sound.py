"""Goes on with the network of decode, through the synthesiser:
`python -m models.build.train_sound FOLDER START NOISE OUT`.

What is compared with the teacher is no longer the envelope but what an analysis finds in the sound made of it; the
losses of the first stage stay. The checkpoint that is kept is the best on the validation sentences; the test sentences
are never read here.
"""

from __future__ import annotations

import argparse
import copy
import random
import time
from pathlib import Path

import numpy as np
import torch
from models.build.bands import MEASURED
from models.build.frames_data import Utterance, load
from models.build.listen import CheapTrick
from models.build.network import Acoustic, Pitch, Spectrogram
from models.build.sound import Sound
from models.build.train_decode import BATCH_FRAMES, Arrays, Loss, cepstra, cepstral, mean
from torch import Tensor, nn

SEED = 4
PEAK = 6e-4
DECAY = 0.99
EVERY = 100
# Columns of the features.
VOICED, START, END = 75, 77, 78


class Heard(nn.Module):
    """dB between our sound and the teacher's, frame by frame."""

    def __init__(self, network: Acoustic, noise: Path) -> None:
        super().__init__()
        self.spectrogram = Spectrogram(network)
        self.sound = Sound(np.load(noise))
        self.analysis = CheapTrick()
        self.basis = cepstra(MEASURED)

    def forward(self, data: Arrays, envelope: Tensor, bands: Tensor, voicing: Tensor) -> tuple[Tensor, Tensor]:
        columns = self.spectrogram.columns(data.hertz, data.ids, data.height, envelope, bands, voicing)
        voiced = columns[:, VOICED]
        hertz = (columns[:, START] + columns[:, END]) / 2 * voiced
        found = self.analysis(self.sound(columns), hertz.detach())
        return cepstral(found - data.measured, self.basis), voiced


def score(loss: Loss, heard: Heard, utterances: list[Utterance], pitch: Pitch) -> tuple[float, float]:
    """dB of the sound, and the share of frames with the wrong voicing."""
    loss.eval()
    decibels, errors = [], []
    with torch.no_grad():
        for each in utterances:
            data = Arrays([each], None, pitch)
            found, voiced = heard(data, *loss.network(data.ids, data.height, (data.hertz > 0).float(), data.voice))
            keep = (data.sounds * data.learnt) > 0
            decibels.append(found[keep])
            errors.append((voiced != data.heard)[keep].float())
    return float(torch.cat(decibels).mean()), float(torch.cat(errors).mean())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("start", type=Path)
    parser.add_argument("noise", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--steps", type=int, default=100_000)
    arguments = parser.parse_args()
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    chance = random.Random(SEED)  # noqa: S311
    train, validation = load(arguments.folder, "train"), load(arguments.folder, "validation")
    network, pitch = Acoustic(), Pitch()
    network.load_state_dict(torch.load(arguments.start)["network"])
    kept = copy.deepcopy(network)
    loss, kept_loss = Loss(network), Loss(kept)
    heard, kept_heard = Heard(network, arguments.noise), Heard(kept, arguments.noise)
    optimizer = torch.optim.AdamW(network.parameters(), PEAK, weight_decay=0.02)
    started, best, step = time.monotonic(), float("inf"), 0
    order: list[Utterance] = []
    while (progress := max((time.monotonic() - started) / (60 * arguments.minutes), step / arguments.steps)) < 1:
        if step % EVERY == 0:
            best = keep_if_better(step, best, kept_loss, kept_heard, validation, pitch, arguments.out)
        batch: list[Utterance] = []
        while sum(len(each.labels) for each in batch) < BATCH_FRAMES:
            order = order or chance.sample(train, len(train))
            batch.append(order.pop())
        for group in optimizer.param_groups:
            group["lr"] = PEAK * min(1, (step + 1) / 50) * max(0.01, 1 - progress)
        data = Arrays(batch, chance, pitch)
        predicted = loss.predicted(data)
        total, _ = loss(data, *predicted)
        decibels, _ = heard(data, *predicted)
        total = total + 0.1 * mean(decibels, data.learnt * data.sounds)
        optimizer.zero_grad()
        total.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        step += 1
        with torch.no_grad():
            for slow, weight in zip(kept.parameters(), network.parameters(), strict=True):
                slow.lerp_(weight, 1 - min(DECAY, step / (step + 20)))
    keep_if_better(step, best, kept_loss, kept_heard, validation, pitch, arguments.out)


def keep_if_better(
    step: int, best: float, loss: Loss, heard: Heard, validation: list[Utterance], pitch: Pitch, out: Path
) -> float:
    decibels, errors = score(loss, heard, validation, pitch)
    print(f"step {step}: {decibels:.3f} dB, {errors:.2%}", flush=True)
    if decibels + 10 * errors >= best:
        return best
    torch.save({"network": loss.network.state_dict(), "step": step, "dB": decibels}, out)
    return decibels + 10 * errors


if __name__ == "__main__":
    main()
