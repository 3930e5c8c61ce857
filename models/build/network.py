"""The small network between phonemes and sound, and what both halves of decode know of frames.

One utterance at a time, or several one after the other with silence between: there is no batch axis.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

PHONEMES, VOICES, POINTS, BANDS = 45, 5, 72, 3
PAU = 0
HELD = (7, 14, 21, 30, 40, 4)  # a e i o u N: voiced throughout when they have a pitch
EDGE, LONGEST = 10, 21  # position and length features stop growing here
FORCED_FROM = 2  # frames from a vowel's edges inside which it is voiced whatever the network says
# ln amplitudes: of nothing, and of what is labelled a pause because it is 40 dB below the loud frames.
SILENCE, FAINT = -30.0, -8.5
DEFAULT_LN_HZ = 5.2
WINDOW, FAR_WINDOW = 7, 121
FAR, FARTHEST = 1e-5, 1e-9


def runs(ids: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Of [T] phonemes: each frame's run, each run's first frame, frames since its start and to its end."""
    change = functional.pad((ids[1:] != ids[:-1]).to(torch.int64), (1, 0), value=1)
    run = torch.cumsum(change, 0) - 1
    first = torch.nonzero(change).squeeze(1)
    counts = torch.cat([first[1:], torch.ones_like(ids[:1]) * ids.shape[0]]) - first
    position = torch.cumsum(torch.ones_like(ids), 0) - 1 - first[run]
    return run, first, position, counts[run] - 1 - position


