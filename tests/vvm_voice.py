"""A tiny VVM with every domain, whose sound is a sine of the pitch that is asked: exact, and there in milliseconds.

Lengths are 0.05 s + 2 ms for each phoneme number + 10 ms for each inner voice; `pitch` says what pitches are. Its
segments and its whole decoder compute the same numbers, so that one is the test of the other.
"""

from __future__ import annotations

import json
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

ID = "6f1f0f35-6a4d-4a8f-8a4c-0a5d0b4f2a11"
UUIDS = ("a3c1d2c4-5f0e-4a57-9c55-3b1f7a9f0001", "a3c1d2c4-5f0e-4a57-9c55-3b1f7a9f0002")
TALK, STREAMING, TEACHER, DECODER, SING = 201, 202, 203, 204, 205
INNER = 3

_HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
# Samples of frames: hertz, loudness and the phase in turns at which each frame starts.
_RENDER = """
  ramp = Mul (steps, hz_a_sample)
  phase = Add (start, ramp)
  two_pi = Constant <value_float = 6.283185307179586> ()
  angle = Mul (phase, two_pi)
  sine = Sin (angle)
  loud = Mul (sine, volume)
"""
_SOURCE = """
  turns_a_sample = Constant <value_float = 4.1666666666666665e-05> ()
  turns = Constant <value_float = 0.010666666666666666> ()
  hz_a_sample = Mul (hz, turns_a_sample)
  step_numbers = Constant <value_ints = [{steps}]> ()
  step_floats = Cast <to = 1> (step_numbers)
  row = Constant <value_ints = [1, 256]> ()
  steps = Reshape (step_floats, row)
"""
_PHASE = """
  turns_a_frame = Mul (hz, turns)
  first_axis = Constant <value_int = 0> ()
  turned = CumSum <exclusive = 1> (turns_a_frame, first_axis)
  whole = Floor (turned)
  start = Sub (turned, whole)
"""
# f0 [T, 1] and phoneme [T, 45] to hertz and loudness, both [T, 1].
_TALK = """
  zero = Constant <value_float = 0.0> ()
  voiced = Greater (f0, zero)
  audible = Cast <to = 1> (voiced)
  any_hz = Exp (f0)
  hz = Mul (any_hz, audible)
  level = Constant <value_float = 0.3> ()
  voice = Cast <to = 1> (speaker_id)
  hundredth = Constant <value_float = 0.01> ()
  louder = Mul (voice, hundredth)
  its_level = Add (level, louder)
  volume = Mul (audible, its_level)
"""
_FLAT = """
  flat = Constant <value_ints = [-1]> ()
"""


def _source() -> str:
    return _SOURCE.format(steps=", ".join(map(str, range(256))))


_DURATION = """duration (int64[n] phoneme_list, int64[1] speaker_id) => (float[n] phoneme_length) {
  phoneme = Cast <to = 1> (phoneme_list)
  two = Constant <value_float = 0.002> ()
  of_phoneme = Mul (phoneme, two)
  voice = Cast <to = 1> (speaker_id)
  ten = Constant <value_float = 0.01> ()
  of_voice = Mul (voice, ten)
  base = Constant <value_float = 0.05> ()
  both = Add (of_phoneme, of_voice)
  phoneme_length = Add (both, base)
}"""


def _intonation() -> str:
    terms = []
    names = list(_WEIGHTS)
    for number, (name, weight) in enumerate(_WEIGHTS.items()):
        terms.append(f"  float{number} = Cast <to = 1> ({name})")
        terms.append(f"  weight{number} = Constant <value_float = {weight}> ()")
        terms.append(f"  term{number} = Mul (float{number}, weight{number})")
    total = ", ".join(f"term{number}" for number in range(len(names)))
    inputs = ", ".join(f"int64[length_] {name}" for name in names if name != "speaker_id")
    return (
        f"intonation (int64 length, {inputs}, int64[1] speaker_id) => (float[length_] f0_list) {{\n"
        + "\n".join(terms)
        + f"\n  base = Constant <value_float = 5.0> ()\n  f0_list = Sum ({total}, base)\n}}"
    )


_WEIGHTS = {
    "vowel_phoneme_list": 0.004,
    "consonant_phoneme_list": 0.002,
    "start_accent_list": 0.1,
    "end_accent_list": -0.05,
    "start_accent_phrase_list": 0.03,
    "end_accent_phrase_list": -0.02,
    "speaker_id": 0.1,
}


def pitch(vowel: int, consonant: int, marks: tuple[int, int, int, int], voice: int) -> float:
    """ln Hz; `marks`: whether a mora starts the accent, ends it, starts the phrase, ends it."""
    numbers = (vowel, consonant, *marks, voice)
    return 5.0 + sum(number * weight for number, weight in zip(numbers, _WEIGHTS.values(), strict=True))


_CONSONANTS = """consonants_ (int64[b,n] consonants, int64[b,n] vowels, int64[b,n] note_durations, int64[1] speaker_id)
  => (int64[b,n] consonant_lengths) {
  none = Constant <value_int = -1> ()
  is_there = Greater (consonants, none)
  one = Cast <to = 7> (is_there)
  length = Constant <value_int = 5> ()
  consonant_lengths = Mul (one, length)
}"""
_F0 = """f0 (int64[b,t] phonemes, int64[b,t] notes, int64[1] speaker_id) => (float[b,t] f0s) {
  none = Constant <value_int = -1> ()
  sounds = Greater (notes, none)
  audible = Cast <to = 1> (sounds)
  key = Cast <to = 1> (notes)
  a4 = Constant <value_float = 69.0> ()
  above = Sub (key, a4)
  twelfth = Constant <value_float = 0.08333333333333333> ()
  octaves = Mul (above, twelfth)
  two = Constant <value_float = 2.0> ()
  ratio = Pow (two, octaves)
  hertz = Constant <value_float = 440.0> ()
  any_hz = Mul (ratio, hertz)
  f0s = Mul (any_hz, audible)
}"""
_VOLUME = """volume (int64[b,t] phonemes, int64[b,t] notes, float[b,t] frame_f0s, int64[1] speaker_id)
  => (float[b,t] volumes) {
  zero = Constant <value_float = 0.0> ()
  sounds = Greater (frame_f0s, zero)
  audible = Cast <to = 1> (sounds)
  level = Constant <value_float = 0.5> ()
  volumes = Mul (audible, level)
}"""


