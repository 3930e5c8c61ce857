"""Bodies to plain values: what is taken as it is, what is refused and where, and what bounds it all."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import msgspec
import pytest

from koegumi.schema import plain
from koegumi.schema.echo import MAX_ERRORS
from koegumi.schema.http import (
    ACCENT_PHRASES,
    ACCENTED_PHRASES,
    AUDIO_QUERY,
    MAX_ECHO_BYTES,
    MAX_MORAS,
    decode,
)
from koegumi.schema.reading import MAX_SECONDS, Decoded
from tests.api.fake import MORA, PAUSE, PHRASE, QUERY

Path = tuple[str | int, ...]
FLOATS: list[Path] = [
    *((name,) for name in QUERY if name.endswith(("Scale", "Length")) or name == "pauseLengthScale"),
    *(("accent_phrases", 0, "moras", 1, name) for name in ("consonant_length", "vowel_length", "pitch")),
    ("accent_phrases", 0, "pause_mora", "vowel_length"),
]


def changed(path: Path, value: object, source: Any = QUERY) -> Any:
    """A copy with one value set, in phrases of its own."""
    copy = json.loads(json.dumps(source))
    place = copy
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return copy


def without(*names: str) -> dict[str, Any]:
    return {name: value for name, value in QUERY.items() if name not in names}


def read(value: object, model: str = AUDIO_QUERY) -> Decoded:
    return decode(model, json.dumps(value).encode())


def query_of(decoded: Decoded) -> plain.AudioQuery:
    assert decoded.errors is None, decoded.errors
    return msgspec.msgpack.decode(decoded.value, type=plain.AudioQuery)


def errors_of(decoded: Decoded) -> list[tuple[str, Path]]:
    assert decoded.errors is not None
    assert decoded.value == b""
    json.dumps(decoded.errors, allow_nan=False).encode()
    return [(error["type"], tuple(error["loc"])) for error in decoded.errors]


def phrases(count: int, moras: int) -> list[dict[str, Any]]:
    return [{"moras": [MORA] * moras, "accent": 1}] * count


def test_a_query_comes_out_as_it_went_in() -> None:
    decoded = read(QUERY)
    assert query_of(decoded) == msgspec.json.decode(json.dumps(QUERY), type=plain.AudioQuery)
    assert decoded.moras == 2


def test_old_queries_get_the_defaults() -> None:
    query = query_of(read(without("pauseLength", "pauseLengthScale", "kana")))
    assert (query.pause_length, query.pause_length_scale, query.kana) == (None, 1, None)
    mora = {"text": "ア", "vowel": "a", "vowel_length": 0.1, "pitch": 5}
    (phrase,) = query_of(read(QUERY | {"accent_phrases": [{"moras": [mora], "accent": 1}]})).accent_phrases
    assert phrase == plain.AccentPhrase([plain.Mora("ア", None, None, "a", 0.1, 5)], 1)


def test_values_are_lax_and_other_fields_ignored() -> None:
    lax = {"speedScale": "1.5", "outputStereo": "yes", "outputSamplingRate": 48000.0, "foo": [1, {"bar": None}]}
    query = query_of(read(QUERY | lax))
    assert (query.speed_scale, query.output_stereo, query.output_sampling_rate) == (1.5, True, 48000)


def test_extremes_that_can_be_spoken_are_accepted() -> None:
    for changes in (
        {"speedScale": 0.5, "volumeScale": 100, "intonationScale": 0, "pitchScale": -0.15},
        {"prePhonemeLength": 0, "postPhonemeLength": 0, "pauseLength": 0, "pauseLengthScale": 0},
        {"outputSamplingRate": 8000},
        {"outputSamplingRate": 96000, "outputStereo": True},
        {"kana": "", "accent_phrases": []},
        {"accent_phrases": [{"moras": [], "accent": 0}]},
        {"accent_phrases": [PHRASE | {"accent": accent} for accent in (-1, 0, 3, 100)]},
        {"accent_phrases": changed((0, "moras", 0, "pitch"), -0.2, [PHRASE])},
    ):
        assert read(QUERY | changes).errors is None, changes


@pytest.mark.parametrize("path", FLOATS, ids=str)
@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity", "1e400", "-1e400", '"NaN"', '"inf"', '"1e400"'])
def test_numbers_are_finite(path: Path, literal: str) -> None:
    body = json.dumps(changed(path, "HERE")).replace('"HERE"', literal)
    ((kind, location),) = errors_of(decode(AUDIO_QUERY, body.encode()))
    assert kind == "finite_number"
    assert location == ("body", *path)


@pytest.mark.parametrize(
    ("path", "value", "kind"),
    [
        (("speedScale",), 0, "greater_than"),
        (("speedScale",), -1, "greater_than"),
        (("speedScale",), "fast", "float_parsing"),
        (("pitchScale",), 400, "less_than_equal"),
        (("intonationScale",), 1e300, "less_than_equal"),
        (("volumeScale",), -1, "greater_than_equal"),
        (("prePhonemeLength",), -1, "greater_than_equal"),
        (("postPhonemeLength",), -0.001, "greater_than_equal"),
        (("pauseLength",), -1, "greater_than_equal"),
        (("pauseLengthScale",), -1, "greater_than_equal"),
        (("pauseLengthScale",), None, "float_type"),
        (("outputSamplingRate",), 0, "greater_than_equal"),
        (("outputSamplingRate",), -24000, "greater_than_equal"),
        (("outputSamplingRate",), 10**9, "less_than_equal"),
        (("outputSamplingRate",), 24000.5, "int_from_float"),
        (("accent_phrases", 0, "accent"), 10**30, "less_than"),
        (("accent_phrases", 0, "moras", 1, "vowel"), "invalid", "unknown_phoneme"),
        (("accent_phrases", 0, "moras", 1, "vowel"), "k", "unknown_phoneme"),
        (("accent_phrases", 0, "moras", 1, "consonant"), "zzz", "unknown_phoneme"),
        (("accent_phrases", 0, "moras", 1, "consonant"), "", "unknown_phoneme"),
        (("accent_phrases", 0, "moras", 1, "consonant_length"), -0.1, "greater_than_equal"),
        (("accent_phrases", 0, "moras", 1, "vowel_length"), -0.1, "greater_than_equal"),
        (("accent_phrases", 0, "moras", 1, "pitch"), 100, "less_than_equal"),
        (("accent_phrases", 0, "pause_mora", "vowel"), "?", "unknown_phoneme"),
        (("accent_phrases", 0, "pause_mora", "consonant"), "k", "consonant_in_silence"),
    ],
    ids=str,
)
def test_what_cannot_be_spoken_is_refused_at_its_field(path: Path, value: object, kind: str) -> None:
    assert errors_of(read(changed(path, value))) == [(kind, ("body", *path))]


def test_all_missing_fields_are_told_with_their_input() -> None:
    errors = read({}).errors
    assert errors is not None
    assert [error["loc"][1] for error in errors] == list(without("pauseLength", "pauseLengthScale", "kana"))
    assert errors[0] == {"type": "missing", "loc": ["body", "accent_phrases"], "msg": "Field required", "input": {}}


def test_a_consonant_and_its_length_come_together() -> None:
    alone = [changed((0, "pause_mora", "consonant_length"), 0.1, [PHRASE])[0]]
    without_length = [changed((0, "moras", 1, "consonant_length"), None, [PHRASE])[0]]
    at_pause, at_mora = (0, "pause_mora", "consonant_length"), (0, "moras", 1, "consonant_length")
    assert errors_of(read(QUERY | {"accent_phrases": alone})) == [
        ("length_without_consonant", ("body", "accent_phrases", *at_pause))
    ]
    assert errors_of(read(alone, ACCENT_PHRASES)) == [("length_without_consonant", ("body", *at_pause))]
    assert errors_of(read(QUERY | {"accent_phrases": without_length})) == [
        ("missing", ("body", "accent_phrases", *at_mora))
    ]
    # /mora_length is about to give it one.
    assert read(without_length, ACCENT_PHRASES).errors is None


@pytest.mark.parametrize("accent", [-1, 0, 3])
def test_an_accent_is_checked_for_those_who_read_it(accent: int) -> None:
    body = [PHRASE, PHRASE | {"accent": accent}]
    assert errors_of(read(body, ACCENTED_PHRASES)) == [("accent_out_of_range", ("body", 1, "accent"))]
    decoded = read(body, ACCENT_PHRASES)
    assert decoded.errors is None
    assert msgspec.msgpack.decode(decoded.value, type=list[plain.AccentPhrase])[1].accent == accent
    assert decoded.moras == 4


def test_every_mora_can_have_the_accent() -> None:
    assert read([PHRASE | {"accent": 1}, PHRASE | {"accent": 2}], ACCENTED_PHRASES).errors is None


@pytest.mark.parametrize(
    ("changes", "seconds"),
    [
        ({}, 0.1 + 2 * 0.14 + 0.3 + 0.1),
        ({"speedScale": 2}, (0.1 + 2 * 0.14 + 0.3 + 0.1) / 2),
        ({"pauseLength": 1, "pauseLengthScale": 0.5}, 0.1 + 2 * 0.14 + 0.5 + 0.1),
        ({"pauseLengthScale": 2}, 0.1 + 2 * 0.14 + 0.6 + 0.1),
        ({"prePhonemeLength": 1.5, "postPhonemeLength": 0}, 1.5 + 2 * 0.14 + 0.3),
        ({"accent_phrases": []}, 0.2),
        ({"accent_phrases": [PHRASE | {"is_interrogative": True}]}, 0.1 + 2 * 0.14 + 0.15 + 0.3 + 0.1),
        ({"accent_phrases": [{"moras": [MORA, PAUSE], "accent": 1}], "pauseLength": 2}, 0.1 + 0.14 + 2 + 0.1),
    ],
    ids=str,
)
def test_the_sound_s_length_is_known_before(changes: dict[str, Any], seconds: float) -> None:
    assert read(QUERY | changes).seconds == pytest.approx(seconds)


def test_sound_is_bounded() -> None:
    whole = QUERY | {"accent_phrases": [], "postPhonemeLength": 0}
    longest = whole | {"prePhonemeLength": MAX_SECONDS}
    assert read(longest | {"outputSamplingRate": 48000, "outputStereo": True}).errors is None
    for changes in (
        {"prePhonemeLength": MAX_SECONDS + 1, "outputSamplingRate": 1000},
        {"outputSamplingRate": 96000, "outputStereo": True},
        {"speedScale": 0.99},
        {"speedScale": 1e-300, "prePhonemeLength": 1e300},
        {"accent_phrases": [PHRASE | {"is_interrogative": True}], "speedScale": 1e-5},
    ):
        ((kind, location),) = errors_of(read(longest | changes))
        assert (kind, location) == ("sound_too_long", ("body",))
    (error,) = read(longest | {"speedScale": 0.5}).errors or []
    assert "1800 s" in error["msg"]


def test_speech_is_bounded() -> None:
    most = phrases(100, MAX_MORAS // 100 - 1)
    assert read(most, ACCENTED_PHRASES).moras == MAX_MORAS - 100
    assert errors_of(read([*most, PHRASE], ACCENTED_PHRASES)) == [("too_long", ("body",))]
    query = QUERY | {"accent_phrases": [*most, PHRASE], "speedScale": 10}
    assert errors_of(read(query)) == [("too_long", ("body", "accent_phrases"))]


def test_a_small_body_cannot_make_a_large_answer() -> None:
    bodies: list[list[Any]] = [[1] * 30_000, [{}] * 20_000, [{"moras": [1] * 20_000, "accent": 1}]]
    for wrong in bodies:
        assert errors_of(read(wrong, ACCENT_PHRASES)) == [("too_long", ("body",))]
    assert len(errors_of(read([1] * 200, ACCENT_PHRASES))) <= MAX_ERRORS
    large = {"x": "y" * MAX_ECHO_BYTES}
    for error in read(large).errors or []:
        assert "input" not in error


@pytest.mark.parametrize(
    ("body", "kind", "location"),
    [
        (b"", "missing", ("body",)),
        (b" \n", "missing", ("body",)),
        (b"null", "missing", ("body",)),
        (b'{"a": 1,}', "json_invalid", ("body", 8)),
        (b"\xff\xfe\xfd", "json_invalid", ("body", 2)),
        (b"[" * 100_000, "json_invalid", ("body", 0)),
        (b'{"a":' * 100_000, "json_invalid", ("body", 0)),
        (b"9" * 10_000, "json_invalid", ("body", 0)),
        (b"[]", "model_attributes_type", ("body",)),
        (b'"text"', "model_attributes_type", ("body",)),
        (b"1e400", "model_attributes_type", ("body",)),
        (b'"\\ud800"', "model_attributes_type", ("body",)),
    ],
)
def test_what_is_no_query_at_all(body: bytes, kind: str, location: Path) -> None:
    assert errors_of(decode(AUDIO_QUERY, body)) == [(kind, location)]


def test_halves_of_surrogate_pairs_are_refused() -> None:
    for path in (("kana",), ("accent_phrases", 0, "moras", 1, "text")):
        assert errors_of(read(changed(path, "\ud800"))) == [("string_unicode", ("body",))]
    assert read(changed(("kana",), "\U0001f60a")).errors is None


def test_a_list_is_no_query_and_a_query_no_list() -> None:
    assert errors_of(read(QUERY, ACCENT_PHRASES)) == [("list_type", ("body",))]
    assert errors_of(read([QUERY], ACCENT_PHRASES)) == [("missing", ("body", 0, name)) for name in ("moras", "accent")]


def test_json_errors_are_fastapi_s() -> None:
    assert decode(AUDIO_QUERY, b"{").errors == [
        {
            "type": "json_invalid",
            "loc": ["body", 1],
            "msg": "JSON decode error",
            "input": {},
            "ctx": {"error": "Expecting property name enclosed in double quotes"},
        }
    ]


def test_nothing_of_the_request_is_changed() -> None:
    before = deepcopy(QUERY)
    read(QUERY)
    assert before == QUERY
