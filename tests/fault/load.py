"""Clients that keep a server busy and compare every answer to the one that the same request had alone."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.harness import Server

Query = dict[str, Any]
# An answer that takes longer never comes.
HUNG = 120.0
# A crew that lost a worker has it back so soon, in seconds.
WHOLE_WITHIN = 5.0
# A long round by hand, a short one in CI.
SECONDS = os.environ.get("KOEGUMI_FAULT_SECONDS")


@dataclass(frozen=True)
class Request:
    query: Query
    speaker: int = 1


@dataclass
class Tally:
    """What came of all requests."""

    answers: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    kills: int = 0
    spared: int = 0

    @property
    def text(self) -> str:
        counts = ", ".join(f"{self.answers[kind]} {kind}" for kind in ("right", "wrong", "lost", "hung"))
        return f"{counts}; slowest answer {self.slowest:.2f} s; {self.kills} kills ({self.spared} spared)"


def speak(server: Server, request: Request) -> tuple[int, bytes]:
    with server.client() as client:
        client.timeout = HUNG
        answer = client.post("/synthesis", params={"speaker": request.speaker}, json=request.query)
        return answer.status_code, answer.content


def workers(server: Server, lane: str = "synthesis") -> list[dict[str, Any]]:
    with server.client() as client:
        return [worker for worker in client.get("/admin/workers").json() if worker["lane"] == lane]


def gauge(server: Server, name: str) -> float:
    """The sum of a metric over all its labels."""
    with server.client() as client:
        lines = client.get("/metrics").text.splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith(f"{name}{{"))


def until(condition: Callable[[], bool], limit: float = 30.0) -> float:
    """Ask again until it holds; the seconds that it took."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < limit, "it did not hold in time"
        time.sleep(0.02)
    return time.monotonic() - start


def alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def under_load(
    server: Server, requests: Sequence[Request], clients: int, seconds: float, disturb: Callable[[Tally], None]
) -> Tally:
    """Send the requests round and round for so long, while `disturb` is called again and again."""
    alone = [speak(server, request) for request in requests]
    assert {status for status, _ in alone} == {200}
    tally, lock, end = Tally(), threading.Lock(), time.monotonic() + seconds
    turns = itertools.count()

    def client() -> None:
        while time.monotonic() < end:
            number = next(turns) % len(requests)
            started = time.monotonic()
            kind = _judged(server, requests[number], alone[number])
            with lock:
                tally.answers[kind] += 1
                tally.slowest = max(tally.slowest, time.monotonic() - started)

    with ThreadPoolExecutor(clients) as threads:
        running = [threads.submit(client) for _ in range(clients)]
        while time.monotonic() < end:
            disturb(tally)
        for future in running:
            future.result()
    return tally


def _judged(server: Server, request: Request, expected: tuple[int, bytes]) -> str:
    try:
        status, body = speak(server, request)
    except httpx.TimeoutException:
        return "hung"
    except httpx.TransportError:
        return "lost"
    if status != 200:
        return "lost"
    return "right" if body == expected[1] else "wrong"


def kill_a_busy_worker(server: Server, tally: Tally, number: signal.Signals = signal.SIGKILL) -> None:
    """Never one on a job's second run: two deaths are what a job may cost. It is stopped first, so that what it is
    seen to do it still does when it is killed."""
    for worker in sorted(workers(server), key=lambda worker: worker["jobs_done"]):
        if worker["state"] != "busy":
            continue
        os.kill(worker["pid"], signal.SIGSTOP)
        now = next(each for each in workers(server) if each["pid"] == worker["pid"])
        if now["state"] == "busy" and not runs_again(server, worker["name"]):
            os.kill(worker["pid"], number)
            tally.kills += 1
            return
        tally.spared += 1
        os.kill(worker["pid"], signal.SIGCONT)


def runs_again(server: Server, worker: str) -> bool:
    with server.client() as client:
        jobs = client.get("/admin/queue").json()
    return any(job["worker"] == worker and job["attempts"] > 1 for job in jobs)
