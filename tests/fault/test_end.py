"""How the server ends: in order when it is told, at once when it is told twice, and never in silence."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fault.load import Request, alive, gauge, speak, until
from tests.harness import SINE, Server, serving

pytestmark = pytest.mark.fault

JOBS = 24
NO_ORPHAN_AFTER = 2.0


def accepted(server: Server) -> float:
    return gauge(server, "koegumi_queue_jobs") + gauge(server, "koegumi_running_jobs")


def post(server: Server, query: dict[str, Any]) -> httpx.Response:
    with server.client() as client:
        return client.post("/synthesis", params={"speaker": 1}, json=query)


def test_sigterm_under_load(query: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    slow = Request(query | {"kana": "sleep 0.3"})
    with (
        serving("--voices", SINE, "--synthesis-workers", "2") as server,
        ThreadPoolExecutor(JOBS) as threads,
        server.client() as client,
    ):
        answers = [threads.submit(speak, server, slow) for _ in range(JOBS)]
        until(lambda: accepted(server) >= JOBS - 4 and gauge(server, "koegumi_queue_jobs") > JOBS / 2)
        until(lambda: accepted(server) + sum(answer.done() for answer in answers) == JOBS)
        told = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        until(lambda: client.get("/readyz").status_code == 503, 1)
        refused = [post(server, query) for _ in range(10)]
        assert client.get("/livez").status_code == 200
        statuses = [answer.result()[0] for answer in answers]
        assert server.process.wait(25) == 0, server.log.text()
        took = time.monotonic() - told
    with capsys.disabled():
        print(f"\nSIGTERM with {JOBS} jobs: {statuses.count(200)} answered, 10 new ones got 503, ended in {took:.2f} s")
    assert statuses == [200] * JOBS
    assert {answer.status_code for answer in refused} == {503}
    assert all(int(answer.headers["retry-after"]) > 0 for answer in refused)


def test_what_does_not_end_in_time_is_cut_off(query: dict[str, Any]) -> None:
    with (
        serving("--voices", SINE, "--synthesis-workers", "1", "--drain", "2") as server,
        ThreadPoolExecutor(2) as threads,
    ):
        hang = threads.submit(post, server, query | {"kana": "hang"})
        until(lambda: accepted(server) == 1)
        told = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(10) == 0
        assert 1 <= time.monotonic() - told < 4
        assert isinstance(hang.exception(), httpx.TransportError) or hang.result().status_code >= 500


def test_a_second_signal_ends_now(query: dict[str, Any]) -> None:
    with serving("--voices", SINE, "--synthesis-workers", "1") as server, ThreadPoolExecutor(2) as threads:
        hang = threads.submit(post, server, query | {"kana": "hang"})
        until(lambda: accepted(server) == 1)
        server.process.send_signal(signal.SIGTERM)
        server.log.wait(lambda line: line.get("event") == "draining")
        told = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(10)
        assert time.monotonic() - told < 3
        assert isinstance(hang.exception(), httpx.TransportError) or hang.result().status_code >= 500


def test_no_worker_outlives_the_front(query: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    with serving("--voices", SINE, "--synthesis-workers", "2") as server, ThreadPoolExecutor(2) as threads:
        hang = threads.submit(post, server, query | {"kana": "hang"})
        until(lambda: accepted(server) == 1)
        pids = server.worker_pids().values()
        server.process.kill()
        gone = until(lambda: not any(alive(pid) for pid in pids))
        server.process.wait()
        assert isinstance(hang.exception(), httpx.TransportError)
    with capsys.disabled():
        print(f"\nthe front was killed: no worker lives {gone:.2f} s later, not even in native code")
    assert gone < NO_ORPHAN_AFTER


BREAKS_LATER = """
import os
from pathlib import Path
from tests.sine.family import Sine

class BreaksLater(Sine):
    def open_synthesis(self, places, device):
        if Path(os.environ["KOEGUMI_TEST_MARKS"], "broken").exists():
            raise OSError("the model is gone")
        return super().open_synthesis(places, device)

FAMILY = BreaksLater()
"""


def test_a_crew_that_breaks_later_ends_the_server_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "family.py").write_text(BREAKS_LATER)
    marks = {"KOEGUMI_TEST_MARKS": str(tmp_path)}
    with serving("--voices", tmp_path, "--synthesis-workers", "2", environment=marks) as server:
        (tmp_path / "broken").touch()
        for worker in ("synthesis-1", "synthesis-2"):
            os.kill(server.worker_pids()[worker], signal.SIGKILL)
        assert server.process.wait(60) == 1
        server.log.wait(lambda line: line.get("event") == "the server ends" and "the model is gone" in line["reason"])
