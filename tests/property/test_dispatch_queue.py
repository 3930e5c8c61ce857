"""The queue against a plain model of its laws, and the laws themselves."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from koegumi.dispatch.entry import Entry
from koegumi.dispatch.queue import BATCH_GRACE, GRACE, PATIENCE, LaneQueue
from koegumi.dispatch.shares import REMEMBERED
from tests.model_queue import ModelQueue

costs = st.sampled_from([0.001, 0.1, 0.1, 0.5, 1.0, 2.5, 7.3, 60.0])
clients = st.sampled_from("abc")
part = st.floats(0.0, 1.0, exclude_max=True)


@dataclass
class Step:
    what: str
    cost: float
    client: str
    batch: bool
    choice: float


steps = st.builds(
    Step, st.sampled_from(["push", "push", "push", "again", "start", "start", "remove", "wait"]), costs, clients,
    st.booleans(), part,
)  # fmt: skip


@given(st.lists(steps, max_size=150))
def test_the_queue_is_what_its_model_says(script: list[Step]) -> None:
    queue: LaneQueue[bytes] = LaneQueue()
    model = ModelQueue()
    entries: dict[bytes, Entry[bytes]] = {}
    now = 0.0
    for number, step in enumerate(script):
        name = b"%d" % number
        if step.what == "wait":
            now += 100.0 * step.choice
        elif step.what == "push":
            model.push(name, now, step.cost, step.client, step.batch)
            entries[name] = queue.push(name, now, step.cost, step.client, step.batch)
        elif step.what == "again":
            model.push_again(name, step.cost, step.client)
            entries[name] = queue.push_again(name, step.cost, step.client)
        elif step.what == "remove" and entries:
            name = list(entries)[int(step.choice * len(entries))]
            queue.remove(entries.pop(name))
            model.remove(name)
        elif step.what == "start" and entries:
            first = queue.first(now)
            assert first is not None
            queue.start(entries.pop(first.item))
            model.start(first.item)
        expected, first = model.first(now), queue.first(now)
        assert (first.item if first else None) == (expected.name if expected else None)
        assert len(queue) == len(model.waiting)
        assert queue.backlog_seconds == sum(each.cost for each in model.waiting) / 1e9
        assert queue.clients == len({each.client for each in model.waiting})
        for client in "abc":
            own = [each.cost for each in model.waiting if each.client == client]
            assert (queue.held(client).count, queue.held(client).nanoseconds) == (len(own), sum(own))
    order = queue.in_order(now)
    for name in order:
        first = queue.first(now)
        assert first is not None
        assert first.item == name
        queue.start(first)
    assert queue.first(now) is None
    assert queue.backlog_seconds == 0.0


@given(st.lists(st.tuples(clients, costs), min_size=2, max_size=60), st.lists(st.tuples(clients, costs), max_size=60))
def test_while_two_wait_they_get_the_same_but_for_one_job(
    before: list[tuple[str, float]], later: list[tuple[str, float]]
) -> None:
    queue: LaneQueue[str] = LaneQueue()
    for client, cost in before:
        queue.push(client, 0.0, cost, client)
    got = dict.fromkeys("abc", 0)
    together = {client for client in "abc" if queue.held(client).count}  # those that have had jobs waiting all along
    largest = 0
    while (first := queue.first(0.0)) is not None:
        got[first.client] += first.nanoseconds
        largest = max(largest, first.nanoseconds)
        queue.start(first)
        together = {client for client in together if queue.held(client).count}
        assert all(abs(got[one] - got[other]) <= largest for one in together for other in together)
        if later:
            client, cost = later.pop()
            queue.push(client, 0.0, cost, client)


@given(
    st.lists(st.tuples(clients, costs, st.booleans()), min_size=1, max_size=30),
    st.lists(st.tuples(clients, costs, st.booleans(), st.sampled_from([0.0, 1.0, 9.0])), min_size=1, max_size=20),
    part,
)
@settings(deadline=None)
def test_every_wait_is_bounded(
    before: list[tuple[str, float, bool]], later: list[tuple[str, float, bool, float]], choice: float
) -> None:
    queue: LaneQueue[int] = LaneQueue()
    entries = [queue.push(0, 0.0, cost, client, batch) for client, cost, batch in before]
    chosen = entries[int(choice * len(entries))]
    now, starts, bound = 0.0, 0, math.inf
    for client, cost, batch, pause in itertools.cycle(later):  # one comes for each that goes, for ever
        entries.append(queue.push(0, now, cost, client, batch))
        now += max(pause, 0.5)
        if now >= chosen.due and not starts:
            before_it = [
                each for each in entries if each.waiting and (each.due, each.number) < (chosen.due, chosen.number)
            ]
            bound = 2 * len(before_it) + 2
        starts += now >= chosen.due
        first = queue.first(now)
        assert first is not None
        queue.start(first)
        if not chosen.waiting:
            return
        assert starts < bound


def test_a_short_word_passes_a_chapter_and_the_chapter_comes_through() -> None:
    queue: LaneQueue[str] = LaneQueue()
    chapter = queue.push("chapter", 0.0, 60.0, "reader")
    passed, now = 0, 0.0
    while chapter.waiting:
        queue.push("word", now, 0.5, "reader")
        first = queue.first(now)
        assert first is not None
        queue.start(first)
        now += 0.5
        passed += first.item == "word"
    assert now <= GRACE + PATIENCE * 60.0 + 1.5
    assert passed >= (GRACE + PATIENCE * 60.0) / 0.5 - 1


def test_batch_comes_after_everything_until_it_is_due_and_then_takes_every_second_start() -> None:
    queue: LaneQueue[str] = LaneQueue()
    for _ in range(3):
        queue.push("batch", 0.0, 1.0, "a", batch=True)
    for _ in range(10):
        queue.push("now", 0.0, 30.0, "b")
    started = []
    for time in [0.0] * 4 + [BATCH_GRACE + PATIENCE] * 9:
        first = queue.first(time)
        assert first is not None
        queue.start(first)
        started.append(first.item)
    assert started[:4] == ["now"] * 4
    assert started[4:10] == ["now", "batch"] * 3


def test_who_floods_the_queue_waits_for_itself() -> None:
    queue: LaneQueue[str] = LaneQueue()
    for _ in range(100):
        queue.push("flood", 0.0, 0.5, "a")
    queue.start(queue.first(0.0) or queue.push("", 0.0, 0.0))
    queue.push("other", 0.0, 5.0, "b")
    queue.push("own chapter", 0.0, 60.0, "a")
    order = queue.in_order(0.0)
    assert order.index("other") == 1  # both have had the same, and one of the flood is shorter
    assert order[-1] == "own chapter"


def test_the_work_ahead_of_a_new_job() -> None:
    queue: LaneQueue[str] = LaneQueue()
    assert queue.seconds_ahead("a", False, 1.0) == 0.0
    queue.push_again("", 2.0, "a")
    queue.push("", 0.0, 1.0, "a")
    queue.push("", 0.0, 9.0, "a")
    queue.push("", 0.0, 50.0, "b", batch=True)
    assert queue.seconds_ahead("a", False, 5.0) == 3.0  # not its own longer ones, no batch
    assert queue.seconds_ahead("c", False, 5.0) == 2.0  # it has had nothing yet
    assert queue.seconds_ahead("c", True, 5.0) == 12.0
    for _ in range(20):
        queue.push("", 0.0, 1.0, "c")
    assert queue.seconds_ahead("a", False, 20.0) == 2.0 + 10.0 + 10.0  # as much of another's as of its own


def test_the_dead_do_not_pile_up_behind_one_that_waits() -> None:
    queue: LaneQueue[int] = LaneQueue()
    queue.push(0, 0.0, 0.001)
    for number in range(1, 5_000):
        queue.remove(queue.push(number, float(number), 60.0, f"client {number}"))
        assert len(queue._by_due._heap) < 20
    shares, _ = queue._classes
    assert (len(shares._heaps), len(shares._had)) == (1, REMEMBERED + 1)
