"""A worker that speaks many jobs together is killed, stopped or told that its files are gone."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.fault.load import Request, until, workers
from tests.harness import Server, ended, serving
from tests.little_bark import prepare_model

pytestmark = pytest.mark.fault

TOGETHER = 4


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare_model(tmp_path_factory.mktemp("bark"))


@pytest.fixture
def bark(cache: Path) -> Iterator[Server]:
    with serving("--cache-dir", cache, "--bark-batch", "4", "--watchdog", "3") as server:
        yield server


def request(number: int, words: int) -> Request:
    """Of another text each, which says nothing new every time: the temperature is 0."""
    return Request({"kana": f"{'hello ' * number}. " + "One two hello. " * words}, 1000 + number % 5)


def jobs(server: Server) -> list[dict[str, Any]]:
    with server.client() as client:
        found: list[dict[str, Any]] = client.get("/admin/queue").json()
        return found


def say(server: Server, asked: Request) -> tuple[int, bytes]:
    with server.client() as client:
        query = client.post("/audio_query", params={"text": asked.query["kana"], "speaker": asked.speaker}).json()
        answer = client.post("/synthesis", params={"speaker": asked.speaker, "temperature": 0}, json=query)
        return answer.status_code, answer.content


def test_all_that_a_killed_worker_had_run_again_one_by_one(bark: Server, capsys: pytest.CaptureFixture[str]) -> None:
    requests = [request(number, 400) for number in range(TOGETHER)]
    alone = [say(bark, each) for each in requests]
    assert [status for status, _ in alone] == [200] * TOGETHER
    pid = bark.worker_pids("bark")["bark-1"]
    with ThreadPoolExecutor(TOGETHER) as threads:
        answers = [threads.submit(say, bark, each) for each in requests]
        until(lambda: sum(bool(job["share"]) for job in jobs(bark)) == TOGETHER)
        os.kill(pid, signal.SIGKILL)
        most = 0
        while not all(answer.done() for answer in answers):
            seen = [job for job in jobs(bark) if job["worker"]]
            if workers(bark, "bark")[0]["pid"] != pid and all(job["attempts"] == 2 for job in seen):
                most = max(most, len(seen))
        assert [answer.result() for answer in answers] == alone
    assert most == 1
    lost = bark.log.events("job lost", TOGETHER)
    assert len(lost) == TOGETHER
    assert all(line["again"] for line in lost)
    assert not bark.log.events("quarantined")


def test_a_worker_that_stands_still_is_replaced(bark: Server) -> None:
    for _ in range(25):  # so that the cost is known, and the watchdog's time short
        assert say(bark, request(0, 1))[0] == 200
    since = len(bark.log.lines)
    os.kill(bark.worker_pids("bark")["bark-1"], signal.SIGSTOP)
    with ThreadPoolExecutor(3) as threads:
        answers = [threads.submit(say, bark, request(number, 1)) for number in range(3)]
        bark.wait_for_return("bark-1", since)
        assert [answer.result()[0] for answer in answers] == [200] * 3


def test_a_model_that_fails_ends_its_worker_once_and_then_each_job_by_itself(tmp_path: Path) -> None:
    """Not the server: with a worker to itself it is known whose failure it is."""
    cache = prepare_model(tmp_path)
    (graph,) = cache.glob("bark/*/models/coarse-fp32.onnx")
    with serving("--cache-dir", cache, "--bark-offload", "stage") as server, ThreadPoolExecutor(3) as threads:
        pid = server.worker_pids("bark")["bark-1"]
        right = graph.read_bytes()
        graph.write_bytes(b"no graph")
        os.kill(pid, signal.SIGSTOP)
        answers = [threads.submit(say, server, request(number, 20)) for number in range(3)]
        until(lambda: [job["worker"] for job in jobs(server)] == ["bark-1"] * 3)
        os.kill(pid, signal.SIGCONT)
        assert [answer.result()[0] for answer in answers] == [500] * 3
        assert len(server.log.events("worker ended", 1)) == 1
        assert len(server.log.events("job lost", 3)) == 3
        graph.write_bytes(right)
        assert say(server, request(0, 20))[0] == 200


def test_files_that_are_gone_are_named_at_the_start(tmp_path: Path) -> None:
    cache = prepare_model(tmp_path)
    (gone,) = cache.glob("bark/*/models/coarse-fp32.onnx")
    gone.unlink()
    with ended("--cache-dir", cache) as (code, log):
        assert code == 1
        assert "Bark's models for fp32 are missing" in log.text()
        assert "koegumi prepare --bark DIR" in log.text()
