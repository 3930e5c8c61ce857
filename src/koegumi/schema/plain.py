"""The plain data of speech: what workers compute on and what crosses the wire.

Field names on the wire are VOICEVOX's; inside they are snake_case. These structs check types only:
values are checked once, at the front (`schema.http`). Lengths are in seconds, pitches in ln Hz (0: unvoiced).
"""

from __future__ import annotations

import msgspec

# Vowels that have no pitch: devoiced, small tsu, pause, silence.
UNVOICED = frozenset({"A", "I", "U", "E", "O", "cl", "pau", "sil"})


class Mora(msgspec.Struct):
    text: str
    consonant: str | None
    consonant_length: float | None
    vowel: str
    vowel_length: float
    pitch: float


class AccentPhrase(msgspec.Struct):
    moras: list[Mora]
    accent: int
    pause_mora: Mora | None = None
    is_interrogative: bool = False


class AudioQuery(msgspec.Struct):
    accent_phrases: list[AccentPhrase]
    speed_scale: float = msgspec.field(name="speedScale", default=1.0)
    pitch_scale: float = msgspec.field(name="pitchScale", default=0.0)
    intonation_scale: float = msgspec.field(name="intonationScale", default=1.0)
    volume_scale: float = msgspec.field(name="volumeScale", default=1.0)
    pre_phoneme_length: float = msgspec.field(name="prePhonemeLength", default=0.1)
    post_phoneme_length: float = msgspec.field(name="postPhonemeLength", default=0.1)
    pause_length: float | None = msgspec.field(name="pauseLength", default=None)
    pause_length_scale: float = msgspec.field(name="pauseLengthScale", default=1.0)
    output_sampling_rate: int = msgspec.field(name="outputSamplingRate", default=24000)
    output_stereo: bool = msgspec.field(name="outputStereo", default=False)
    kana: str | None = None


class CheckedQuery(msgspec.Struct, array_like=True):
    """One AudioQuery of several: its msgpack, the seconds of its sound, the rate that it asks for in Hz."""

    value: msgspec.Raw
    seconds: float
    sampling_rate: int
