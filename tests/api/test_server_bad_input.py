"""Bad input over HTTP: a clear 4xx that names the field, and no worker dies."""

from __future__ import annotations

import copy
import json
import math
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.harness import Server

Query = dict[str, Any]
SPEAKER = 1
UNKNOWN_STYLE = {"message": "指定されたスタイルが見つかりませんでした。"}


@pytest.fixture
def client(cast: Server) -> Iterator[httpx.Client]:
    """A client; afterwards the same workers are there and answer."""
    before = cast.worker_pids()
    with cast.client() as client:
        yield client
        assert client.post("/audio_query", params={"speaker": SPEAKER, "text": "はい"}).status_code == 200
    assert not cast.log.events("worker ended")
    assert cast.worker_pids() == before


def speak(client: httpx.Client, query: Query, speaker: int | str = SPEAKER) -> httpx.Response:
    """Posts also what JSON does not know: NaN and Infinity."""
    return client.post("/synthesis", params={"speaker": speaker}, content=json.dumps(query))


def named(answer: httpx.Response) -> list[str]:
    """The fields that the answer names, dotted; its body must be JSON without NaN."""
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/json"

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    body = json.loads(answer.content, parse_constant=refuse)
    return [".".join(map(str, error["loc"])) for error in body["detail"]]


@pytest.mark.parametrize("speaker", [-1, 99999, 2**31, 2**63, 10**30])
@pytest.mark.parametrize("path", ["/audio_query", "/synthesis", "/initialize_speaker"])
def test_unknown_speaker(client: httpx.Client, query: Query, path: str, speaker: int) -> None:
    answer = client.post(path, params={"speaker": speaker, "text": "はい"}, json=query)
    assert (answer.status_code, answer.json()) == (422, UNKNOWN_STYLE)


def test_a_speaker_that_is_no_number(client: httpx.Client, query: Query) -> None:
    assert named(speak(client, query, "abc")) == ["query.speaker"]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "NaN", "inf"])
@pytest.mark.parametrize("field", ["speedScale", "pitchScale", "volumeScale", "prePhonemeLength", "pauseLength"])
def test_numbers_that_are_none(client: httpx.Client, query: Query, field: str, value: object) -> None:
    assert named(speak(client, {**query, field: value})) == [f"body.{field}"]


def test_a_number_too_large_for_a_float(client: httpx.Client, query: Query) -> None:
    body = json.dumps(query).replace('"volumeScale": 1.0', '"volumeScale": 1e400')
    assert "1e400" in body
    answer = client.post("/synthesis", params={"speaker": SPEAKER}, content=body)
    assert named(answer) == ["body.volumeScale"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("speedScale", 0),
        ("speedScale", -1),
        ("outputSamplingRate", 0),
        ("outputSamplingRate", -24000),
        ("outputSamplingRate", 10**9),
        ("prePhonemeLength", -1),
        ("postPhonemeLength", -0.1),
        ("pauseLength", -1),
        ("pauseLengthScale", -1),
        ("pauseLengthScale", None),
        ("volumeScale", -1),
    ],
)
def test_values_out_of_range(client: httpx.Client, query: Query, field: str, value: object) -> None:
    assert named(speak(client, {**query, field: value})) == [f"body.{field}"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("vowel", "invalid"),
        ("vowel", ""),
        ("consonant", "zzz"),
        ("vowel_length", -0.1),
        ("consonant_length", -0.1),
        ("pitch", math.nan),
        ("consonant_length", math.inf),
    ],
)
def test_a_wrong_mora_is_named_by_its_path(client: httpx.Client, query: Query, field: str, value: object) -> None:
    query["accent_phrases"][0]["moras"][2][field] = value
    assert named(speak(client, query)) == [f"body.accent_phrases.0.moras.2.{field}"]


