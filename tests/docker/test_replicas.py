"""Two fronts behind nginx: one may die, each may be replaced, and both have one memory."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from tests.docker import lines
from tests.docker.engine import Container, client, run, until

pytestmark = pytest.mark.docker

WORDS = 20
CLIENTS = 3
Fronts = dict[str, str]


@pytest.fixture(scope="module")
def replicas(environment: dict[str, str], image: str) -> Iterator[dict[str, str]]:
    own = environment | {
        "COMPOSE_PROJECT_NAME": f"{environment['COMPOSE_PROJECT_NAME']}-replicas",
        "KOEGUMI_SYNTHESIS_WORKERS": "1",
    }
    run(lines.REPLICAS_BUILD, own, limit=600)
    try:
        run(lines.REPLICAS_UP, own)
        yield own
    finally:
        run(f"{lines.REPLICAS_DOWN} --volumes", own)


def front(replicas: dict[str, str], name: str) -> Container:
    return Container(run(f"{lines.REPLICAS} ps -q {name}", replicas).strip())


def test_words_over_both_are_all_kept(replicas: dict[str, str], address: str) -> None:
    def add(number: int) -> int:
        word: dict[str, str | int] = {"surface": f"言葉{number}", "pronunciation": "コトバ", "accent_type": 0}
        with client(address) as http:
            return http.post("/user_dict_word", params=word).status_code

    with ThreadPoolExecutor(WORDS) as threads:
        assert list(threads.map(add, range(WORDS))) == [200] * WORDS
    for name in ("front-1", "front-2"):
        one = front(replicas, name)
        assert len(one.ask_json("GET", "/user_dict")) == WORDS
        assert any(line.get("path") == "/user_dict_word" for line in one.log()), f"{name} got no word"


def test_admin_is_not_for_those_behind_the_proxy(replicas: dict[str, str], address: str) -> None:
    with client(address) as http:
        assert http.get("/admin/workers", headers={"X-Forwarded-For": "127.0.0.1"}).status_code == 403


@contextmanager
def under_load(address: str) -> Iterator[Counter[int]]:
    """Clients that ask and speak until the end; how often each status came."""
    statuses: Counter[int] = Counter()
    over = threading.Event()

    def speaking() -> None:
        with client(address) as http:
            while not over.is_set():
                asked = http.post("/audio_query", params={"text": "はい。", "speaker": 1})
                statuses[asked.status_code] += 1
                spoken = http.post("/synthesis", params={"speaker": 1}, json=asked.json())
                statuses[spoken.status_code] += 1

    with ThreadPoolExecutor(CLIENTS) as threads:
        running = [threads.submit(speaking) for _ in range(CLIENTS)]
        try:
            yield statuses
        finally:
            over.set()
        for one in running:
            one.result()


def test_a_front_killed_and_both_replaced_cost_nothing(replicas: dict[str, str], address: str) -> None:
    with under_load(address) as statuses:
        one = front(replicas, "front-1")
        until(lambda: any(job["worker"] for job in one.ask_json("GET", "/admin/queue")), one)
        run(f"docker kill {one.name}")
        seen = statuses.total()
        until(lambda: statuses.total() > seen + 10)
        run(lines.REPLACE_FIRST, replicas)
        run(lines.REPLACE_SECOND, replicas)
    print(f"\na front killed, both replaced: {dict(statuses)}")
    assert set(statuses) == {200}
