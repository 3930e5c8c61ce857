"""The queue against a list that is sorted anew each time."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from koegumi.dispatch.queue import PATIENCE, Entry, LaneQueue

costs = st.floats(0.001, 1e4)
steps = st.one_of(
    st.tuples(st.just("push"), costs, st.floats(0.0, 100.0)),
    st.tuples(st.just("first"), costs, st.just(0.0)),
    st.tuples(st.just("take"), st.just(0.0), st.just(0.0)),
    st.tuples(st.just("remove"), st.just(0.0), st.floats(0.0, 1.0, exclude_max=True)),
)


@given(st.lists(steps, max_size=200))
def test_order_removal_and_backlog(script: list[tuple[str, float, float]]) -> None:
    queue: LaneQueue[int] = LaneQueue()
    again: list[Entry[int]] = []
    fresh: list[tuple[float, float, Entry[int]]] = []  # arrival, cost
    now = 0.0
    for number, (step, cost, choice) in enumerate(script):
        if step == "push":
            now += choice
            fresh.append((now, cost, queue.push(number, now, cost)))
        elif step == "first":
            again.append(queue.push_first(number, cost))
        elif step == "remove" and fresh:
            queue.remove(fresh.pop(int(choice * len(fresh)))[2])
        elif step == "take":
            entry = queue.first()
            assert (entry is None) == (not again and not fresh)
            if entry is None:
                continue
            queue.remove(entry)
            if again:
                assert entry is again.pop(0)
                continue
            taken = next(each for each in fresh if each[2] is entry)
            fresh.remove(taken)
            for arrival, cost, other in fresh:
                assert taken[0] <= arrival + PATIENCE * cost, "passed by one that came after its patience"
                assert (taken[0] + PATIENCE * taken[1], entry.item) < (arrival + PATIENCE * cost, other.item)
        entries = again + [entry for _, _, entry in fresh]
        assert len(queue) == len(entries)
        assert queue.backlog_seconds == float(Fraction(sum(entry.nanoseconds for entry in entries), 10**9))
    for entry in again + [entry for _, _, entry in fresh]:
        queue.remove(entry)
    assert queue.first() is None
    assert queue.backlog_seconds == 0.0


def test_the_dead_do_not_pile_up_behind_one_that_waits() -> None:
    queue: LaneQueue[int] = LaneQueue()
    queue.push(0, 0.0, 0.001)
    for number in range(1, 10_000):
        queue.remove(queue.push(number, float(number), 60.0))
    assert len(queue._heap) < 20
