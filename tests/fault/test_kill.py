"""Workers are killed again and again: every answer comes, is right, and the crew is whole again in time."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import pytest

from tests.fault.load import SECONDS, WHOLE_WITHIN, Request, Tally, kill_a_busy_worker, under_load, until, workers
from tests.harness import SINE, Server, ask, serving

pytestmark = pytest.mark.fault

TEXTS = ("はい。", "こんにちは。", "声が聞こえます。", "雨が降りました。", "三つ目の駅で降ります。")


def kill_loop(server: Server, requests: list[Request], clients: int, seconds: float, every: float) -> Tally:
    def disturb(tally: Tally) -> None:
        time.sleep(every)
        kill_a_busy_worker(server, tally)

    tally = under_load(server, requests, clients, float(SECONDS or seconds), disturb)
    whole = until(lambda: all(worker["state"] == "ready" for worker in workers(server)), 60)
    print(f"\nkill loop, one kill every {every:g} s: {tally.text}; whole after {whole:.2f} s")
    assert whole < WHOLE_WITHIN
    return tally


def test_the_tests_voice_on_four_workers(query: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    lengths = [0.1 + 0.05 * number for number in range(10)]
    requests = [Request(query | {"kana": "sleep 0.1", "postPhonemeLength": length}) for length in lengths]
    with serving("--voices", SINE, "--synthesis-workers", "4") as server, capsys.disabled():
        tally = kill_loop(server, requests, clients=6, seconds=30, every=1)
    assert tally.kills > 10
    assert set(tally.answers) == {"right"}


@pytest.mark.kokoro
def test_kokoro_on_two_workers(capsys: pytest.CaptureFixture[str]) -> None:
    with serving("--synthesis-workers", "2") as server, capsys.disabled():
        requests = [Request(ask(server, text, speaker % 5 + 1), speaker % 5 + 1) for speaker, text in enumerate(TEXTS)]
        tally = kill_loop(server, requests, clients=4, seconds=40, every=10)
    assert tally.kills >= 3
    assert set(tally.answers) == {"right"}


@pytest.mark.kokoro
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_killed_worker_is_back_in_time(number: signal.Signals, capsys: pytest.CaptureFixture[str]) -> None:
    with serving("--synthesis-workers", "2") as server:
        since = len(server.log.lines)
        killed = time.monotonic()
        os.kill(server.worker_pids()["synthesis-1"], number)
        server.wait_for_return("synthesis-1", since)
        back = time.monotonic() - killed
    with capsys.disabled():
        print(f"\nKokoro's worker was back {back:.2f} s after {number.name}")
    assert back < WHOLE_WITHIN
