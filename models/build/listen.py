"""What WORLD's CheapTrick finds in a sound, in torch: the sound can be learnt from what an analysis finds in it.

The pitch is not looked for: it is given, as the source has it. Sizes as `analysis.analyse` has them.
"""

from __future__ import annotations

import math

import torch
from models.build.bands import MEASURED, encoder
from torch import Tensor, nn
from torch.nn import functional

RATE, HOP, FFT = 24000, 256, 1024
BINS = FFT // 2 + 1
UNVOICED_HZ = 500.0  # the pitch that CheapTrick takes where there is none
LOWEST_HZ = 3.0 * RATE / (FFT - 3)
RECOVERY = -0.15
# Power of the noise that the analysis adds.
FAINTEST = 1e-10


class CheapTrick(nn.Module):
    """Samples [256 T] and Hz [T], 0 where unvoiced -> ln amplitude on 80 mel points [T, 80]."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("encoder", torch.from_numpy(encoder(MEASURED)).float())

    def forward(self, wave: Tensor, hertz: Tensor) -> Tensor:
        hertz = torch.where(hertz > LOWEST_HZ, hertz, torch.full_like(hertz, UNVOICED_HZ)).unsqueeze(1).double()
        power = _smooth(_mirrored(_power(wave, hertz), hertz), hertz * (2 / 3))
        cepstra = torch.fft.irfft(torch.log(power.clamp(min=0) + FAINTEST).float(), dim=1)
        quefrency = (torch.arange(FFT) - FFT * (torch.arange(FFT) > FFT // 2)) * (hertz.float() / RATE)
        lifter = torch.sinc(quefrency) * (1 - 2 * RECOVERY + 2 * RECOVERY * torch.cos(2 * math.pi * quefrency))
        spectrum: Tensor = torch.fft.rfft(cepstra * lifter, dim=1).real
        return 0.5 * spectrum @ self.encoder


def _power(wave: Tensor, hertz: Tensor) -> Tensor:
    """[T, 513], of three periods about the middle of each frame, under a window of unit energy."""
    frames = functional.pad(wave, (FFT // 2 - HOP // 2, FFT // 2 + HOP // 2)).unfold(0, FFT, HOP)[: len(hertz)]
    periods = (torch.arange(FFT) - FFT // 2) * (hertz / RATE)
    window = torch.where(periods.abs() <= 1.5, 0.5 + 0.5 * torch.cos(periods * (math.pi / 1.5)), 0.0)
    window = (window / window.square().sum(1, keepdim=True).sqrt()).float()
    pieces = frames * window
    pieces = pieces - window * (pieces.sum(1, keepdim=True) / window.sum(1, keepdim=True))
    return torch.fft.rfft(pieces, dim=1).abs().square().double()


def _mirrored(power: Tensor, hertz: Tensor) -> Tensor:
    """What is below the pitch has the mirror of its upper half added."""
    bins = torch.arange(BINS)
    place = hertz * (FFT / RATE) - bins
    return power + torch.where(place >= 0, _at(power, place.clamp(min=0)), torch.zeros_like(power))


def _smooth(power: Tensor, width: Tensor) -> Tensor:
    """The mean over `width` Hz about each bin."""
    edge = 64
    wide = torch.cat([power[:, 1 : edge + 1].flip(1), power, power[:, -edge - 1 : -1].flip(1)], 1)
    # In double: loud bins and faint ones are of one sum.
    total = torch.cumsum(wide, 1)
    half = width * (FFT / RATE / 2)
    middle = torch.arange(BINS) + edge - 0.5
    return (_at(total, middle + half) - _at(total, middle - half)) / (2 * half)


def _at(values: Tensor, place: Tensor) -> Tensor:
    whole = torch.floor(place)
    index = whole.long()
    low, high = torch.gather(values, 1, index), torch.gather(values, 1, index + 1)
    return low + (high - low) * (place - whole)
