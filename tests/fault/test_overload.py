"""Three times as much as the crew can do: those who are let in are served in time, all others hear at once when to come
back, and that is true."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.fault.load import SECONDS
from tests.fault.open_loop import Answer, Asked, Plan, run
from tests.harness import SINE, serving

pytestmark = pytest.mark.fault

LOAD_SECONDS = 60.0 if SECONDS else 20.0
OVERLOAD = 3
WORKERS = 4
# Seconds of work that may wait: ten of them for each worker, so that a Retry-After in whole seconds is exact enough.
BACKLOG = 40.0
LENGTHS = (0.5, 1.0, 1.5, 2.0)
WORK = 0.3  # seconds of work for a second of sound
# Every second start at least is for who waits longest (`dispatch.queue`): nobody waits longer than twice the backlog.
LONGEST_WAIT = 2 * BACKLOG / WORKERS
KEYS = {"a": 6, "b": 4, "c": 1, "d": 1}  # and how much of the load is theirs
PROBE_EVERY = 0.1
AT_ONCE = 0.05
LIVEZ = "/livez"


def plan(url: str, query: dict[str, Any], chance: random.Random) -> Plan:
    """Arrivals by chance, as those of many people are."""
    bodies = [json.dumps(query | {"kana": f"sleep {WORK * length}", "postPhonemeLength": length}) for length in LENGTHS]
    rate = OVERLOAD * WORKERS / (WORK * sum(LENGTHS) / len(LENGTHS))
    requests, at = [], 0.0
    while (at := at + chance.expovariate(rate)) < LOAD_SECONDS:
        (key,) = chance.choices(list(KEYS), list(KEYS.values()))
        patient = at > LOAD_SECONDS - 1
        requests.append(Asked(at, "/synthesis?speaker=1", chance.choice(bodies), key, patient))
    probes = [Asked(number * PROBE_EVERY, LIVEZ) for number in range(int(LOAD_SECONDS / PROBE_EVERY))]
    return Plan(url, requests + probes)


def p99(values: Sequence[float]) -> float:
    return sorted(values)[int(0.99 * len(values))]


def worked_off(refusal: Answer, accepted: Sequence[Answer]) -> float:
    """How long after a refusal as much work was done as waited then, in parts of its Retry-After."""
    left = sum(each.worked for each in accepted if each.admitted < refusal.ended < each.started)
    for each in sorted(accepted, key=lambda each: each.ended):
        if each.ended > refusal.ended and (left := left - each.worked) <= 0:
            return (each.ended - refusal.ended) / refusal.retry_after
    return 0.0


def test_three_times_the_capacity(query: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys = tmp_path / "keys"
    keys.write_text("\n".join(KEYS))
    options = ("--synthesis-workers", str(WORKERS), "--max-backlog", str(BACKLOG), "--api-keys", keys)
    with serving("--voices", SINE, *options) as server:
        load = plan(server.url, query, random.Random(7))
        answers = run(load, LOAD_SECONDS + 120)
    probes = [each for each in answers if load.requests[each.number].path == LIVEZ]
    spoken = [each for each in answers if load.requests[each.number].path != LIVEZ]
    accepted = [each for each in spoken if each.status == 200]
    refused = [each for each in spoken if each.status != 200]
    back = [each for each in spoken if each.again]
    true = sum(0.5 <= worked_off(each, accepted) <= 1.5 for each in refused) / len(refused)
    with capsys.disabled():
        print(f"\n{OVERLOAD} x the capacity for {LOAD_SECONDS:.0f} s: {len(accepted)} answered, {len(refused)} refused")
        print(f"p99 of answers {p99([each.seconds for each in accepted]):.2f} s", end=", ")
        print(f"of refusals {1000 * p99([each.seconds for each in refused]):.0f} ms", end=", ")
        print(f"of {LIVEZ} {1000 * p99([each.seconds for each in probes]):.0f} ms")
        print(f"Retry-After true for {true:.1%} of refusals; {len(back)} came back")
    assert {each.status for each in refused} <= {429, 503}
    assert {each.status for each in back} == {200}
    assert p99([each.seconds for each in accepted]) < LONGEST_WAIT
    assert true >= 0.9
    assert p99([each.seconds for each in refused]) < AT_ONCE
    assert p99([each.seconds for each in probes]) < AT_ONCE
