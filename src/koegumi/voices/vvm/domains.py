"""What each model of a VVM takes and gives, as VOICEVOX CORE's table of inference domains has it."""

from __future__ import annotations

from koegumi.voices.vvm.signature import Port, Signature

FORMAT_VERSIONS = (1, 2)

TALK, STREAMING_TALK = "talk", "streaming_talk"
SINGING_TEACHER, FRAME_DECODE, SING = "singing_teacher", "frame_decode", "sing"


def _ports(text: str) -> tuple[Port, ...]:
    """`name type/rank`, several separated by commas."""
    ports = (port.split() for port in text.split(","))
    return tuple(Port(name, type_.split("/")[0], int(type_.split("/")[1])) for name, type_ in ports)


def _signature(inputs: str, outputs: str) -> Signature:
    return Signature(_ports(inputs), _ports(outputs))


_PREDICT_DURATION = _signature("phoneme_list int64/1, speaker_id int64/1", "phoneme_length float32/1")
_PREDICT_INTONATION = _signature(
    "length int64/0, vowel_phoneme_list int64/1, consonant_phoneme_list int64/1, start_accent_list int64/1,"
    "end_accent_list int64/1, start_accent_phrase_list int64/1, end_accent_phrase_list int64/1, speaker_id int64/1",
    "f0_list float32/1",
)
_FRAMES = "f0 float32/2, phoneme float32/2, speaker_id int64/1"
_NOTES = "phonemes int64/2, notes int64/2"

# By domain, then by operation.
DOMAINS: dict[str, dict[str, Signature]] = {
    TALK: {
        "predict_duration": _PREDICT_DURATION,
        "predict_intonation": _PREDICT_INTONATION,
        "decode": _signature(_FRAMES, "wave float32/1"),
    },
    STREAMING_TALK: {
        "predict_duration": _PREDICT_DURATION,
        "predict_intonation": _PREDICT_INTONATION,
        "generate_full_intermediate": _signature(_FRAMES, "spec float32/2"),
        "render_audio_segment": _signature("spec float32/2", "wave float32/1"),
    },
    SINGING_TEACHER: {
        "predict_sing_consonant_length": _signature(
            "consonants int64/2, vowels int64/2, note_durations int64/2, speaker_id int64/1",
            "consonant_lengths int64/2",
        ),
        "predict_sing_f0": _signature(f"{_NOTES}, speaker_id int64/1", "f0s float32/2"),
        "predict_sing_volume": _signature(f"{_NOTES}, frame_f0s float32/2, speaker_id int64/1", "volumes float32/2"),
    },
    FRAME_DECODE: {
        "sf_decode": _signature(
            "frame_phonemes int64/2, frame_f0s float32/2, frame_volumes float32/2, speaker_id int64/1", "wav float32/2"
        )
    },
}

# What a style of each type needs.
NEEDED: dict[str, tuple[str, ...]] = {
    TALK: (TALK,),
    STREAMING_TALK: (STREAMING_TALK,),
    SINGING_TEACHER: (SINGING_TEACHER,),
    FRAME_DECODE: (FRAME_DECODE,),
    SING: (SINGING_TEACHER, FRAME_DECODE),
}


def domains_of(version: int) -> list[str]:
    return [domain for domain in DOMAINS if domain != STREAMING_TALK or version > 1]
