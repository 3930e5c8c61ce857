"""The table of noise of the synthesiser: `python -m models.build.noise OUT [STEPS]`.

Noise whose short spectra are nearly as flat as its long one. White noise is flat over seconds only: in windows of 6 to
21 ms, as an ear or an analysis has them, its spectrum goes up and down by 3.5 to 3.7 dB (standard deviation), at random
and on top of the envelope that was meant. Samples are moved until that is 0.9 to 1.2 dB. It stays noise: no period, a
flat spectrum, values spread as those of white noise.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

SEED, COUNT, PART, FFT = 7, 65536, 8192, 1024
STEPS, RATE = 3000, 0.02
# Samples of a window and bins over which its power is smoothed.
WINDOWS = ((144, 15), (256, 9), (512, 5))
FAINTEST = 0.02


def unevenness(noise: Tensor) -> Tensor:
    """How much ln power varies over time, and its mean over frequencies."""
    total = noise.new_zeros(())
    for size, wide in WINDOWS:
        window = torch.hann_window(size)
        power = torch.fft.rfft(noise.unfold(0, size, size // 4) * window, FFT).abs().square() / window.square().sum()
        padded = functional.pad(power.unsqueeze(1), (wide // 2, wide // 2), mode="reflect")
        power = functional.avg_pool1d(padded, wide, 1).squeeze(1)
        total = total + torch.log(power + FAINTEST).var(0).mean() + (power.mean(0) - 1).square().mean()
    return total


def main() -> None:
    out, steps = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else STEPS
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(SEED)
    noise = torch.randn(COUNT, generator=generator).requires_grad_()
    optimizer = torch.optim.Adam([noise], RATE)
    for _ in range(steps):
        even = noise / noise.square().mean().sqrt()
        start = int(torch.randint(0, COUNT, (1,), generator=generator))
        optimizer.zero_grad()
        # The table is a circle.
        unevenness(torch.cat([even, even])[start : start + PART]).backward()
        optimizer.step()
    found = noise.detach().numpy()
    np.save(out, np.rint(found / np.abs(found).max() * 127).astype(np.int8))


if __name__ == "__main__":
    main()
