"""A server whose voices are VVM files: it talks, sings, loads late, and takes libraries while it runs."""

from __future__ import annotations

import io
import wave
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from tests.harness import Server, serving
from tests.vvm_voice import DECODER, SING, STREAMING, TALK, TEACHER, character, members, write_vvm

LIBRARY = "11111111-2222-4333-8444-555555555555"
SCORE = {
    "notes": [
        {"id": "a", "frame_length": 20, "lyric": ""},
        {"id": "b", "frame_length": 94, "key": 60, "lyric": "カ"},
        {"id": "c", "frame_length": 94, "key": 64, "lyric": "い"},
        {"id": "d", "frame_length": 20, "lyric": ""},
    ]
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A broken file lies beside the good one."""
    folder = tmp_path_factory.mktemp("voices")
    write_vvm(folder / "sine.vvm")
    (folder / "broken.vvm").write_bytes(b"PK")
    with serving("--voices", folder, "--manage_library", "--synthesis-workers", "1") as server:
        yield server


@pytest.fixture
def client(server: Server) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


def samples(wav: bytes) -> np.ndarray[Any, Any]:
    with wave.open(io.BytesIO(wav)) as file:
        assert (file.getnchannels(), file.getframerate()) == (1, 24000)
        return np.frombuffer(file.readframes(file.getnframes()), "<i2")


def hertz(part: np.ndarray[Any, Any]) -> float:
    """Of a sine, to a few cents."""
    spectrum = np.abs(np.fft.rfft(part * np.hanning(len(part)), 16 * len(part)))
    return float(spectrum.argmax()) * 24000 / (16 * len(part))


def test_five_cold_requests_are_answered_and_then_it_is_loaded(server: Server, client: httpx.Client) -> None:
    """Each lane's worker loads by itself; only when both have it is it said to be loaded."""
    assert client.get(f"/is_initialized_speaker?speaker={STREAMING}").json() is False
    query = client.post("/audio_query", params={"speaker": STREAMING, "text": "テストです"}).json()
    assert client.get(f"/is_initialized_speaker?speaker={STREAMING}").json() is False

    def speak(_: int) -> bytes:
        return client.post("/synthesis", params={"speaker": STREAMING}, json=query).content

    with ThreadPoolExecutor(5) as pool:
        sounds = set(pool.map(speak, range(5)))
    assert len(sounds) == 1
    answer = client.post(f"/initialize_speaker?speaker={STREAMING}")
    assert (answer.status_code, answer.content) == (204, b"")
    assert client.get(f"/is_initialized_speaker?speaker={STREAMING}").json() is True
    assert [line["reason"].split(":")[0].split("/")[-1] for line in server.log.events("voice refused")] == [
        "broken.vvm"
    ]


def test_it_talks(client: httpx.Client) -> None:
    query = client.post("/audio_query", params={"speaker": TALK, "text": "本当ですか"}).json()
    answer = client.post("/synthesis", params={"speaker": TALK}, json=query)
    assert answer.status_code == 200
    plain = client.post(f"/synthesis?speaker={TALK}&enable_interrogative_upspeak=false", json=query)
    rise = len(samples(answer.content)) - len(samples(plain.content))
    assert rise == (256 * 14 if query["accent_phrases"][-1]["is_interrogative"] else 0)
    types = {style["id"]: style["type"] for one in client.get("/speakers").json() for style in one["styles"]}
    assert types == {TALK: "talk", STREAMING: "talk"}


def test_it_sings_what_the_score_says(client: httpx.Client) -> None:
    query = client.post("/sing_frame_audio_query", params={"speaker": TEACHER}, json=SCORE).json()
    assert [(part["phoneme"], part["frame_length"], part["note_id"]) for part in query["phonemes"]] == [
        ("pau", 15, "a"),
        ("k", 5, "b"),
        ("a", 94, "b"),
        ("i", 94, "c"),
        ("pau", 20, "d"),
    ]
    assert len(query["f0"]) == len(query["volume"]) == 228
    both = {"score": SCORE, "frame_audio_query": query}
    assert client.post("/sing_frame_f0", params={"speaker": SING}, json=both).json() == query["f0"]
    assert client.post("/sing_frame_volume", params={"speaker": SING}, json=both).json() == query["volume"]
    for style in (DECODER, SING):
        sound = samples(client.post("/frame_synthesis", params={"speaker": style}, json=query).content)
        assert len(sound) == 228 * 256
        for start, key in ((20, 60), (114, 64)):
            note = sound[(start + 20) * 256 : (start + 74) * 256]
            asked = 440 * 2 ** ((key - 69) / 12)
            assert abs(1200 * np.log2(hertz(note) / asked)) < 10
    assert client.get("/engine_manifest").json()["supported_features"]["sing"] is True


def test_a_style_is_asked_only_for_what_it_can(client: httpx.Client) -> None:
    assert client.post("/sing_frame_audio_query", params={"speaker": DECODER}, json=SCORE).status_code == 422
    assert client.post("/audio_query", params={"speaker": SING, "text": "あ"}).status_code == 422
    assert client.post(f"/initialize_speaker?speaker={DECODER}").status_code == 204
    assert client.get(f"/is_initialized_speaker?speaker={DECODER}").json() is True


def _library(tmp_path: Path, style_id: int, version: str = "1.0.0") -> bytes:
    files = members(
        ("talk",), (character(1, {style_id: "talk"}, speaker_uuid="u", version=version),), inner={style_id: 1}
    )
    return write_vvm(tmp_path / "library.vvm", files).read_bytes()


def test_libraries_come_and_go_while_it_runs(client: httpx.Client, tmp_path: Path) -> None:
    assert client.get("/downloadable_libraries").json() == []
    assert client.get("/engine_manifest").json()["supported_features"]["manage_library"] is True
    answer = client.post(f"/install_library/{LIBRARY}", content=_library(tmp_path, 900))
    assert (answer.status_code, answer.content) == (204, b"")
    installed = client.get("/installed_libraries").json()[LIBRARY]
    assert installed["uninstallable"] is True and installed["bytes"] > 1000
    assert [style["id"] for style in installed["speakers"][0]["speaker"]["styles"]] == [900]
    assert client.get("/speaker_info?speaker_uuid=u&resource_format=url").status_code == 200
    query = client.post("/audio_query?speaker=900&text=あ").json()
    assert client.post("/synthesis?speaker=900", json=query).status_code == 200
    # A zip file of VVM files, with a manifest and members that lead elsewhere, takes its place.
    manifest = '{"manifest_version": "0.1.0", "name": "二", "version": "2.0.0", "uuid": "x", "brand_name": "b",'
    engine = client.get("/engine_manifest").json()["uuid"]
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("vvlib_manifest.json", f'{manifest} "engine_name": "e", "engine_uuid": "{engine}"}}')
        file.writestr("../../escaped.vvm", _library(tmp_path, 901, "2.0.0"))
        file.writestr("family.py", "raise SystemExit")
    assert client.post(f"/install_library/{LIBRARY}", content=archive.getvalue()).status_code == 204
    assert client.get("/installed_libraries").json()[LIBRARY]["name"] == "二"
    assert client.post("/synthesis?speaker=900", json=query).status_code == 422
    assert client.post("/synthesis?speaker=901", json=query).status_code == 200
    assert client.post(f"/uninstall_library/{LIBRARY}").status_code == 204
    assert client.get("/installed_libraries").json() == {}
    assert client.post("/synthesis?speaker=901", json=query).status_code == 422
    answer = client.post(f"/uninstall_library/{LIBRARY}")
    assert answer.status_code == 404
    assert answer.json() == {"detail": f"音声ライブラリ {LIBRARY} はインストールされていません。"}


def test_libraries_that_are_no_good_change_nothing(client: httpx.Client, tmp_path: Path) -> None:
    before = client.get("/speakers").json()
    manifest = io.BytesIO()
    with zipfile.ZipFile(manifest, "w") as file:
        file.writestr("a.vvm", b"")
    encrypted = members(("talk",), (character(0, {900: "talk"}),))
    encrypted["manifest.json"] = encrypted["manifest.json"].replace(b'"onnx"', b'"vv_bin"')
    broken = members(("talk",), (character(0, {900: "talk"}),))
    broken["decode.onnx"] = broken["decode.onnx"].replace(b"CumSum", b"Cumsum")
    cases: list[tuple[bytes, str]] = [
        (b"junk", "不正なファイルです。"),
        (manifest.getvalue(), "にvvlib_manifest.jsonが存在しません。"),
        (write_vvm(tmp_path / "a.vvm", encrypted).read_bytes(), "vv_bin"),
        (write_vvm(tmp_path / "b.vvm", broken).read_bytes(), "cannot be loaded"),
        (_library(tmp_path, TALK), f"style id {TALK} is already that of sine 1 (sine.vvm)"),
    ]
    for content, sentence in cases:
        answer = client.post(f"/install_library/{LIBRARY}", content=content)
        assert answer.status_code == 422 and sentence in answer.json()["detail"], answer.text
    assert client.post("/install_library/..%2Fx", content=b"").status_code in (404, 422)
    assert client.get("/installed_libraries").json() == {} and client.get("/speakers").json() == before


def test_preloaded_styles_are_loaded_from_the_start_and_idle_ones_go(tmp_path: Path) -> None:
    voices = write_vvm(tmp_path / "sine.vvm")
    options = ("--synthesis-workers", "1", "--preload", str(TALK), "--unload-after", "0.2")
    with serving("--voices", voices, *options) as server, server.client() as client:
        assert client.get(f"/is_initialized_speaker?speaker={TEACHER}").json() is False
        while client.get(f"/is_initialized_speaker?speaker={TALK}").json():  # ends once it is idle
            pass
        assert client.post(f"/initialize_speaker?speaker={TALK}").status_code == 204
