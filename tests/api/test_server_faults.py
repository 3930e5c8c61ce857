"""Workers that break: the client gets its sound or a reason, the crew is whole again, nobody else notices."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from koegumi import machine
from tests.faulty.family import BUG, CRASH, CRASH_ONCE, HANG, REFUSE, SLOW
from tests.harness import CAST, FAULTY, Server, ended, serving

Query = dict[str, Any]


def speak(server: Server, query: Query, speaker: int) -> httpx.Response:
    with server.client() as client:
        return client.post("/synthesis", params={"speaker": speaker}, json=query)


def waiting(server: Server, lane: str = "synthesis") -> float:
    with server.client() as client:
        lines = client.get("/metrics").text.splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith(f'koegumi_queue_jobs{{lane="{lane}"'))


def until(condition: Any, limit: float = 30.0) -> None:
    """Ask again until it holds."""
    end = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < end, "it never held"
        time.sleep(0.02)


def test_a_job_whose_worker_dies_once_is_answered(faulty: Server, query: Query) -> None:
    answer = speak(faulty, query, CRASH_ONCE)
    assert answer.status_code == 200
    assert answer.content[:4] == b"RIFF"


def test_a_job_that_kills_its_worker_twice_is_refused_and_the_crew_returns(faulty: Server, query: Query) -> None:
    since = len(faulty.log.lines)
    answer = speak(faulty, query, CRASH)
    assert answer.status_code == 422
    assert answer.json()["message"]
    faulty.wait_for_return("synthesis-1", faulty.wait_for_return("synthesis-1", since))
    assert speak(faulty, query, 1).status_code == 200


def test_a_bug_in_a_voice_costs_one_answer_and_no_worker(faulty: Server, query: Query) -> None:
    before = faulty.worker_pids()
    answer = speak(faulty, query, BUG)
    assert (answer.status_code, answer.json()) == (500, {"detail": "Internal Server Error"})
    (trace,) = [line for line in faulty.log.events("job failed", 1) if "a bug in a voice" in line.get("exception", "")]
    assert (trace["worker"], trace["request_id"]) == ("synthesis-1", answer.headers["x-request-id"])
    assert speak(faulty, query, 1).status_code == 200
    assert faulty.worker_pids() == before


def test_a_voice_that_refuses_says_why(faulty: Server, query: Query) -> None:
    answer = speak(faulty, query, REFUSE)
    assert (answer.status_code, answer.json()) == (422, {"message": "this voice speaks no such text"})


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_an_idle_worker_that_dies_is_replaced(faulty: Server, query: Query, number: signal.Signals) -> None:
    since = len(faulty.log.lines)
    os.kill(faulty.worker_pids()["synthesis-1"], number)
    faulty.wait_for_return("synthesis-1", since)
    assert speak(faulty, query, 1).status_code == 200


def test_readiness_is_honest(faulty: Server, tmp_path: Path) -> None:
    with faulty.client() as client:
        assert client.get("/readyz").status_code == 200
        since = len(faulty.log.lines)
        os.kill(faulty.worker_pids()["synthesis-1"], signal.SIGKILL)
        faulty.log.wait(lambda line: line.get("event") == "worker ended", since)
        assert client.get("/readyz").status_code == 503
        assert client.get("/livez").status_code == 200
        faulty.wait_for_return("synthesis-1", since)
        assert client.get("/readyz").status_code == 200
        assert client.head("/readyz").status_code == 200


def test_a_hang_is_ended_by_the_watchdog(query: Query, tmp_path: Path) -> None:
    marks = {"KOEGUMI_TEST_MARKS": str(tmp_path)}
    with serving("--voices", CAST, FAULTY, "--synthesis-workers", "2", "--watchdog", "2", environment=marks) as server:
        with ThreadPoolExecutor(4) as threads:
            hang = threads.submit(speak, server, query, HANG)
            assert [speak(server, query, 1).status_code for _ in range(10)] == [200] * 10
            assert hang.result().status_code == 422
        ended = [line["reason"] for line in server.log.events("worker ended", 2)]
        assert len(ended) == 2
        assert all("no answer" in reason for reason in ended)


def test_a_full_queue_answers_503_and_loses_nobody(query: Query, tmp_path: Path) -> None:
    marks = {"KOEGUMI_TEST_MARKS": str(tmp_path)}
    with (
        serving(
            "--voices", CAST, FAULTY, "--synthesis-workers", "1", "--max-waiting", "3", environment=marks
        ) as server,
        ThreadPoolExecutor(8) as threads,
    ):
        accepted: list[Future[httpx.Response]] = [threads.submit(speak, server, query, SLOW)]
        until(lambda: busy(server))
        accepted += [threads.submit(speak, server, query, SLOW) for _ in range(3)]
        until(lambda: waiting(server) == 3)
        refused = speak(server, query, SLOW)
        assert refused.status_code == 503
        assert int(refused.headers["retry-after"]) >= 1
        assert refused.json()["detail"]
        with server.client() as client:
            assert client.post("/audio_query", params={"speaker": 1, "text": "はい"}).status_code == 200
        (tmp_path / "go on").touch()
        assert [future.result().status_code for future in accepted] == [200] * 4


def busy(server: Server) -> bool:
    with server.client() as client:
        text = client.get("/metrics").text
    return 'koegumi_workers{lane="synthesis",state="busy"} 1.0' in text


def test_a_client_that_leaves_frees_its_worker(faulty: Server, query: Query) -> None:
    with faulty.client() as client, pytest.raises(httpx.ReadTimeout):
        client.post("/synthesis", params={"speaker": SLOW}, json=query, timeout=httpx.Timeout(None, read=0.3))
    assert speak(faulty, query, 1).status_code == 200
    until(lambda: not busy(faulty))
    assert not faulty.log.events("worker ended")


def test_workers_die_with_the_front() -> None:
    with serving("--voices", CAST, "--synthesis-workers", "2") as server:
        pids = server.worker_pids().values()
        assert len(pids) == 3
        server.process.kill()
        server.process.wait()
        until(lambda: not any(alive(pid) for pid in pids))


def alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def test_a_voice_that_cannot_load_fails_the_start_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "family.py").write_text(BROKEN_FAMILY)
    with ended("--voices", tmp_path, "--synthesis-workers", "1") as (code, log):
        assert code == 1
        assert log.lines[-1]["reason"] == "worker synthesis-1: the model is missing"


@pytest.mark.skipif(machine.gpu_count() > 0, reason="this machine has a GPU")
@pytest.mark.kokoro
def test_a_device_that_is_not_really_used_fails_the_start_with_its_reason() -> None:
    subprocess.run([sys.executable, "-m", "koegumi", "prepare", "--device", "cuda"], check=True)
    with ended("--device", "cuda", "--synthesis-workers", "1") as (code, log):
        assert code == 1
        assert "cuda was asked for, but ONNX Runtime fell back to CPUExecutionProvider" in log.lines[-1]["reason"]


BROKEN_FAMILY = """
from tests.cast.family import Cast

class Broken(Cast):
    def open_synthesis(self, places, device):
        raise OSError("the model is missing")

FAMILY = Broken()
"""
