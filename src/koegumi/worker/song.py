"""Songs: scores to phonemes, lengths, pitches and volumes, with VOICEVOX ENGINE's rules around a voice's models.

A note's consonant sounds before its beat: its frames are taken from the end of the note before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from koegumi.schema.phonemes import IDS, NO_PHONEME, PHONEMES
from koegumi.schema.score import FrameAudioQuery, FramePhoneme, Note, Score
from koegumi.text.moras import PHONEMES_OF
from koegumi.voices.interface import Integers, SongQueryVoice

REST = IDS["pau"]
NO_KEY = -1
# From hiragana to katakana.
_KATAKANA = {code: code + 96 for code in range(ord("ぁ"), ord("ゖ") + 1)}


class SongError(Exception):
    """The score, or the frames, cannot be sung; the message is the reference's."""


@dataclass
class Melody:
    """A score in the models' numbers: one of `consonants`, `vowels` and `lengths` a note; one of `phonemes`, `keys` and
    `note_ids` a phoneme."""

    consonants: list[int] = field(default_factory=list)
    vowels: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    phonemes: list[int] = field(default_factory=list)
    keys: list[int] = field(default_factory=list)
    note_ids: list[str | None] = field(default_factory=list)


def read_score(score: Score) -> Melody:
    """Raises SongError."""
    melody = Melody()
    for note in score.notes:
        consonant, vowel = _phonemes(note)
        melody.consonants.append(consonant)
        melody.vowels.append(vowel)
        melody.lengths.append(note.frame_length)
        sounding = [vowel] if consonant == NO_PHONEME else [consonant, vowel]
        melody.phonemes += sounding
        melody.keys += [NO_KEY if note.key is None else note.key] * len(sounding)
        melody.note_ids += [note.id] * len(sounding)
    return melody


def _phonemes(note: Note) -> tuple[int, int]:
    """The numbers of consonant and vowel."""
    if note.lyric == "":
        if note.key is not None:
            raise SongError("lyricが空文字列の場合、keyはnullである必要があります。")
        return NO_PHONEME, REST
    if note.key is None:
        raise SongError("keyがnullの場合、lyricは空文字列である必要があります。")
    mora = PHONEMES_OF.get(note.lyric) or PHONEMES_OF.get(note.lyric.translate(_KATAKANA))
    if mora is None:
        raise SongError(f"lyricが不正です: {note.lyric}")
    consonant, vowel = mora
    return NO_PHONEME if consonant is None else IDS[consonant], IDS[vowel]


def phoneme_lengths(melody: Melody, consonant_lengths: Sequence[int]) -> list[int]:
    """Frames of each phoneme of the melody. Consonants that the model makes too long, or negative, get half of the
    note before them. Raises SongError where the first note has a consonant: there is nothing before it."""
    lengths: list[int] = []
    for number, (note_length, consonant) in enumerate(zip(melody.lengths, melody.consonants, strict=True)):
        taken = 0 if consonant == NO_PHONEME else consonant_lengths[number]
        if number:
            if not 0 <= taken <= melody.lengths[number - 1]:
                taken = melody.lengths[number - 1] // 2
            lengths[-1] -= taken
        elif taken:
            raise SongError(f"consonant_lengths[0] must be 0, but {taken}")
        if consonant != NO_PHONEME:
            lengths.append(taken)
        lengths.append(note_length)
    return lengths


def frame_audio_query(voice: SongQueryVoice, score: Score, style_id: int) -> FrameAudioQuery:
    """Raises SongError."""
    melody = read_score(score)
    consonant_lengths = voice.sing_consonant_lengths(
        _integers(melody.consonants), _integers(melody.vowels), _integers(melody.lengths), style_id
    )
    lengths = phoneme_lengths(melody, consonant_lengths.tolist())
    phonemes, keys = _frames(melody.phonemes, lengths), _frames(melody.keys, lengths)
    f0 = voice.sing_f0(phonemes, keys, style_id)
    volume = voice.sing_volume(phonemes, keys, f0, style_id)
    named = zip(melody.phonemes, lengths, melody.note_ids, strict=True)
    return FrameAudioQuery(
        f0=f0.tolist(),
        volume=volume.tolist(),
        phonemes=[FramePhoneme(PHONEMES[phoneme], length, note_id) for phoneme, length, note_id in named],
    )


def f0_of(voice: SongQueryVoice, score: Score, query: FrameAudioQuery, style_id: int) -> list[float]:
    """Hz of each frame, for the query's lengths. Raises SongError."""
    curve: list[float] = voice.sing_f0(*_frames_of(score, query), style_id).tolist()
    return curve


def volume_of(voice: SongQueryVoice, score: Score, query: FrameAudioQuery, style_id: int) -> list[float]:
    """The volume of each frame, for the query's lengths and f0. Raises SongError."""
    phonemes, keys = _frames_of(score, query)
    if len(query.f0) != len(phonemes):
        raise SongError(f"f0 has {len(query.f0)} frames, and the phonemes {len(phonemes)}")
    curve: list[float] = voice.sing_volume(phonemes, keys, np.asarray(query.f0, np.float32), style_id).tolist()
    return curve


def _frames_of(score: Score, query: FrameAudioQuery) -> tuple[Integers, Integers]:
    """Phoneme and key of each frame. Nothing but rests is the same song however the rests are cut, as it is to the
    reference; else the phonemes have to be those of the score."""
    melody = read_score(score)
    phonemes = phoneme_numbers(query)
    lengths = [phoneme.frame_length for phoneme in query.phonemes]
    if {REST} == {*phonemes} == {*melody.phonemes}:
        frames = _frames(phonemes, lengths)
        return frames, np.full_like(frames, NO_KEY)
    if phonemes != melody.phonemes:
        raise SongError("Scoreから抽出した音素列とFrameAudioQueryから抽出した音素列が一致しません。")
    return _frames(phonemes, lengths), _frames(melody.keys, lengths)


def phoneme_numbers(query: FrameAudioQuery) -> list[int]:
    """Raises SongError."""
    for phoneme in query.phonemes:
        if phoneme.phoneme not in IDS:
            raise SongError(f"phoneme {phoneme.phoneme} is not valid")
    return [IDS[phoneme.phoneme] for phoneme in query.phonemes]


def sounding_frames(query: FrameAudioQuery) -> tuple[Integers, NDArray[np.float32], NDArray[np.float32]]:
    """Phoneme, f0 and volume of each frame. Raises SongError."""
    lengths = [phoneme.frame_length for phoneme in query.phonemes]
    phonemes = _frames(phoneme_numbers(query), lengths)
    return phonemes, np.asarray(query.f0, np.float32), np.asarray(query.volume, np.float32)


def _integers(values: Sequence[int]) -> Integers:
    return np.asarray(values, np.int64)


def _frames(values: Sequence[int], lengths: Sequence[int]) -> Integers:
    return np.repeat(_integers(values), _integers(lengths))
