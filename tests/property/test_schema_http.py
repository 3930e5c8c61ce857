"""Whatever the bytes, `decode` answers, and what it lets through can be spoken."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from koegumi.schema import plain, score
from koegumi.schema.echo import safe
from koegumi.schema.http import ACCENT_PHRASES, ACCENTED_PHRASES, AUDIO_QUERIES, AUDIO_QUERY, STRINGS, STYLE_IDS, decode
from koegumi.schema.phonemes import CONSONANTS, VOWELS
from koegumi.schema.reading import MAX_SECONDS, Decoded
from koegumi.schema.song import FRAME_AUDIO_QUERY, SCORE, SCORE_AND_FRAMES
from tests.api.fake import MORA, PAUSE, PHRASE, QUERY

untimed = settings(deadline=None)

TALK = [AUDIO_QUERY, ACCENT_PHRASES, ACCENTED_PHRASES, AUDIO_QUERIES]
MODELS = st.sampled_from([*TALK, STYLE_IDS, STRINGS, SCORE, FRAME_AUDIO_QUERY, SCORE_AND_FRAMES])
PLAIN: dict[str, Any] = {
    ACCENT_PHRASES: list[plain.AccentPhrase],
    ACCENTED_PHRASES: list[plain.AccentPhrase],
    AUDIO_QUERIES: list[plain.CheckedQuery],
    STYLE_IDS: list[int],
    STRINGS: list[str],
    SCORE: score.Score,
    FRAME_AUDIO_QUERY: score.FrameAudioQuery,
    SCORE_AND_FRAMES: score.ScoreAndFrames,
}
NOTE = {"id": "a", "key": 60, "frame_length": 10, "lyric": "ド"}
FRAMES = {
    "f0": [0.0, 440.0],
    "volume": [0.0, 0.5],
    "phonemes": [{"phoneme": "pau", "frame_length": 1}, {"phoneme": "a", "frame_length": 1, "note_id": None}],
    "volumeScale": 1.0,
    "outputSamplingRate": 24000,
    "outputStereo": False,
}
SURROGATES = st.text(st.characters(codec=None), max_size=5)
NUMBERS = st.integers() | st.floats() | st.sampled_from([10**400, 2**63, 2**64, -0.0, 5e-324, 1.7e308])
LEAVES = st.none() | st.booleans() | NUMBERS | SURROGATES | st.sampled_from(sorted(CONSONANTS | VOWELS))
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*MORA, *PHRASE, *QUERY]) | SURROGATES, inner, max_size=4)
    ),
    max_leaves=10,
)


def near(example: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """The example with some values replaced."""
    changes = st.dictionaries(st.sampled_from(list(example)), VALUES, max_size=3)
    return changes.map(lambda values: example | values)


MORAS = near(MORA) | near(PAUSE)
PHRASES = st.builds(
    lambda phrase, moras, pause: phrase | {"moras": moras} | pause,
    near(PHRASE),
    st.lists(MORAS, max_size=3),
    st.just({}) | st.builds(lambda mora: {"pause_mora": mora}, MORAS),
)
QUERIES = st.builds(
    lambda query, phrases: query | {"accent_phrases": phrases}, near(QUERY), st.lists(PHRASES, max_size=3)
)


def check(model: str, body: bytes) -> None:
    decoded = decode(model, body)
    carried = msgspec.msgpack.decode(msgspec.msgpack.encode(decoded), type=Decoded)
    assert carried.seconds == decoded.seconds
    if decoded.errors is not None:
        assert decoded.errors
        json.dumps(decoded.errors, ensure_ascii=False, allow_nan=False).encode()
        assert all(error["loc"][0] == "body" for error in decoded.errors)
    elif model == AUDIO_QUERY:
        query = msgspec.msgpack.decode(decoded.value, type=plain.AudioQuery)
        assert 0 <= decoded.seconds <= MAX_SECONDS
        numbers = (query.pitch_scale, query.intonation_scale, query.volume_scale, query.speed_scale)
        assert all(map(math.isfinite, numbers))
    else:
        assert 0 <= decoded.seconds <= MAX_SECONDS
        msgspec.msgpack.decode(decoded.value, type=PLAIN[model])


@untimed
@given(MODELS, st.binary())
def test_any_bytes(model: str, body: bytes) -> None:
    check(model, body)


@untimed
@given(MODELS, VALUES)
def test_any_json(model: str, value: object) -> None:
    check(model, json.dumps(value).encode())


@untimed
@given(QUERIES)
def test_almost_queries(query: dict[str, Any]) -> None:
    check(AUDIO_QUERY, json.dumps(query).encode())


@untimed
@given(st.sampled_from([ACCENT_PHRASES, ACCENTED_PHRASES]), st.lists(PHRASES, max_size=3))
def test_almost_phrases(model: str, phrases: list[dict[str, Any]]) -> None:
    check(model, json.dumps(phrases).encode())


@untimed
@given(st.lists(QUERIES, max_size=3))
def test_almost_lists_of_queries(queries: list[dict[str, Any]]) -> None:
    check(AUDIO_QUERIES, json.dumps(queries).encode())


@untimed
@given(st.lists(near(NOTE), max_size=3), near(FRAMES))
def test_almost_songs(notes: list[dict[str, Any]], frames: dict[str, Any]) -> None:
    check(SCORE, json.dumps({"notes": notes}).encode())
    check(FRAME_AUDIO_QUERY, json.dumps(frames).encode())
    check(SCORE_AND_FRAMES, json.dumps({"score": {"notes": notes}, "frame_audio_query": frames}).encode())


@untimed
@given(VALUES)
def test_an_echo_is_json_and_msgpack(value: object) -> None:
    json.dumps(safe(value), ensure_ascii=False, allow_nan=False).encode()
    msgspec.msgpack.encode(safe(value))
