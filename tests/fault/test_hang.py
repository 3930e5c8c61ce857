"""Workers that stand still, in native code or by SIGSTOP, and a request that kills: only they pay."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from tests.fault.load import Request, speak, until, workers
from tests.harness import SINE, Server, serving

pytestmark = pytest.mark.fault

BUDGET = 2.0
# What a kill may take beyond the budget.
GRACE = 1.0
NEIGHBOURS = 100


def ended(server: Server, since: int) -> float:
    """When the next worker ended."""
    server.log.wait(lambda line: line.get("event") == "worker ended" and "no answer" in line["reason"], since)
    return time.monotonic()


def neighbours(server: Server, query: dict[str, Any]) -> tuple[list[int], float]:
    """The answers of others meanwhile, and the slowest of them."""
    answers, slowest = [], 0.0
    for number in range(NEIGHBOURS):
        started = time.monotonic()
        answers.append(speak(server, Request(query, number % 3 + 1))[0])
        slowest = max(slowest, time.monotonic() - started)
    return answers, slowest


def test_a_hang_in_native_code(query: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    with (
        serving("--voices", SINE, "--synthesis-workers", "3", "--watchdog", str(BUDGET)) as server,
        ThreadPoolExecutor(2) as threads,
    ):
        since, started = len(server.log.lines), time.monotonic()
        hang = threads.submit(speak, server, Request(query | {"kana": "hang"}))
        answers, slowest = neighbours(server, query)
        first = ended(server, since) - started
        assert hang.result()[0] == 422
        both = time.monotonic() - started
    with capsys.disabled():
        print(f"\na hang was killed after {first:.2f} s, its second run {both - first:.2f} s later", end="; ")
        print(f"slowest of {NEIGHBOURS} others {slowest:.3f} s")
    assert answers == [200] * NEIGHBOURS
    assert slowest < BUDGET
    assert first < BUDGET + GRACE
    assert both < 2 * (BUDGET + GRACE)


def test_a_stopped_worker(query: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    with (
        serving("--voices", SINE, "--synthesis-workers", "3", "--watchdog", str(BUDGET)) as server,
        ThreadPoolExecutor(2) as threads,
    ):
        since, started = len(server.log.lines), time.monotonic()
        slow: Future[tuple[int, bytes]] = threads.submit(speak, server, Request(query | {"kana": "sleep 1"}))
        until(lambda: any(worker["state"] == "busy" for worker in workers(server)))
        victim = next(worker for worker in workers(server) if worker["state"] == "busy")
        os.kill(victim["pid"], signal.SIGSTOP)
        answers, slowest = neighbours(server, query)
        killed = ended(server, since) - started
        assert slow.result()[0] == 200
    with capsys.disabled():
        print(f"\na stopped worker was killed after {killed:.2f} s; slowest of {NEIGHBOURS} others {slowest:.3f} s")
    assert answers == [200] * NEIGHBOURS
    assert slowest < BUDGET
    assert killed < BUDGET + GRACE


def test_a_poison_among_good_requests(query: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    good = 200
    with serving("--voices", SINE, "--synthesis-workers", "4") as server, ThreadPoolExecutor(16) as threads:
        requests = [Request(query | {"kana": "sleep 0.02"}, number % 3 + 1) for number in range(good)]
        requests.insert(good // 2, Request(query | {"kana": "crash"}))
        answers = [threads.submit(speak, server, request) for request in requests]
        statuses = [answer.result()[0] for answer in answers]
        whole = until(lambda: [worker["state"] for worker in workers(server)] == ["ready"] * 4)
        deaths = len(server.log.events("worker ended"))
    with capsys.disabled():
        print(f"\na poison among {good}: {statuses.count(200)} answered, {deaths} deaths, whole {whole:.2f} s later")
    assert statuses.pop(good // 2) == 422
    assert statuses == [200] * good
    assert deaths == 2
