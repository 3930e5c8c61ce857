"""The plain data of songs. A frame is 256 samples at 24 kHz, so there are 93.75 in a second."""

from __future__ import annotations

import msgspec

FRAMES_A_SECOND = 93.75


class Note(msgspec.Struct):
    """A rest has no key and an empty lyric. `key` is a MIDI note."""

    frame_length: int
    lyric: str
    key: int | None = None
    id: str | None = None


class Score(msgspec.Struct):
    notes: list[Note]


class FramePhoneme(msgspec.Struct):
    phoneme: str
    frame_length: int
    note_id: str | None = None


class FrameAudioQuery(msgspec.Struct):
    """`f0` in Hz (0: unvoiced) and `volume` have one number for each frame of the phonemes."""

    f0: list[float]
    volume: list[float]
    phonemes: list[FramePhoneme]
    volume_scale: float = msgspec.field(name="volumeScale", default=1.0)
    output_sampling_rate: int = msgspec.field(name="outputSamplingRate", default=24000)
    output_stereo: bool = msgspec.field(name="outputStereo", default=False)


class ScoreAndFrames(msgspec.Struct):
    score: Score
    frame_audio_query: FrameAudioQuery
