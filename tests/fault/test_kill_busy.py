"""A busy worker is killed while eight requests run: eight right answers, and the crew is whole again in time."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from bench.texts import SENTENCES
from tests.fault.load import WHOLE_WITHIN
from tests.harness import Server, ask, serving

pytestmark = pytest.mark.fault


def speak(server: Server, query: dict[str, Any], speaker: int) -> tuple[int, bytes]:
    with server.client() as client:
        answer = client.post("/synthesis", params={"speaker": speaker}, json=query)
        return answer.status_code, answer.content


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_killed_worker_costs_no_answer(number: signal.Signals, capsys: pytest.CaptureFixture[str]) -> None:
    with serving("--synthesis-workers", "2") as server, ThreadPoolExecutor(8) as threads:
        jobs = [(ask(server, text, speaker % 5 + 1), speaker % 5 + 1) for speaker, text in enumerate(SENTENCES)]
        alone = [speak(server, *job) for job in jobs]
        answers = [threads.submit(speak, server, *job) for job in jobs]
        victim = busy_worker(server)
        since = len(server.log.lines)
        killed = time.monotonic()
        os.kill(victim, number)
        server.log.wait(lambda line: line.get("event") == "worker ready", since)
        whole = time.monotonic() - killed
        assert [answer.result() for answer in answers] == alone
        assert [status for status, _ in alone] == [200] * len(jobs)
    with capsys.disabled():
        print(f"\nafter {number.name} the crew was whole in {whole:.2f} s")
    assert whole < WHOLE_WITHIN


def busy_worker(server: Server) -> int:
    """The process of a worker that runs a job, as soon as there is one."""
    with server.client() as client:
        for _ in range(1000):
            text = client.get("/metrics").text
            if 'koegumi_workers{lane="synthesis",state="busy"} 2.0' in text:
                return server.worker_pids("synthesis")["synthesis-1"]
            time.sleep(0.01)
    pytest.fail("no worker was ever busy")