def test_a_consonant_length_without_a_consonant(client: httpx.Client, query: Query) -> None:
    query["accent_phrases"][0]["moras"][1]["consonant"] = None
    assert named(speak(client, query)) == ["body.accent_phrases.0.moras.1.consonant_length"]


@pytest.mark.parametrize("accent", [0, -1, 4, 1000])
def test_an_accent_beyond_the_morae(client: httpx.Client, query: Query, accent: int) -> None:
    phrases = copy.deepcopy(query["accent_phrases"])
    phrases[0]["accent"] = query["accent_phrases"][0]["accent"] = accent
    for path in ("/mora_pitch", "/mora_data"):
        answer = client.post(path, params={"speaker": SPEAKER}, json=phrases)
        assert named(answer) == ["body.0.accent"]
    assert client.post("/mora_length", params={"speaker": SPEAKER}, json=phrases).status_code == 200
    assert speak(client, query).status_code == 200


def test_json_without_a_content_type(client: httpx.Client, query: Query) -> None:
    answer = speak(client, query)
    assert "content-type" not in answer.request.headers
    assert (answer.status_code, answer.headers["content-type"]) == (200, "audio/wav")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'"text"', b"\xff\xfe", b"[" * 100_000])
def test_bodies_that_are_no_query(client: httpx.Client, body: bytes) -> None:
    answer = client.post("/synthesis", params={"speaker": SPEAKER}, content=body)
    assert all(name.startswith("body") for name in named(answer))


def test_a_body_of_a_gigabyte_is_refused_early(client: httpx.Client) -> None:
    url = client.base_url
    with socket.create_connection((url.host, url.port or 0)) as sock:
        head = f"POST /synthesis?speaker={SPEAKER} HTTP/1.1\r\nHost: {url.host}\r\nContent-Length: {10**9}\r\n\r\n"
        sock.sendall(head.encode())
        assert sock.recv(1024).startswith(b"HTTP/1.1 413")


def test_too_much_sound_is_refused_with_the_limit(client: httpx.Client, query: Query) -> None:
    answer = speak(client, {**query, "prePhonemeLength": 10**6})
    assert answer.status_code == 422
    assert "1800" in answer.text


@pytest.mark.parametrize(
    ("text", "speaks"),
    [
        ("え" * 343, True),
        ("え" * 344, True),
        ("ア" * 2700, True),
        ("ア" * 2734, True),
        ("今日は良い天気ですね。" * 249, True),
        ("？" * 2735, False),
        ("", False),
        (" !", False),
        ("。。。", False),
        ("……", False),
        ("「」", False),
        ("😊", False),
        ("👨‍👩‍👧‍👦", False),
        ("🇯🇵", False),
        ("\0", False),
        ("「――は」", True),
        ("172.16.0.1", True),
        ("pneumonoultramicroscopicsilicovolcanoconiosis", True),
    ],
    ids=lambda value: str(value)[:12].encode("unicode_escape").decode(),
)
def test_texts_that_killed_others(client: httpx.Client, text: str, speaks: bool) -> None:
    answer = client.post("/audio_query", params={"speaker": SPEAKER, "text": text})
    assert answer.status_code == 200
    query = answer.json()
    assert bool(query["accent_phrases"]) == speaks
    if not speaks:
        assert query["kana"] == ""
        sound = speak(client, query)
        assert (sound.status_code, len(sound.content)) == (200, 44 + 2 * 18 * 256)


def test_an_audio_query_as_text(client: httpx.Client, query: Query) -> None:
    text = json.dumps(query, ensure_ascii=False) * 8
    answer = client.post("/audio_query", params={"speaker": SPEAKER, "text": text})
    assert answer.status_code in (200, 422)


def test_a_query_as_it_was_saved_long_ago(client: httpx.Client, query: Query) -> None:
    for name in ("pauseLength", "pauseLengthScale", "kana"):
        del query[name]
    assert speak(client, {**query, "unknown": 1}).content == speak(client, query).content
