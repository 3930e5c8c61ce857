# ruff: noqa: N815 - the names on the wire are VOICEVOX's
"""The wire models of songs, and their readers."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from pydantic import Field, TypeAdapter, ValidationError

from koegumi.schema.models import NULL_UNSAID, Model, SamplingRate, VolumeScale
from koegumi.schema.reading import MAX_SECONDS, Decoded, Error, Location, Refused, check_sound, error, located
from koegumi.schema.score import FRAMES_A_SECOND

SCORE = "Score"
FRAME_AUDIO_QUERY = "FrameAudioQuery"
# An object with `score` and `frame_audio_query`.
SCORE_AND_FRAMES = "ScoreAndFrames"

MAX_FRAMES = int(MAX_SECONDS * FRAMES_A_SECOND)

# Nobody hears more; float32 has to hold what is made of them.
Hertz = Annotated[float, Field(ge=0, le=24_000)]
Volume = Annotated[float, Field(ge=-1_000_000, le=1_000_000)]
Frames = Annotated[int, Field(ge=0, le=MAX_FRAMES)]
Key = Annotated[int, Field(ge=0, le=127)]


class Note(Model):
    """A note, or a rest."""

    id: str | None = Field(default=None, description="An id, given back with the note's phonemes.")
    key: Annotated[Key | None, NULL_UNSAID] = Field(default=None, description="The MIDI note; nothing for a rest.")
    frame_length: Frames = Field(description="Its frames.")
    lyric: str = Field(description="One mora in kana; empty for a rest.")


class Score(Model):
    """A melody with its words."""

    notes: list[Note] = Field(description="Its notes. The first has to be a rest.")


class FramePhoneme(Model):
    """A phoneme of a song."""

    phoneme: str = Field(description="The phoneme.")
    frame_length: Frames = Field(description="Its frames.")
    note_id: str | None = Field(default=None, description="The id of its note.")


class FrameAudioQuery(Model):
    """All that the synthesis of a song needs to know, frame by frame."""

    f0: list[Hertz] = Field(description="The frequency of each frame in Hz.")
    volume: list[Volume] = Field(description="The volume of each frame.")
    phonemes: list[FramePhoneme] = Field(description="The phonemes.")
    volumeScale: VolumeScale = Field(description="Volume of all; what is too loud is clipped.")
    outputSamplingRate: SamplingRate = Field(description="Sampling rate of the sound in Hz.")
    outputStereo: bool = Field(description="Whether the sound has two channels.")


_SCORE = TypeAdapter(Score)
_FRAMES = TypeAdapter(FrameAudioQuery)


def read_score(raw: Any, size: int) -> Decoded:
    score = _score(raw, ())
    frames = sum(note.frame_length for note in score.notes)
    return Decoded(msgspec.msgpack.encode(_SCORE.dump_python(score)), frames / FRAMES_A_SECOND, len(score.notes))


def read_frames(raw: Any, size: int) -> Decoded:
    """With as many numbers as the phonemes have frames."""
    query = _frame_audio_query(raw, ())
    frames = sum(phoneme.frame_length for phoneme in query.phonemes)
    for name, values in (("f0", query.f0), ("volume", query.volume)):
        if len(values) != frames:
            message = f"There should be one number for each of the phonemes' {frames} frames, not {len(values)}"
            raise Refused(error("frames_differ", (name,), message, None))
    seconds = frames / FRAMES_A_SECOND
    check_sound(seconds, query.outputSamplingRate * (2 if query.outputStereo else 1))
    return Decoded(msgspec.msgpack.encode(_FRAMES.dump_python(query)), seconds, len(query.phonemes))


def read_score_and_frames(raw: Any, size: int) -> Decoded:
    parts = raw if isinstance(raw, dict) else {}
    errors: list[Error] = []
    values: dict[str, Any] = {}
    for name, read in (("score", _score), ("frame_audio_query", _frame_audio_query)):
        if name not in parts:
            errors.append(error("missing", (name,), "Field required", None))
            continue
        try:
            values[name] = read(parts[name], (name,)).model_dump()
        except ValidationError as invalid:
            errors += located(invalid, name)
    if errors:
        raise Refused(*errors)
    frames = sum(phoneme["frame_length"] for phoneme in values["frame_audio_query"]["phonemes"])
    return Decoded(msgspec.msgpack.encode(values), frames / FRAMES_A_SECOND, len(values["score"]["notes"]))


def _score(raw: Any, at: Location) -> Score:
    _check_lengths(raw, ("notes",), at)
    score = _SCORE.validate_python(raw, from_attributes=True)
    _check_frames(sum(note.frame_length for note in score.notes), (*at, "notes"))
    return score


def _frame_audio_query(raw: Any, at: Location) -> FrameAudioQuery:
    _check_lengths(raw, ("f0", "volume", "phonemes"), at)
    query = _FRAMES.validate_python(raw, from_attributes=True)
    _check_frames(sum(phoneme.frame_length for phoneme in query.phonemes), (*at, "phonemes"))
    return query


def _check_lengths(raw: Any, names: tuple[str, ...], at: Location) -> None:
    """Before anything is built, as a wrong element's error is much larger than itself."""
    for name in names:
        values = raw.get(name) if isinstance(raw, dict) else None
        if isinstance(values, list) and len(values) > MAX_FRAMES:
            message = f"There should be at most {MAX_FRAMES} elements, not {len(values)}"
            raise Refused(error("too_long", (*at, name), message, None))


def _check_frames(frames: int, at: Location) -> None:
    if frames > MAX_FRAMES:
        raise Refused(error("too_long", at, f"There should be at most {MAX_FRAMES} frames, not {frames}", None))
