"""The dispatcher's rules, one by one, on a clock and a crew that stand still."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps

import pytest

from koegumi.dispatch.admission import LaneLimits
from koegumi.dispatch.clock import LoopClock
from koegumi.dispatch.dispatcher import Dispatcher
from koegumi.dispatch.job import Job, Outcome, OutOfService, QueueFull, Stopping, WorkFailed, WorkLost
from koegumi.pool.slot import Outage
from tests.fakes import FakeClock, FakeCrew, FakeObserver, FakeSlot

WIDE = LaneLimits()


class House:
    """A dispatcher with all that it needs, and lanes `talk` (synthesis) and `query` of one slot."""

    def __init__(self, talk: tuple[int, ...] = (1,), limits: LaneLimits = WIDE) -> None:
        self.crew = FakeCrew(talk=talk, query=(1,))
        self.clock = FakeClock()
        self.observer = FakeObserver()
        self.dispatcher = Dispatcher(self.crew, {"talk": limits, "query": LaneLimits()}, self.clock, self.observer)

    @property
    def slots(self) -> list[FakeSlot]:
        return list(self.crew.slots("talk"))

    async def submit(self, call: bytes, seconds: float = 1.0, lane: str = "talk") -> asyncio.Task[Outcome]:
        task = asyncio.ensure_future(self.dispatcher.submit(Job(lane, call, "key", seconds, 1.0)))
        await turns()
        return task


async def turns() -> None:
    """Let every task go as far as it can."""
    for _ in range(5):
        await asyncio.sleep(0)


def on_a_loop(test: Callable[[], Coroutine[None, None, None]]) -> Callable[[], None]:
    @wraps(test)
    def run() -> None:
        asyncio.run(asyncio.wait_for(test(), 10))  # so that a job which is never answered fails, and does not hang

    return run


@on_a_loop
async def test_chunks_are_joined_and_times_told() -> None:
    house = House()
    first = await house.submit(b"a")
    second = await house.submit(b"b")
    house.clock.advance(3)
    house.slots[0].done(b"a")
    house.slots[0].chunk(b"b", b"RI")
    house.slots[0].chunk(b"b", b"FF")
    house.clock.advance(2)
    house.slots[0].done(b"b", seconds=1.5)
    assert await first == Outcome(b"", "audio/wav", "talk-0", 0.0, 1.0, 1)
    assert await second == Outcome(b"RIFF", "audio/wav", "talk-0", 3.0, 1.5, 1)
    assert house.observer.finished == [("talk", "done", 0.0, 1.0), ("talk", "done", 3.0, 1.5)]


@on_a_loop
async def test_two_jobs_run_at_once_on_two_slots_and_lanes_do_not_wait_for_each_other() -> None:
    house = House(talk=(1, 1))
    await house.submit(b"a")
    await house.submit(b"b")
    await house.submit(b"c")
    query = await house.submit(b"q", lane="query")
    assert [slot.calls for slot in house.slots] == [[b"a"], [b"b"]]
    house.crew.slots("query")[0].done(b"q")
    assert (await query).worker == "query-0"
    house.slots[1].done(b"b")
    assert house.slots[1].calls == [b"c"]


@on_a_loop
async def test_the_emptiest_slot_is_taken_and_of_several_the_first() -> None:
    house = House(talk=(2, 2))
    for call in (b"a", b"b", b"c"):
        await house.submit(call)
    assert [slot.calls for slot in house.slots] == [[b"a", b"c"], [b"b"]]


@on_a_loop
async def test_a_short_job_passes_a_long_one_until_that_is_due() -> None:
    house = House()
    await house.submit(b"running", 7.0)
    await house.submit(b"long", 10.0)
    house.clock.advance(5.0)
    await house.submit(b"short", 1.0)
    house.clock.advance(50.0)  # both are due, `short` for longer; every second start is for such
    for call in (b"late", b"later", b"last"):
        await house.submit(call, 0.001)
    for _ in range(6):
        house.slots[0].done(house.slots[0].calls[0])
    assert [call for _, _, call in house.crew.told] == [b"running", b"short", b"late", b"long", b"later", b"last"]


@on_a_loop
async def test_a_lost_job_runs_again_at_the_head_and_what_it_said_before_is_forgotten() -> None:
    house = House(talk=(1, 1))
    job = await house.submit(b"a", 5.0)
    await house.submit(b"b")
    await house.submit(b"waits", 0.1)
    house.slots[0].chunk(b"a", b"half a so")
    house.slots[0].die()
    house.slots[1].done(b"b")
    assert house.slots[1].calls == [b"a"]
    house.slots[1].chunk(b"a", b"sound")
    house.slots[1].done(b"a")
    outcome = await job
    assert (outcome.body, outcome.worker, outcome.attempts) == (b"sound", "talk-1", 2)


@on_a_loop
async def test_a_job_lost_twice_is_lost_with_the_reason() -> None:
    house = House()
    job = await house.submit(b"a")
    for reason in ("killed by signal 11", "killed by signal 9"):
        house.slots[0].die(reason)
        house.slots[0].come_back()
    with pytest.raises(WorkLost, match="signal 9"):
        await job
    assert house.observer.outcomes == ["lost"]
    assert house.slots[0].calls == []


@on_a_loop
async def test_jobs_that_died_together_run_again_one_by_one_and_nothing_joins_them() -> None:
    house = House(talk=(3,))
    jobs = [await house.submit(call) for call in (b"a", b"b", b"c", b"fresh")]
    slot = house.slots[0]
    slot.die()
    slot.come_back()
    for call in (b"a", b"b", b"c"):
        assert slot.calls == [call]
        slot.done(call)
    assert slot.calls == [b"fresh"]
    slot.done(b"fresh")
    assert [(await job).attempts for job in jobs] == [2, 2, 2, 1]


@on_a_loop
async def test_a_failure_is_passed_on_and_not_tried_again() -> None:
    house = House()
    job = await house.submit(b"a")
    house.slots[0].failed(b"a", "invalid")
    with pytest.raises(WorkFailed) as caught:
        await job
    assert caught.value.failure.kind == "invalid"
    assert house.observer.outcomes == ["failed"]
    assert house.slots[0].calls == []


@on_a_loop
async def test_a_full_queue_says_when_to_come_back() -> None:
    house = House(talk=(1, 1), limits=LaneLimits(max_waiting=2, max_backlog_seconds=100.0))
    for call in (b"a", b"b", b"c", b"d"):
        await house.submit(call, 7.5)
    full = await house.submit(b"e")
    with pytest.raises(QueueFull) as caught:
        await full
    assert caught.value.retry_after == 8  # 15 s of backlog for two workers
    house.slots[0].die()
    house.slots[1].die()
    full = await house.submit(b"e")
    with pytest.raises(QueueFull) as caught:
        await full
    assert caught.value.retry_after == 30  # four wait again, for no worker at all
    assert house.observer.outcomes == ["refused", "refused"]


@on_a_loop
async def test_a_silent_worker_is_killed_when_the_budget_is_spent() -> None:
    house = House()
    short, long = await house.submit(b"short", 0.5), await house.submit(b"long", 8.0)
    slot = house.slots[0]
    house.clock.advance(29.9)
    assert slot.kills == []
    house.clock.advance(0.1)
    assert slot.kills == ["no answer for 30 s"]
    slot.come_back()
    slot.done(b"short")
    house.clock.advance(79.9)  # counted from its start, not from its arrival
    slot.done(b"long")
    assert [(await short).attempts, (await long).attempts] == [2, 1]
    house.clock.advance(1000.0)
    assert len(slot.kills) == 1


@on_a_loop
async def test_a_client_that_leaves_frees_its_place_and_its_worker() -> None:
    house = House()
    running, waiting, after = await house.submit(b"a"), await house.submit(b"b"), await house.submit(b"c")
    waiting.cancel()
    running.cancel()
    await turns()
    assert running.cancelled()
    assert waiting.cancelled()
    assert house.crew.told[-1] == ("cancel", "talk-0", b"a")
    house.clock.advance(1.9)
    house.slots[0].failed(b"a", "cancelled")
    assert house.slots[0].calls == [b"c"]
    house.clock.advance(20.0)
    assert house.slots[0].kills == []
    house.slots[0].done(b"c")
    await after
    assert house.observer.outcomes == ["cancelled", "cancelled", "done"]


@on_a_loop
async def test_a_worker_that_does_not_stop_is_killed_and_its_job_does_not_run_again() -> None:
    house = House()
    running = await house.submit(b"a")
    running.cancel()
    await turns()
    house.clock.advance(2.0)
    assert house.slots[0].kills == ["not stopped 2 s after a cancel"]
    house.slots[0].come_back()
    assert house.slots[0].calls == []


@on_a_loop
async def test_a_job_that_left_this_very_turn_does_not_start() -> None:
    house = House()
    await house.submit(b"a")
    waiting = await house.submit(b"b")
    waiting.cancel()
    house.slots[0].done(b"a")  # before the cancelled task had its turn
    assert house.slots[0].calls == []
    await turns()
    assert house.observer.outcomes == ["done", "cancelled"]


@on_a_loop
async def test_a_job_that_needs_an_empty_worker_and_leaves_makes_way() -> None:
    house = House(talk=(1, 2))
    first, second = await house.submit(b"a"), await house.submit(b"b")
    house.slots[0].die()
    await house.submit(b"c")
    assert house.slots[1].calls == [b"b"]  # nothing passes `a`, which waits for a worker to itself
    first.cancel()
    await turns()
    assert house.slots[1].calls == [b"b", b"c"]
    house.slots[1].done(b"b")
    await second


@on_a_loop
async def test_a_lane_out_of_service_turns_away_what_waits_and_comes_and_no_other_lane_does() -> None:
    house = House(talk=(1,))
    lost, waiting = [await house.submit(call) for call in (b"a", b"b")]
    house.slots[0].die()
    assert not lost.done()
    house.crew.outages["talk"] = Outage("no model", 30)
    house.crew.has_room("talk")
    late = await house.submit(b"c")
    for task in (lost, waiting, late):
        with pytest.raises(OutOfService, match=r"30 s"):
            await task
    other = await house.submit(b"q", lane="query")
    house.crew.slots("query")[0].done(b"q")
    await other
    assert house.observer.refusals == ["outage"] * 3
    await house.dispatcher.drained()
    house.crew.outages.clear()
    house.slots[0].come_back()
    again = await house.submit(b"a")
    house.slots[0].done(b"a")
    assert (await again).attempts == 1


@on_a_loop
async def test_stop_fails_what_waits_and_lets_what_runs_end() -> None:
    house = House(talk=(1, 1))
    first, second, waiting = [await house.submit(call) for call in (b"a", b"b", b"c")]
    drained = asyncio.ensure_future(house.dispatcher.drained())
    house.dispatcher.stop()
    refused = await house.submit(b"d")
    for task in (waiting, refused):
        with pytest.raises(Stopping):
            await task
    house.slots[0].done(b"a")
    await first
    assert not drained.done()
    house.slots[1].die()  # no second attempt: its worker may be gone for good
    with pytest.raises(Stopping):
        await second
    await drained
    assert house.observer.outcomes == ["refused", "refused", "done", "refused"]
    assert house.observer.refusals == ["stopping"] * 3
    assert house.observer.quarantined == 0


@on_a_loop
async def test_closed_it_takes_no_more_and_finishes_what_it_has_even_in_a_second_try() -> None:
    house = House(talk=(1,))
    first, waiting = await house.submit(b"a"), await house.submit(b"b")
    drained = asyncio.ensure_future(house.dispatcher.drained())
    house.dispatcher.close()
    with pytest.raises(Stopping):
        await (await house.submit(b"c"))
    house.slots[0].die()
    house.slots[0].come_back()
    house.slots[0].done(b"a")
    house.slots[0].done(b"b")
    await asyncio.gather(first, waiting)
    await drained
    assert house.observer.outcomes == ["refused", "done", "done"]


@on_a_loop
async def test_statistics_count_each_lane() -> None:
    house = House()
    for call in (b"a", b"b", b"c"):
        await house.submit(call, 2.5)
    lanes = house.dispatcher.statistics().lanes
    assert (lanes["talk"].waiting, lanes["talk"].running, lanes["talk"].backlog_seconds) == (2, 1, 5.0)
    assert (lanes["query"].waiting, lanes["query"].running, lanes["query"].backlog_seconds) == (0, 0, 0.0)


@on_a_loop
async def test_what_was_measured_sets_the_cost_of_the_next() -> None:
    house = House()
    for _ in range(30):
        job = await house.submit(b"a", 2.0)
        house.slots[0].done(b"a", seconds=0.5)
        await job
    await house.submit(b"a", 2.0)
    await house.submit(b"b", 2.0)
    assert house.dispatcher.statistics().lanes["talk"].backlog_seconds == pytest.approx(0.5, rel=0.01)


@on_a_loop
async def test_the_loop_clock_keeps_the_loops_time() -> None:
    loop = asyncio.get_running_loop()
    clock = LoopClock(loop)
    before = loop.time()
    assert before <= clock.now() <= loop.time()
    called = asyncio.Event()
    clock.call_later(0.0, called.set)
    await called.wait()
