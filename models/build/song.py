"""The models that sing. There are no songs to learn from: three are rules in a graph, with lengths of consonants taken
from talk; the fourth is the decoder of talk with a volume."""

from __future__ import annotations

import torch
from models.build.network import HELD, PHONEMES, VOICES, Spectrogram, runs
from models.build.sound import Sound
from torch import Tensor, nn
from torch.nn import functional

FRAMES_A_SECOND = 93.75
GLIDE = 9  # frames from one note to the next
VIBRATO_HZ, VIBRATO_CENTS = 5.5, (22.0, 22.0, 20.0, 22.0, 16.0)
VIBRATO_AFTER, VIBRATO_RISE, VIBRATO_FALL, VIBRATO_LENGTH = 33.0, 24.0, 10.0, 47  # frames
VOICED = (*HELD, 8, 10, 12, 13, 15, 17, 18, 22, 26, 27, 28, 29, 33, 34, 41, 42, 43, 44)
CENTS = 0.6931472 / 1200
QUIETEST = 1e-6


class SingConsonantLength(nn.Module):
    """Frames of each note's consonant: as long as in talk, and at most half of the note before it."""

    def __init__(self, lengths: Tensor) -> None:  # int64 [VOICES, PHONEMES + 1], the last 0
        super().__init__()
        self.register_buffer("lengths", lengths)

    def forward(self, consonants: Tensor, vowels: Tensor, note_durations: Tensor, speaker_id: Tensor) -> Tensor:
        own = self.lengths[speaker_id].squeeze(0)
        row = torch.where(consonants < 0, torch.full_like(consonants, PHONEMES), consonants)
        before = functional.pad(note_durations[:, :-1], (1, 0))
        # Vowels do not matter, but the input must stay in the graph.
        return torch.minimum(own[row], torch.div(before, 2, rounding_mode="floor")) + 0 * vowels


class SingF0(nn.Module):
    """Hz: a glide from note to note, and a vibrato that sets in late in long ones."""

    def __init__(self) -> None:
        super().__init__()
        window = torch.hann_window(GLIDE + 2, periodic=False)[1:-1]
        self.register_buffer("window", (window / window.sum()).reshape(1, 1, -1), persistent=False)
        self.register_buffer("depth", torch.tensor(VIBRATO_CENTS), persistent=False)
        voiced = torch.zeros(PHONEMES)
        voiced[list(VOICED)] = 1
        self.register_buffer("voiced", voiced, persistent=False)

    def forward(self, phonemes: Tensor, notes: Tensor, speaker_id: Tensor) -> Tensor:
        keys = notes.squeeze(0)
        sung = (keys >= 0).float()
        distance = (keys.float() - 60) * sung
        both = functional.conv1d(torch.stack([distance, sung]).unsqueeze(1), self.window, padding=GLIDE // 2).squeeze(1)
        key = torch.where(both[1] > 0, both[0] / both[1].clamp(min=1e-6), torch.zeros_like(sung)) + 60
        _, _, position, left = runs(keys)
        rise = ((position.float() - VIBRATO_AFTER) / VIBRATO_RISE).clamp(0, 1)
        fall = (left.float() / VIBRATO_FALL).clamp(0, 1)
        long = (position + left + 1 >= VIBRATO_LENGTH).float()
        swing = torch.sin(2 * torch.pi * VIBRATO_HZ / FRAMES_A_SECOND * (position.float() - VIBRATO_AFTER))
        cents = self.depth[speaker_id] * rise * fall * long * swing
        hertz = 440 * torch.exp((key - 69) * 100 * CENTS + cents * CENTS)
        ids = phonemes.squeeze(0).clamp(min=0)
        return (hertz * sung * self.voiced[ids]).unsqueeze(0)


class SingVolume(nn.Module):
    """The level of a held vowel, a little more for high notes, softer at the edges of a phrase; 0 in rests."""

    def __init__(self, level: Tensor) -> None:  # [VOICES]
        super().__init__()
        self.register_buffer("level", level)
        window = torch.hann_window(9, periodic=False)[1:-1]
        self.register_buffer("window", (window / window.sum()).reshape(1, 1, -1), persistent=False)

    def forward(self, phonemes: Tensor, notes: Tensor, frame_f0s: Tensor, speaker_id: Tensor) -> Tensor:
        sung = ((phonemes > 0) & (notes >= 0)).float()
        edges = functional.conv1d(sung.unsqueeze(1), self.window, padding=3).squeeze(1)
        pitch = torch.log(frame_f0s.clamp(50.0, 2000.0) / 260.0)
        pitch = torch.where(frame_f0s > 0, pitch, torch.zeros_like(pitch))
        return self.level[speaker_id].unsqueeze(1) * sung * edges * (1 + 0.25 * torch.tanh(pitch))


class SfDecode(nn.Module):
    """Phonemes, Hz and volumes [1, T] -> samples [1, 256 T]. A volume is the RMS of a held vowel; consonants keep
    their distance from it."""

    def __init__(self, spectrogram: Spectrogram, sound: Sound, level: Tensor) -> None:
        super().__init__()
        self.spectrogram = spectrogram
        self.sound = sound
        self.register_buffer("level", level)

    def forward(self, frame_phonemes: Tensor, frame_f0s: Tensor, frame_volumes: Tensor, speaker_id: Tensor) -> Tensor:
        ids = frame_phonemes.squeeze(0).clamp(min=0)
        spec = self.spectrogram(frame_f0s.squeeze(0), ids, speaker_id)
        gain = torch.log(frame_volumes.squeeze(0).clamp(min=QUIETEST) / self.level[speaker_id])
        points = self.sound.shape.shape[0]
        louder = torch.cat([spec[:, :points] + gain.unsqueeze(1), spec[:, points:]], 1)
        return self.sound(louder).unsqueeze(0)


assert len(VIBRATO_CENTS) == VOICES
