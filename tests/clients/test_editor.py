"""What the VOICEVOX editor calls while it starts (field report C139); without all of it, it stays 'preparing'."""

from __future__ import annotations

import base64
import io
from typing import Any

import httpx
import pytest
import soundfile

from tests.harness import Server

pytestmark = pytest.mark.clients

# The editor's page, as Electron shows it.
ORIGIN = "app://."


@pytest.fixture
def editor(cast: Server) -> Any:
    with cast.client(headers={"Origin": ORIGIN}) as client:
        yield client


def answer(client: httpx.Client, method: str, path: str, status: int = 200, **options: Any) -> Any:
    """The JSON; the page may read it."""
    got = client.request(method, path, **options)
    assert got.status_code == status, got.text
    assert got.headers["access-control-allow-origin"] == ORIGIN
    if status == 204:
        return None
    assert got.headers["content-type"] == "application/json"
    return got.json()


def test_the_start_of_the_editor(editor: httpx.Client) -> None:
    version = answer(editor, "GET", "/version")
    manifest = answer(editor, "GET", "/engine_manifest")
    assert manifest["manifest_version"]
    assert {"uuid", "name", "url", "icon", "default_sampling_rate", "frame_rate", "terms_of_service"} <= set(manifest)
    assert all(isinstance(value, bool) for value in manifest["supported_features"].values())
    assert all({"version", "descriptions"} <= set(each) for each in manifest["update_infos"])
    assert isinstance(version, str)
    assert answer(editor, "GET", "/supported_devices")["cpu"] is True

    for kind, listed in (("speaker", "/speakers"), ("singer", "/singers")):
        voices = answer(editor, "GET", listed)
        assert voices
        for voice in voices:
            params = {"speaker_uuid": voice["speaker_uuid"], "resource_format": "url"}
            info = answer(editor, "GET", f"/{kind}_info", params=params)
            assert [each["id"] for each in info["style_infos"]] == [style["id"] for style in voice["styles"]]
            assert editor.get(info["portrait"]).headers["content-type"] == "image/png"
            plain = answer(editor, "GET", f"/{kind}_info", params={"speaker_uuid": voice["speaker_uuid"]})
            assert base64.b64decode(plain["portrait"]).startswith(b"\x89PNG")

    assert answer(editor, "GET", "/user_dict") == {}
    speaker = answer(editor, "GET", "/speakers")[0]["styles"][0]["id"]
    empty = answer(editor, "POST", "/audio_query", params={"text": "", "speaker": speaker})
    assert (empty["accent_phrases"], empty["kana"]) == ([], "")
    assert answer(editor, "GET", "/is_initialized_speaker", params={"speaker": speaker}) is True
    answer(editor, "POST", "/initialize_speaker", 204, params={"speaker": speaker, "skip_reinit": True})


def test_a_line_is_written_and_heard(editor: httpx.Client) -> None:
    """Its calls for a line: the query, other accents, other morae, a preview; each after a preflight."""
    preflight = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    params = {"speaker": 0}
    query = answer(editor, "POST", "/audio_query", params={"text": "音声、合成です", **params})
    for path in ("/mora_data", "/mora_length", "/mora_pitch", "/synthesis"):
        allowed = editor.options(path, headers=preflight)
        assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (200, ORIGIN)
    query["accent_phrases"][0]["accent"] = 1
    query["accent_phrases"] = answer(editor, "POST", "/mora_data", params=params, json=query["accent_phrases"])
    spoken = answer(
        editor, "POST", "/accent_phrases", params={"text": "オ'ンセイ、ゴウセイデス'", "is_kana": True, **params}
    )
    assert [phrase["accent"] for phrase in spoken] == [1, 6]
    more = {"enable_interrogative_upspeak": True, **params}
    sound = editor.post("/synthesis", params=more, json=query)
    assert (sound.status_code, sound.headers["content-type"]) == (200, "audio/wav")
    samples, rate = soundfile.read(io.BytesIO(sound.content))
    assert rate == 24000
    assert abs(samples).max() > 0.01
