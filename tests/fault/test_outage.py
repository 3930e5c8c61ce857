"""The workers of one lane cannot be started any more: others go on, who asks is told, and it comes back by itself."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.harness import CAST, Server, serving

pytestmark = pytest.mark.fault

# A voice of a lane of its own, whose workers start while its folder has a model.
FAMILY = """
from dataclasses import replace
from pathlib import Path
from tests.cast.family import FILES, Cast
from koegumi.voices.interface import Style

class Frail(Cast):
    name = "{lane}"

    def find(self, places):
        speaker = super().find(places)[0]
        styles = (Style({style}, "frail", FILES),)
        uuid = "00000000-0000-4000-8000-0000000000{style}"
        return [replace(speaker, name="{lane}", uuid=uuid, lane="{lane}", styles=styles)]

    def open_synthesis(self, places, device):
        Path({model!r}).read_bytes()
        return super().open_synthesis(places, device)

FAMILY = Frail()
"""


def frail(folder: Path, lane: str, style: int) -> Path:
    voice = folder / lane
    voice.mkdir()
    model = voice / "model"
    model.touch()
    (voice / "family.py").write_text(FAMILY.format(lane=lane, style=style, model=str(model)))
    return voice


def kill(server: Server, lane: str) -> None:
    os.kill(server.worker_pids(lane)[f"{lane}-1"], signal.SIGKILL)


def speak(server: Server, query: dict[str, Any], style: int) -> httpx.Response:
    with server.client() as client:
        return client.post("/synthesis", params={"speaker": style}, json=query)


def test_a_lane_that_cannot_start_goes_out_of_service_and_comes_back(tmp_path: Path, query: dict[str, Any]) -> None:
    voice = frail(tmp_path, "frail", 50)
    with (
        serving("--voices", CAST, voice, "--synthesis-workers", "1") as server,
        server.client() as client,
        ThreadPoolExecutor(2) as threads,
    ):
        assert speak(server, query, 50).status_code == 200
        (voice / "model").unlink()
        kill(server, "frail")
        server.log.events("worker ended", 1)
        waiting = [threads.submit(speak, server, query, 50) for _ in range(2)]
        since = server.log.wait(lambda line: line.get("event") == "lane out of service")
        assert "No such file or directory" in server.log.events("lane out of service", 1)[0]["reason"]
        for answer in [*(each.result() for each in waiting), speak(server, query, 50)]:
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "30")
            assert "the server's log says why" in answer.json()["detail"]
            assert str(tmp_path) not in answer.text
        assert speak(server, query, 1).status_code == 200
        ready = client.get("/readyz")
        assert (ready.status_code, ready.json()) == (200, {"ready": True, "out_of_service": ["frail"]})
        assert [worker["state"] for worker in client.get("/admin/workers").json()] == ["ready", "failed", "ready"]
        assert client.get("/is_initialized_speaker", params={"speaker": 50}).json() is False
        assert client.post("/initialize_speaker", params={"speaker": 50}).status_code == 503
        assert client.post("/admin/reload").status_code == 500
        assert speak(server, query, 50).status_code == 503
        (voice / "model").touch()
        server.wait_for_return("frail-1", since)
        assert speak(server, query, 50).status_code == 200
        assert client.get("/readyz").json() == {"ready": True}


def test_a_reload_brings_a_lane_back_at_once(tmp_path: Path, query: dict[str, Any]) -> None:
    voice = frail(tmp_path, "frail", 50)
    with serving("--voices", CAST, voice, "--synthesis-workers", "1") as server, server.client() as client:
        (voice / "model").unlink()
        kill(server, "frail")
        server.log.events("lane out of service", 1)
        (voice / "model").touch()
        assert client.post("/admin/reload").status_code == 200
        assert speak(server, query, 50).status_code == 200


def test_without_any_lane_of_speech_the_server_ends(tmp_path: Path) -> None:
    voices = [frail(tmp_path, lane, style) for lane, style in (("first", 50), ("second", 51))]
    with serving("--voices", *voices, "--synthesis-workers", "1") as server:
        for voice in voices:
            (voice / "model").unlink()
            kill(server, voice.name)
        assert server.process.wait(120) == 1
        assert len(server.log.events("lane out of service", 2)) == 2
        (end,) = server.log.events("the server ends", 1)
        assert "No such file or directory" in end["reason"]