def _decode() -> str:
    return (
        "decode (float[t,1] f0, float[t,45] phoneme, int64[1] speaker_id) => (float[samples] wave) {"
        + (_TALK + _source() + _PHASE + _RENDER + _FLAT)
        + "  wave = Reshape (loud, flat)\n}"
    )


def _intermediate() -> str:
    rest = "  one_row = Shape <start = 0, end = 1> (hz)\n  others = Constant <value_ints = [77]> ()\n"
    return (
        "intermediate (float[t,1] f0, float[t,45] phoneme, int64[1] speaker_id) => (float[t,80] spec) {"
        + (_TALK + "  turns = Constant <value_float = 0.010666666666666666> ()\n" + _PHASE + rest)
        + "  shape = Concat <axis = 0> (one_row, others)\n  nothing = ConstantOfShape (shape)\n"
        + "  spec = Concat <axis = 1> (hz, volume, start, nothing)\n}"
    )


def _segment() -> str:
    return (
        "segment (float[t,80] spec) => (float[samples] wave) {\n"
        "  parts = Constant <value_ints = [1, 1, 1, 77]> ()\n"
        "  hz, volume, start, nothing = Split <axis = 1> (spec, parts)\n"
        + (_source() + _RENDER + _FLAT)
        + "  wave = Reshape (loud, flat)\n}"
    )


def _sf_decode() -> str:
    column = "  column = Constant <value_ints = [-1, 1]> ()\n"
    return (
        "sf (int64[b,t] frame_phonemes, float[b,t] frame_f0s, float[b,t] frame_volumes, int64[1] speaker_id)"
        " => (float[b,samples] wav) {\n"
        + (column + "  hz = Reshape (frame_f0s, column)\n  volume = Reshape (frame_volumes, column)\n")
        + (_source() + _PHASE + _RENDER)
        + "  line = Constant <value_ints = [1, -1]> ()\n  wav = Reshape (loud, line)\n}"
    )


@cache
def model(operation: str) -> bytes:
    """The ONNX model of an operation, with the reference's names."""
    import onnx.checker
    import onnx.parser

    texts = {
        "predict_duration": _DURATION,
        "predict_intonation": _intonation(),
        "decode": _decode(),
        "generate_full_intermediate": _intermediate(),
        "render_audio_segment": _segment(),
        "predict_sing_consonant_length": _CONSONANTS,
        "predict_sing_f0": _F0,
        "predict_sing_volume": _VOLUME,
        "sf_decode": _sf_decode(),
    }
    parsed = onnx.parser.parse_model(_HEAD + texts[operation])
    onnx.checker.check_model(parsed, full_check=True)
    return bytes(parsed.SerializeToString())


_DOMAINS = {
    "talk": ("predict_duration", "predict_intonation", "decode"),
    "streaming_talk": (
        "predict_duration",
        "predict_intonation",
        "generate_full_intermediate",
        "render_audio_segment",
    ),
    "singing_teacher": ("predict_sing_consonant_length", "predict_sing_f0", "predict_sing_volume"),
    "frame_decode": ("sf_decode",),
}


def manifest(*domains: str, version: int = 2, inner: dict[int, int] | None = None) -> dict[str, Any]:
    """Of a file with these domains; `inner` are inner voices by style id."""
    inner = {TALK: INNER, STREAMING: 4} if inner is None else inner
    return {
        "vvm_format_version": version,
        "id": ID,
        "metas_filename": "metas.json",
        **{
            domain: {
                **{name: {"type": "onnx", "filename": f"{name}.onnx"} for name in _DOMAINS[domain]},
                "style_id_to_inner_voice_id": {str(style): voice for style, voice in inner.items()},
            }
            for domain in domains
        },
    }


def character(number: int, styles: dict[int, str], **values: Any) -> dict[str, Any]:
    return {
        "name": f"sine {number + 1}",
        "styles": [{"name": f"style {id_}", "id": id_, "type": type_} for id_, type_ in styles.items()],
        "speaker_uuid": UUIDS[number],
        "version": "1.0.0",
        **values,
    }


METAS = (
    character(0, {TALK: "talk", TEACHER: "singing_teacher", DECODER: "frame_decode"}),
    character(1, {STREAMING: "streaming_talk", SING: "sing"}),
)


def members(
    domains: tuple[str, ...] = tuple(_DOMAINS), metas: tuple[dict[str, Any], ...] = METAS, **values: Any
) -> dict[str, bytes]:
    """All files of a VVM by their names; `values` are those of `manifest`."""
    operations = {name for domain in domains for name in _DOMAINS[domain]}
    return {
        "manifest.json": json.dumps(manifest(*domains, **values)).encode(),
        "metas.json": json.dumps(metas).encode(),
        **{f"{name}.onnx": model(name) for name in sorted(operations)},
    }


def write_vvm(path: Path, files: dict[str, bytes] | None = None) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (members() if files is None else files).items():
            archive.writestr(name, content)
    return path
