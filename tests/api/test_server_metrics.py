"""Each of the metrics moves with what it counts."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.fault.load import until
from tests.faulty.family import BUG, CRASH, SLOW
from tests.harness import Server

Sample = tuple[str, frozenset[tuple[str, str]]]


def samples(server: Server) -> dict[Sample, float]:
    with server.client() as client:
        families = text_string_to_metric_families(client.get("/metrics").text)
        return {
            (each.name, frozenset(each.labels.items())): each.value for family in families for each in family.samples
        }


def speak(server: Server, query: dict[str, Any], speaker: int, **headers: str) -> httpx.Response:
    with server.client(headers=headers) as client:
        return client.post("/synthesis", params={"speaker": speaker}, json=query)


def test_what_is_counted(faulty: Server, query: dict[str, Any]) -> None:
    def read(name: str, **labels: str) -> float:
        return samples(faulty).get((name, frozenset(labels.items())), 0.0)

    def jobs(outcome: str) -> float:
        return read("koegumi_jobs_total", lane="synthesis", outcome=outcome)

    sound = speak(faulty, query, 1)
    assert speak(faulty, query, BUG).status_code == 500
    assert speak(faulty, query, CRASH).status_code == 422
    assert speak(faulty, query, CRASH).status_code == 422
    until(lambda: read("koegumi_workers", lane="synthesis", state="ready") == 1)
    with faulty.client() as client, pytest.raises(httpx.ReadTimeout):
        client.post("/synthesis", params={"speaker": SLOW}, json=query, timeout=0.3)
    until(lambda: jobs("cancelled") == 1)
    assert speak(faulty, query, SLOW, **{"X-Koegumi-Deadline": "0.3"}).status_code in (503, 504)
    outcomes = {outcome: jobs(outcome) for outcome in ("done", "failed", "lost", "cancelled")}
    assert outcomes == {"done": 1, "failed": 1, "lost": 1, "cancelled": 1}
    assert jobs("deadline") + read("koegumi_refusals_total", lane="synthesis", reason="deadline") == 1
    assert read("koegumi_refusals_total", lane="synthesis", reason="quarantine") == 1
    assert read("koegumi_quarantines_total", lane="synthesis") == 1
    assert read("koegumi_worker_restarts_total", lane="synthesis") >= 1
    assert read("koegumi_job_queue_seconds_count", lane="synthesis") >= 4
    assert read("koegumi_job_work_seconds_count", lane="synthesis") == 1
    assert read("koegumi_first_byte_seconds_count", path="/synthesis") >= 5
    assert read("koegumi_answer_bytes_total", path="/synthesis") > len(sound.content)
    assert read("koegumi_unread_bytes") == read("koegumi_slow_clients_dropped_total") == 0
