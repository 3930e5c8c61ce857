"""Memory of a crew that speaks for long, without recycling. By hand: make soak."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.fault.load import Request, speak, workers
from tests.fault.test_kill import TEXTS
from tests.harness import SINE, Server, ask, serving

pytestmark = pytest.mark.soak

MOST_GROWTH = 0.05


def resident(server: Server) -> int:
    return sum(worker["resident_bytes"] for worker in workers(server) + workers(server, "query"))


def growth(server: Server, requests: list[Request], count: int) -> float:
    """By what part the crew's memory grows after the first tenth of `count` requests."""

    def speak_many(first: int, last: int) -> None:
        with ThreadPoolExecutor(4) as threads:
            statuses = threads.map(
                lambda number: speak(server, requests[number % len(requests)])[0], range(first, last)
            )
            assert set(statuses) == {200}

    speak_many(0, count // 10)
    before = resident(server)
    speak_many(count // 10, count)
    after = resident(server)
    print(f"\n{count} syntheses: {before / 1e6:.0f} MB after the first tenth, {after / 1e6:.0f} MB after all")
    return after / before - 1


def test_the_tests_voice(query: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    requests = [Request(query | {"postPhonemeLength": 0.2 * number}) for number in range(1, 31)]
    with serving("--voices", SINE, "--synthesis-workers", "2") as server, capsys.disabled():
        assert growth(server, requests, 10_000) < MOST_GROWTH


@pytest.mark.kokoro
def test_kokoro(capsys: pytest.CaptureFixture[str]) -> None:
    with serving("--synthesis-workers", "2") as server, capsys.disabled():
        requests = [Request(ask(server, text, 1), 1) for text in TEXTS]
        requests = [Request(each.query | {"speedScale": 1 + 0.1 * n}, 1) for each in requests for n in range(6)]
        assert growth(server, requests, 300) < MOST_GROWTH
