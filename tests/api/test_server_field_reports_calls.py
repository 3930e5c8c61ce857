"""Field reports on ids, clients, ranges and hostile calls: C050, C057, C058, C151, C152, C182."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.harness import Server

SPEAKER = 1
NOTES = [
    {"id": None, "key": None, "frame_length": 15, "lyric": ""},
    {"id": None, "key": 60, "frame_length": 45, "lyric": "ド"},
    {"id": None, "key": None, "frame_length": 15, "lyric": ""},
]


@pytest.fixture(scope="module")
def client(cast: Server) -> Iterator[httpx.Client]:
    with cast.client() as client:
        yield client


@pytest.mark.parametrize(("kind", "types"), [("speaker", {"talk"}), ("singer", {"sing", "frame_decode"})])
def test_each_style_is_listed_once_and_described_once(client: httpx.Client, kind: str, types: set[str]) -> None:
    voices = client.get(f"/{kind}s").json()
    listed = [style["id"] for voice in voices for style in voice["styles"]]
    assert {style["type"] for voice in voices for style in voice["styles"]} == types
    infos = [client.get(f"/{kind}_info", params={"speaker_uuid": voice["speaker_uuid"]}).json() for voice in voices]
    described = [style["id"] for info in infos for style in info["style_infos"]]
    assert listed == described
    assert len(set(listed)) == len(listed)


def test_speaker_is_the_name_on_every_route(client: httpx.Client) -> None:
    document = client.get("/openapi.json").json()
    names = {
        path: {parameter["name"] for operation in item.values() for parameter in operation.get("parameters", [])}
        for path, item in document["paths"].items()
    }
    assert sum("speaker" in each for each in names.values()) == 14
    assert not any("style_id" in each for each in names.values())


def test_calls_by_speaker(client: httpx.Client, query: dict[str, Any]) -> None:
    talk: dict[str, str | int] = {"speaker": SPEAKER, "text": "はい"}
    song: dict[str, str | int] = {"speaker": 9}
    frames = client.post("/sing_frame_audio_query", params=song, json={"notes": NOTES}).json()
    both = {"score": {"notes": NOTES}, "frame_audio_query": frames}
    calls: list[tuple[str, str, dict[str, str | int], Any, int]] = [
        ("GET", "/is_initialized_speaker", talk, None, 200),
        ("POST", "/initialize_speaker", talk, None, 204),
        ("POST", "/audio_query", talk, None, 200),
        ("POST", "/accent_phrases", talk, None, 200),
        *(("POST", path, talk, query["accent_phrases"], 200) for path in ("/mora_data", "/mora_length", "/mora_pitch")),
        ("POST", "/synthesis", talk, query, 200),
        ("POST", "/multi_synthesis", talk, [query], 200),
        *(("POST", path, song, both, 200) for path in ("/sing_frame_f0", "/sing_frame_volume")),
        ("POST", "/frame_synthesis", song, frames, 200),
    ]
    for method, path, params, body, status in calls:
        answer = client.request(method, path, params=params, json=body)
        assert answer.status_code == status, (path, answer.text)
        renamed: dict[str, str | int] = {"text": "はい", "style_id": SPEAKER}
        missing = client.request(method, path, params=renamed, json=body)
        assert (missing.status_code, missing.json()["detail"][0]["loc"]) == (422, ["query", "speaker"]), path


@pytest.mark.parametrize("path", ["/version", "/livez", "/readyz"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_monitors_and_old_http(cast: Server, path: str, method: str) -> None:
    """HTTP/1.0 without a Host: the server answers and closes, and HEAD has no body."""
    address = urlsplit(cast.url)
    with socket.create_connection((address.hostname, address.port), timeout=30) as sock:
        sock.sendall(f"{method} {path} HTTP/1.0\r\n\r\n".encode())
        answer = http.client.HTTPResponse(sock, method=method)
        answer.begin()
        assert answer.status == 200
        assert bool(answer.read()) == (method == "GET")
        assert sock.recv(1) == b""


@pytest.mark.parametrize(
    ("score", "location"),
    [
        ([{"frame_length": -1}], ["body", "notes", 0, "frame_length"]),
        ([{"frame_length": 10**9}], ["body", "notes", 0, "frame_length"]),
        ([{}, {"key": -1}], ["body", "notes", 1, "key"]),
    ],
)
def test_songs_out_of_range_are_named(client: httpx.Client, score: list[dict[str, Any]], location: list[Any]) -> None:
    notes = [note | change for note, change in zip(NOTES, score, strict=False)]
    answer = client.post("/sing_frame_audio_query", params={"speaker": 9}, json={"notes": notes})
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, location)


@pytest.mark.parametrize("field", ["f0", "volume"])
@pytest.mark.parametrize("change", ["short", "negative", "nan"])
def test_curves_that_cannot_be_sung_are_named(client: httpx.Client, field: str, change: str) -> None:
    query = client.post("/sing_frame_audio_query", params={"speaker": 9}, json={"notes": NOTES}).json()
    curve = query[field]
    query[field] = {"short": curve[:-1], "negative": [-1.0, *curve[1:]], "nan": [float("nan"), *curve[1:]]}[change]
    answer = client.post("/frame_synthesis", params={"speaker": 9}, content=json.dumps(query))
    if (field, change) == ("volume", "negative"):  # a volume is a factor; the sound is only turned over
        assert answer.status_code == 200
    else:
        assert answer.status_code == 422
        assert field in json.dumps(answer.json())


PATHS = ["../../etc/passwd", "..%2f..%2fetc%2fpasswd", "/etc/passwd", "%00", "%2e%2e/%2e%2e/etc/passwd", "a" * 64]


@pytest.mark.parametrize("name", PATHS)
def test_no_name_is_a_path(cast: Server, client: httpx.Client, name: str) -> None:
    """As bytes: a client would take the dots out."""
    address = urlsplit(cast.url)
    connection = http.client.HTTPConnection(str(address.hostname), address.port or 0)
    connection.request("GET", f"/_resources/{name}")
    answer = connection.getresponse()
    assert answer.status == 404
    assert b"root" not in answer.read()
    connection.close()
    for path in ("/speaker_info", "/singer_info"):
        assert client.get(path, params={"speaker_uuid": name}).status_code == 404


def test_a_hundred_thousand_phrases_are_refused_early(client: httpx.Client, query: dict[str, Any]) -> None:
    phrases = b"[" + b",".join([json.dumps(query["accent_phrases"][0]).encode()] * 10**5) + b"]"
    assert len(phrases) > 20_000_000
    body = json.dumps(query | {"accent_phrases": []}).encode().replace(b"[]", phrases)
    answer = client.post("/synthesis", params={"speaker": SPEAKER}, content=body)
    assert answer.status_code == 413
    assert "2000000" in answer.text


def test_phrases_of_nothing_within_the_limit_of_bytes(client: httpx.Client, query: dict[str, Any]) -> None:
    phrase: dict[str, Any] = {"moras": [], "accent": 1, "pause_mora": None, "is_interrogative": False}
    body = json.dumps(query | {"accent_phrases": [phrase] * 20_000})
    assert 1_500_000 < len(body) < 2_000_000
    answer = client.post("/synthesis", params={"speaker": SPEAKER}, content=body)
    assert answer.status_code == 200
    assert set(answer.content[44:]) == {0}
