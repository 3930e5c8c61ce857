"""The second half of decode: a source and a filter, without anything learnt. It looks at a few frames only, so that
segments of an utterance, with a margin, sound as the whole does.

The source is a pulse train in closed form (all harmonics below 11.5 kHz of equal strength) and noise from a fixed
table (`noise.py`); each frame's filter is the minimum phase one of its envelope. Both have unit power before it, as
WORLD has it.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from models.build.bands import decoder, minimum_phase
from models.build.network import BANDS, POINTS
from numpy.typing import NDArray
from torch import Tensor, nn

RATE, HOP, WINDOW, FFT = 24000, 256, 512, 1024
TOP_HZ = 11500.0
BINS = FFT // 2 + 1
# The teacher falls more steeply above 11.4 kHz than the last two points can say.
TOP_FALL = 1.2


def angles(rows: Tensor, columns: Tensor) -> Tensor:
    """2 pi n k / FFT, of integers first, so that it is exact."""
    product = rows.unsqueeze(1) * columns.unsqueeze(0)
    wrapped = product - torch.div(product, FFT, rounding_mode="floor") * FFT
    return wrapped.float() * (2 * math.pi / FFT)


class Sound(nn.Module):
    """[T, 80] as `network.Spectrogram` gives it -> samples [256 T]."""

    def __init__(self, noise: NDArray[np.int8]) -> None:
        super().__init__()
        # The exporter leaves alone what is computed from a buffer, so that the DFT is made where the file is loaded.
        self.register_buffer("ramp", torch.arange(FFT, dtype=torch.int32))
        self.register_buffer("noise", torch.from_numpy(noise.reshape(-1, HOP)))
        self.register_buffer("shape", torch.from_numpy(decoder(POINTS).astype(np.float32)))
        self.register_buffer("turn", torch.from_numpy(minimum_phase(POINTS).astype(np.float32)))
        knots = np.linspace(0, RATE / 2, BANDS + 2)
        bands = np.stack([np.interp(np.linspace(0, RATE / 2, BINS), knots, row) for row in np.eye(BANDS + 2)])
        self.register_buffer("bands", torch.from_numpy(bands[1:-1].astype(np.float32)))
        self.register_buffer("base", torch.from_numpy((-60.0 * bands[0]).astype(np.float32)))
        self.register_buffer("fall", torch.cat([torch.zeros(POINTS - 1), torch.tensor([TOP_FALL])]))
        self.deviation = float(noise.std())

    def source(self, phase: Tensor, start: Tensor, end: Tensor) -> Tensor:
        """[T, 1] each -> the pulse train [T, 256]."""
        u = torch.arange(HOP, device=phase.device).float().unsqueeze(0) / HOP
        cycles = phase + (HOP / RATE) * (start * u + (end - start) * (u * u) / 2)
        theta = 2 * math.pi * (cycles - torch.round(cycles))
        hertz = start + (end - start) * u
        top = TOP_HZ / hertz
        whole = torch.floor(top)
        half = torch.sin(theta / 2)
        near = half.abs() < 1e-4
        safe = torch.where(near, torch.ones_like(half), half)
        closed = torch.sin((whole + 0.5) * theta) / (2 * safe) - 0.5
        total = torch.where(near, whole, closed) + (top - whole) * torch.cos((whole + 1) * theta)
        return total * (2 * torch.sqrt(hertz / RATE))

    def forward(self, spec: Tensor) -> Tensor:
        envelope, bands = spec[:, :POINTS] - self.fall, spec[:, POINTS : POINTS + BANDS]
        voiced, phase, start, end, row = spec[:, POINTS + BANDS :].split(1, 1)
        pulses = self.source(phase, start, end)
        noise = self.noise[row.squeeze(1).to(torch.int64)].float() / self.deviation
        into = angles(self.ramp[:WINDOW], self.ramp[:BINS])
        cosine, sine = torch.cos(into), torch.sin(into)
        rough = torch.pow(10.0, (bands.clamp(-60.0, 0.0) @ self.bands + self.base) / 20) * voiced + (1 - voiced)
        # Not quite nothing, because the root has no slope there and the build learns through it.
        smooth = torch.sqrt((1 - rough * rough).clamp(min=1e-12)) * voiced
        periodic, hiss = windowed(pulses), windowed(noise)
        real = periodic @ cosine * smooth + hiss @ cosine * rough
        imaginary = -(periodic @ sine) * smooth - (hiss @ sine) * rough
        size, turn = torch.exp(envelope @ self.shape), envelope @ self.turn
        across, along = size * torch.cos(turn), size * torch.sin(turn)
        real, imaginary = real * across - imaginary * along, real * along + imaginary * across
        # Back by the same matrices: sample n + 512 of bin k is sample n with the sign of odd bins turned.
        ends = (self.ramp[:BINS] == 0) | (self.ramp[:BINS] == BINS - 1)
        weight = (2.0 - ends.float()) / FFT
        sign = 1.0 - 2.0 * (self.ramp[:BINS] - 2 * torch.div(self.ramp[:BINS], 2, rounding_mode="floor")).float()
        back, turned = cosine.transpose(0, 1), sine.transpose(0, 1)
        real, imaginary = real * weight, imaginary * weight
        early = real @ back - imaginary @ turned
        late = (real * sign) @ back - (imaginary * sign) @ turned
        return overlapped(torch.cat([early, late], 1))


def windowed(frames: Tensor) -> Tensor:
    """[T, 256] -> 512 samples about the middle of each, under a window that adds up to 1."""
    nothing = torch.zeros_like(frames[:1])
    before = torch.cat([nothing, frames[:-1]])[:, HOP // 2 :]
    after = torch.cat([frames[1:], nothing])[:, : HOP // 2]
    window = 0.5 - 0.5 * torch.cos(torch.arange(WINDOW).float() * (2 * math.pi / WINDOW))
    return torch.cat([before, frames, after], 1) * window


def overlapped(pieces: Tensor) -> Tensor:
    """[T, 1024], 256 apart and 128 early -> [256 T]."""
    quarters = pieces.split(HOP, 1)
    nothing = torch.zeros_like(quarters[0][:1])
    total = torch.cat([quarters[0], nothing, nothing, nothing])
    total = total + torch.cat([nothing, quarters[1], nothing, nothing])
    total = total + torch.cat([nothing, nothing, quarters[2], nothing])
    total = total + torch.cat([nothing, nothing, nothing, quarters[3]])
    flat = total.reshape(-1)
    return flat[HOP // 2 : HOP // 2 + pieces.shape[0] * HOP]
