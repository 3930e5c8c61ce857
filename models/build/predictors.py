"""The two small models of lengths and pitches, with the tensors of reference 4.7. One utterance at a time, as the
server asks, or many side by side for training: then all tensors have a first axis more."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

PHONEMES, VOICES = 45, 5
CHANNELS = 96
# Seconds below which nothing is predicted; the reference clamps there too.
SHORTEST = 0.01
MARKS = 4
MEMBERS = 3
# Devoiced vowels, the small tsu and pauses have no pitch.
UNVOICED = (0, 1, 2, 3, 5, 6, 11)


class Convolutions(nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv1d(CHANNELS, CHANNELS, 3, padding=d, dilation=d) for d in (1, 2, 4, 1, 2, 4))
        self.norms = nn.ModuleList(nn.LayerNorm(CHANNELS) for _ in self.convs)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:  # [B, N, CHANNELS], [B, N, 1]
        for conv, norm in zip(self.convs, self.norms, strict=True):
            y = conv((norm(x) * mask).transpose(1, 2)).transpose(1, 2)
            x = x + self.dropout(functional.silu(y))
        return x


class Duration(nn.Module):
    """Phonemes [B, N], voice [B], mask [B, N] -> ln seconds [B, N]."""

    def __init__(self, dropout: float = 0.15) -> None:
        super().__init__()
        self.phoneme = nn.Embedding(PHONEMES, CHANNELS)
        self.voice = nn.Embedding(VOICES, CHANNELS)
        self.body = Convolutions(dropout)
        self.leave = nn.Sequential(nn.LayerNorm(CHANNELS), nn.Linear(CHANNELS, 1))

    def forward(self, phonemes: Tensor, voice: Tensor, mask: Tensor) -> Tensor:
        x = self.phoneme(phonemes) + self.voice(voice).unsqueeze(1)
        return self.leave(self.body(x, mask.unsqueeze(2))).squeeze(2) - 2.5


class Durations(nn.Module):
    """The mean of several, which errs less than each of them."""

    def __init__(self) -> None:
        super().__init__()
        self.members = nn.ModuleList(Duration() for _ in range(MEMBERS))

    def forward(self, phonemes: Tensor, voice: Tensor, mask: Tensor) -> Tensor:
        return torch.stack([member(phonemes, voice, mask) for member in self.members]).mean(0)


class Intonation(nn.Module):
    """Vowels and consonants (-1: none) [B, N], marks [B, N, 4], voice [B], mask [B, N] -> ln Hz [B, N].

    A pause cannot be told from a vowel's absence by its marks, so the phonemes say it.
    """

    def __init__(self, dropout: float = 0.15) -> None:
        super().__init__()
        self.vowel = nn.Embedding(PHONEMES, CHANNELS)
        self.consonant = nn.Embedding(PHONEMES + 1, CHANNELS)  # row 45 is no consonant
        self.marks = nn.Linear(MARKS + 1, CHANNELS)
        self.voice = nn.Embedding(VOICES, CHANNELS)
        self.body = Convolutions(dropout)
        self.leave = nn.Sequential(nn.LayerNorm(CHANNELS), nn.Linear(CHANNELS, 1))

    def forward(self, vowels: Tensor, consonants: Tensor, marks: Tensor, voice: Tensor, mask: Tensor) -> Tensor:
        no = torch.full_like(consonants, PHONEMES)
        consonants = torch.where(consonants < 0, no, consonants)
        states = torch.cat([marks, high(marks).unsqueeze(2)], 2)
        x = self.vowel(vowels) + self.consonant(consonants) + self.marks(states) + self.voice(voice).unsqueeze(1)
        return self.leave(self.body(x, mask.unsqueeze(2))).squeeze(2) + 5.2


def high(marks: Tensor) -> Tensor:
    """Whether the accent is up at each mora. Marks are [B, N, (accent starts, accent ends, phrase starts, phrase
    ends)], of which every phrase has one each; so counts since the utterance began tell where in its phrase a mora is.
    """
    phrases = torch.cumsum(marks[:, :, 2], 1)
    started = torch.cumsum(marks[:, :, 0], 1) - phrases
    ended = torch.cumsum(marks[:, :, 1], 1) - marks[:, :, 1] - phrases
    return (started - ended).clamp(0, 1)


class PredictDuration(nn.Module):
    def __init__(self, network: Durations) -> None:
        super().__init__()
        self.network = network

    def forward(self, phoneme_list: Tensor, speaker_id: Tensor) -> Tensor:
        mask = torch.ones_like(phoneme_list).float().unsqueeze(0)
        return torch.exp(self.network(phoneme_list.unsqueeze(0), speaker_id, mask).squeeze(0)).clamp(SHORTEST, 2.0)


class PredictIntonation(nn.Module):
    """`length` is there because the reference has it; it also checks nothing."""

    def __init__(self, network: Intonation) -> None:
        super().__init__()
        self.network = network
        voiced = torch.ones(PHONEMES)
        voiced[list(UNVOICED)] = 0
        self.register_buffer("voiced", voiced, persistent=False)

    def forward(
        self,
        length: Tensor,
        vowel_phoneme_list: Tensor,
        consonant_phoneme_list: Tensor,
        start_accent_list: Tensor,
        end_accent_list: Tensor,
        start_accent_phrase_list: Tensor,
        end_accent_phrase_list: Tensor,
        speaker_id: Tensor,
    ) -> Tensor:
        lists = (start_accent_list, end_accent_list, start_accent_phrase_list, end_accent_phrase_list)
        marks = torch.stack(lists, 1).float().unsqueeze(0)
        # The input must stay in the graph: it has no weight in the answer.
        mask = torch.ones_like(vowel_phoneme_list).float().unsqueeze(0) + 0 * length.float()
        vowels, consonants = vowel_phoneme_list.unsqueeze(0), consonant_phoneme_list.unsqueeze(0)
        pitch = self.network(vowels, consonants, marks, speaker_id, mask).squeeze(0)
        return pitch * self.voiced[vowel_phoneme_list]