class Pitch(nn.Module):
    """Hz of [T] frames, 0 where there is none, to ln Hz everywhere: smooth over 7 frames, drawn on where nothing is
    voiced. Inside a note there is no error."""

    def __init__(self) -> None:
        super().__init__()
        for name, size in (("near", WINDOW), ("far", FAR_WINDOW)):
            window = torch.hann_window(size + 2, periodic=False, dtype=torch.float64)[1:-1]
            self.register_buffer(name, (window / window.sum()).float().reshape(1, 1, -1), persistent=False)

    def forward(self, hertz: Tensor) -> Tensor:
        voiced = (hertz > 0).to(hertz.dtype)
        # Distances from the default, so that far weights of 1e-9 keep their digits.
        distance = (torch.log(hertz.clamp(20.0, 6000.0)) - DEFAULT_LN_HZ) * voiced
        both = torch.stack([distance, voiced]).unsqueeze(1)
        near = functional.conv1d(both, self.near, padding=WINDOW // 2)
        far = functional.conv1d(both, self.far, padding=FAR_WINDOW // 2)
        weighted = (near + FAR * far).squeeze(1)
        return DEFAULT_LN_HZ + weighted[0] / (weighted[1] + FARTHEST)


class Block(nn.Module):
    def __init__(self, channels: int, dilation: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(channels)
        self.conv = nn.Conv1d(channels, channels, 3, padding=dilation, dilation=dilation)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:  # [T, channels]
        y = self.conv(self.norm(x).transpose(0, 1).unsqueeze(0)).squeeze(0).transpose(0, 1)
        return x + self.dropout(functional.silu(y))


class Acoustic(nn.Module):
    """Phonemes [T], ln Hz [T], whether there is a pitch [T], voice [T] -> ln amplitude [T, 72], aperiodicity in dB
    [T, 3], voicing logit [T]."""

    def __init__(self, channels: int = 208, dropout: float = 0.08) -> None:
        super().__init__()
        small, code = 96, 16
        self.phoneme = nn.Embedding(PHONEMES, small)
        self.voice = nn.Embedding(VOICES, code)
        self.enter = nn.Linear(small + code + 1, small)
        self.context = nn.Sequential(*(Block(small, 1, dropout) for _ in range(3)))
        self.mix = nn.Linear(small + code + 6, channels)
        self.blocks = nn.Sequential(*(Block(channels, d, dropout) for d in (1, 2, 4, 8, 1, 2)))
        self.leave = nn.Sequential(nn.LayerNorm(channels), nn.Linear(channels, POINTS + BANDS + 1))
        self.register_buffer("mean", torch.zeros(POINTS + BANDS))
        self.register_buffer("scale", torch.ones(POINTS + BANDS))
        # ln Hz between which each voice was heard.
        self.register_buffer("lowest", torch.full((VOICES,), 4.5))
        self.register_buffer("highest", torch.full((VOICES,), 6.0))

    def forward(self, ids: Tensor, pitch: Tensor, pitched: Tensor, voice: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        run, first, position, left = runs(ids)
        length = ((position + left + 1).clamp(max=LONGEST)).float() / LONGEST
        voices = self.voice(voice)
        entered = torch.cat([self.phoneme(ids[first]), voices[first], length[first].unsqueeze(1)], 1)
        context = self.context(self.enter(entered))
        low, high = self.lowest[voice], self.highest[voice]
        height = (torch.maximum(torch.minimum(pitch, high), low) - low) / (high - low)
        since, to = position.clamp(max=EDGE).float() / EDGE, left.clamp(max=EDGE).float() / EDGE
        share = since / (since + to + 0.05)
        features = torch.stack([since, to, share, length, height, pitched], 1)
        x = self.mix(torch.cat([context[run], voices, features], 1))
        out = self.leave(self.blocks(x))
        scaled = out[:, : POINTS + BANDS] * self.scale + self.mean
        return scaled[:, :POINTS], scaled[:, POINTS:], out[:, -1]


class Spectrogram(nn.Module):
    """The first half of decode: Hz [T], phonemes [T], voice [1] -> [T, 80], all that `Sound` needs, frame by frame:

    72 points of ln amplitude, 3 of aperiodicity in dB, voicing 0 or 1, phase at the frame's start in cycles, Hz at its
    start and end, row of the noise.
    """

    def __init__(self, acoustic: Acoustic) -> None:
        super().__init__()
        self.acoustic = acoustic
        self.pitch = Pitch()
        held = torch.zeros(PHONEMES)
        held[list(HELD)] = 1.0
        self.register_buffer("held", held, persistent=False)

    def forward(self, hertz: Tensor, ids: Tensor, voice: Tensor) -> Tensor:
        pitch = self.pitch(hertz)
        predicted = self.acoustic(ids, pitch, (hertz > 0).float(), voice.expand(ids.shape))
        return self.columns(hertz, ids, pitch, *predicted)

    def columns(
        self, hertz: Tensor, ids: Tensor, pitch: Tensor, envelope: Tensor, bands: Tensor, voicing: Tensor
    ) -> Tensor:
        pitched = hertz > 0
        _, _, position, left = runs(ids)
        inside = (position >= FORCED_FROM) & (left >= FORCED_FROM) & (self.held[ids] > 0)
        voiced = ((voicing > 0) | inside) & pitched
        silent = (ids == PAU) & (position >= 1) & (left >= 1)
        envelope = torch.where((ids == PAU).unsqueeze(1), envelope.clamp(max=FAINT), envelope)
        envelope = torch.where(silent.unsqueeze(1), torch.full_like(envelope, SILENCE), envelope)
        padded = torch.cat([pitch[:1], pitch, pitch[-1:]])
        bounds = torch.exp((padded[1:] + padded[:-1]) / 2)
        cycles = (bounds[1:].double() + bounds[:-1].double()) * (128.0 / 24000.0)
        phase = torch.cumsum(cycles, 0) - cycles
        phase = (phase - torch.floor(phase)).float()
        count = torch.cumsum(torch.ones_like(ids), 0) - 1
        row = (count - torch.div(count, 256, rounding_mode="floor") * 256).float()
        rest = torch.stack([voiced.float(), phase, bounds[:-1], bounds[1:], row], 1)
        return torch.cat([envelope, bands, rest], 1)
