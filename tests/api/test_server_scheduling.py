"""The scheduler over HTTP, with a worker that works until it is told to stop."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.faulty.family import CRASH, SLOW
from tests.harness import CAST, FAULTY, Server, serving

Query = dict[str, Any]


@contextmanager
def locked(marks: Path) -> Iterator[Server]:
    """One worker, and two keys: alpha in the environment, beta in a file."""
    file = marks / "keys"
    file.write_text("# one key\nbeta\n", encoding="utf-8")
    environment = {"KOEGUMI_TEST_MARKS": str(marks), "KOEGUMI_API_KEYS": "alpha"}
    arguments = ("--voices", CAST, FAULTY, "--synthesis-workers", "1", "--api-keys", file)
    with serving(*arguments, environment=environment) as server:
        yield server


def speak(server: Server, query: Query, speaker: int, **headers: str) -> httpx.Response:
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    with server.client() as client:
        return client.post("/synthesis", params={"speaker": speaker}, json=query, headers=headers)


def queue(server: Server, length: int) -> list[dict[str, Any]]:
    """As soon as it has so many jobs."""
    end = time.monotonic() + 30
    while True:
        with server.client(headers={"X-API-Key": "alpha"}) as client:
            jobs: list[dict[str, Any]] = client.get("/admin/queue").json()
        if len(jobs) == length:
            return jobs
        assert time.monotonic() < end, jobs


def lengthened(query: Query, seconds: float) -> Query:
    return query | {"prePhonemeLength": seconds}


def test_clients_share_a_worker_and_batch_waits(query: Query, tmp_path: Path) -> None:
    with locked(tmp_path) as server, ThreadPoolExecutor(8) as threads:
        answers: list[Future[httpx.Response]] = []

        def send(seconds: float, key: str, **headers: str) -> None:
            body = lengthened(query, seconds)
            answers.append(threads.submit(speak, server, body, SLOW, X_API_Key=key, **headers))
            queue(server, len(answers))

        send(0.1, "alpha")
        send(0.2, "alpha", X_Koegumi_Priority="batch")
        send(50.0, "alpha")
        send(1.0, "alpha")
        send(1.5, "beta")
        jobs = queue(server, 5)
        assert [job["number"] for job in jobs] == [1, 4, 5, 3, 2]
        assert [job["position"] for job in jobs] == [None, 0, 1, 2, 3]
        assert [job["worker"] for job in jobs] == ["synthesis-1", None, None, None, None]
        assert {job["voice"] for job in jobs} == {SLOW}
        assert jobs[0]["client"] == jobs[1]["client"] != jobs[2]["client"]
        assert "alpha" not in str(jobs)
        assert speak(server, query, 1).status_code == 401
        with server.client() as client:
            assert [client.get(path).status_code for path in ("/livez", "/readyz", "/version")] == [200] * 3
            assert [client.get(path).status_code for path in ("/admin/queue", "/metrics")] == [401] * 2
        (tmp_path / "go on").touch()
        assert [answer.result().status_code for answer in answers] == [200] * 5
        assert "alpha" not in server.log.text()


def test_deadlines_are_kept_and_free_the_worker(faulty: Server, query: Query, tmp_path: Path) -> None:
    assert speak(faulty, lengthened(query, 1000.0), 1, X_Koegumi_Deadline="5").status_code == 503
    running = speak(faulty, query, SLOW, X_Koegumi_Deadline="0.5")
    assert (running.status_code, running.json()) == (504, {"detail": "the deadline has passed"})
    assert speak(faulty, query, 1, X_Koegumi_Deadline="60").status_code == 200
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(speak, faulty, query, SLOW)
        queue(faulty, 1)
        assert speak(faulty, query, 1, X_Koegumi_Deadline="1").status_code == 504  # it waited in vain
        (tmp_path / "go on").touch()
        assert first.result().status_code == 200
    assert queue(faulty, 0) == []
    assert not faulty.log.events("worker ended")
    with faulty.client() as client:
        metrics = client.get("/metrics").text
    assert 'koegumi_jobs_total{lane="synthesis",outcome="deadline"} 2.0' in metrics
    assert 'koegumi_refusals_total{lane="synthesis",reason="deadline"} 1.0' in metrics


def test_a_poison_is_refused_from_then_on_and_costs_no_more_workers(faulty: Server, query: Query) -> None:
    first = speak(faulty, query, CRASH, X_Request_Id="poison-1")
    assert (first.status_code, first.json()["kind"]) == (422, "quarantined")
    lost = faulty.log.events("job lost", 2)
    assert [line["request_id"] for line in lost] == ["poison-1"] * 2
    for _ in range(3):
        again = speak(faulty, query, CRASH)
        assert (again.status_code, again.json()["kind"]) == (422, "quarantined")
        assert 0 < int(again.headers["retry-after"]) <= 600
    assert speak(faulty, query, 1).status_code == 200  # when the worker is back
    assert speak(faulty, query | {"speedScale": 1.5}, 1).status_code == 200
    assert len(faulty.log.events("worker ended", 2)) == 2
    with faulty.client() as client:
        metrics = client.get("/metrics").text
    assert 'koegumi_quarantines_total{lane="synthesis"} 1.0' in metrics
    assert 'koegumi_refusals_total{lane="synthesis",reason="quarantine"} 3.0' in metrics


@pytest.mark.parametrize("headers", [{"X_Koegumi_Deadline": "-1"}, {"X_Koegumi_Priority": "urgent"}], ids=str)
def test_bad_terms_are_named(cast: Server, query: Query, headers: dict[str, str]) -> None:
    answer = speak(cast, query, 1, **headers)
    assert answer.status_code == 422
    (name,) = headers
    assert answer.json()["detail"][0]["loc"] == ["header", name.replace("_", "-")]
