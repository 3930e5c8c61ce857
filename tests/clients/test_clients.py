"""Clients of VOICEVOX as they are on PyPI, each in an environment of its own, against a real server."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from koegumi import __version__
from tests.clients.sound import seconds
from tests.harness import CAST, TESTS, Server

pytestmark = pytest.mark.clients

ENVIRONMENTS = TESTS.parent / ".venv-clients"
HERE = Path(__file__).parent


def run(client: str, *arguments: str | Path, program: str = "python", cwd: Path) -> str:
    """What it printed; fails where it ends with an error. Nothing of this project is on its path."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    command = [ENVIRONMENTS / client / "bin" / program, *arguments]
    done = subprocess.run(
        command, cwd=cwd, env=environment | {"PYTHONUTF8": "1"}, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def expected(server: Server, text: str, speaker: int, *, upspeak: bool = False, speed: float = 1.0) -> bytes:
    with server.client() as client:
        query = client.post("/audio_query", params={"text": text, "speaker": speaker}).json() | {"speedScale": speed}
        params = {"speaker": speaker, "enable_interrogative_upspeak": upspeak}
        return client.post("/synthesis", params=params, json=query).content


def test_voicevox_client(cast: Server, tmp_path: Path) -> None:
    """It reads JSON only where the Content-Type is exactly application/json, and takes 200 and 204 only."""
    said = json.loads(run("voicevox-client", HERE / "drive_voicevox_client.py", cast.url, tmp_path, cwd=tmp_path))
    assert said == {
        "version": __version__,
        "cores": [__version__],
        "initialized": True,
        "kana": "デ'_スカ？",
        "english": ["ヴォ'イヴォ", "ブイオオアイブイオオ'"],
        "errors": [[422, False], [422, False]],
    }
    for name in ("question", "plain"):
        assert seconds(tmp_path / f"{name}.wav") > 0.5
        wave = (tmp_path / f"{name}.wav").read_bytes()
        assert wave == expected(cast, "ですか？", 1, upspeak=name == "question")


def test_voicevox_py(cast: Server, tmp_path: Path) -> None:
    """It sends JSON without a Content-Type, and looks at no status: what it writes must be sound."""
    address = urlsplit(cast.url)
    host, port = str(address.hostname), str(address.port)
    run("voicevox-py", HERE / "drive_voicevox_py.py", host, port, tmp_path, cwd=tmp_path)
    for speaker in (0, 1):
        plain, concurrent = (tmp_path / f"{kind}-{speaker}.wav" for kind in ("plain", "async"))
        assert seconds(plain) > 1
        assert plain.read_bytes() == concurrent.read_bytes() == expected(cast, "こんにちは、ヒホです。", speaker)


def test_mcp_server_voicevox(cast: Server, tmp_path: Path) -> None:
    """Through an MCP session over its standard streams, as a model calls it."""
    said = json.loads(run("mcp-server-voicevox", HERE / "drive_mcp.py", cast.url, cwd=tmp_path))
    assert said["tools"] == ["get_voices", "text_to_speech"]
    failed, voices = said["voices"]
    assert not failed
    with cast.client() as client:
        styles = [
            {"id": style["id"], "name": f"{speaker['name']} ({style['name']})"}
            for speaker in client.get("/speakers").json()
            for style in speaker["styles"]
        ]
    assert json.loads(voices) == styles
    for name, speaker, speed in (("plain", 0, 1.0), ("fast", 2, 2.0)):
        failed, text = said[name]
        assert not failed
        path = next(Path(line) for line in text.splitlines() if line.endswith(".wav"))
        assert seconds(path) > 0
        assert path.read_bytes() == expected(cast, "こんにちは", speaker, speed=speed)
    failed, text = said["unknown"]
    assert failed and "422" in text


def test_demo_video_generator(cast: Server, tmp_path: Path) -> None:
    """Its narration, pictures and subtitles; without ffmpeg, which never sees us."""
    image = str(CAST / "icon.png")
    scenes: list[dict[str, Any]] = [
        {"id": "first", "image": image, "narration": "こんにちは、今日はいい天気です。", "post_pad_sec": 0.25},
        {"id": "second", "image": image, "narration": "Koegumiを10個、試します！"},
    ]
    (tmp_path / "demo.yaml").write_text(yaml.safe_dump({"scenes": scenes}, allow_unicode=True), encoding="utf-8")
    options = ("demo.yaml", "--voicevox-url", cast.url, "--speaker", "0")
    run("demo-video-generator", "voice", *options, program="demo-video-generator", cwd=tmp_path)
    timings = json.loads((tmp_path / "wav-cache" / "timings.json").read_text(encoding="utf-8"))["scenes"]
    waves = {path.read_bytes(): seconds(path) for path in tmp_path.glob("wav-cache/*.wav")}
    start = 0.0
    for scene, timing in zip(scenes, timings, strict=True):
        assert (timing["id"], timing["start"]) == (scene["id"], start)
        assert timing["narration_duration"] == waves[expected(cast, scene["narration"], 0)]
        start = timing["end"]
    assert len(waves) == 2
    run(
        "demo-video-generator",
        "build",
        *options,
        "--no-ffmpeg",
        "--fps",
        "2",
        program="demo-video-generator",
        cwd=tmp_path,
    )
    assert (tmp_path / "dist" / "demo.srt").read_text(encoding="utf-8").count("-->") == 2
