"""Deadlines: refused at once where they cannot be met, kept where they pass later, and no second run beyond them."""

from __future__ import annotations

import asyncio

import pytest

from koegumi.dispatch.admission import LaneLimits
from koegumi.dispatch.job import DeadlinePassed, DeadlineTooShort, Job, Outcome, ShareUsed
from tests.unit.test_dispatch_dispatcher import House, on_a_loop, turns


async def submit(
    house: House, call: bytes, cost: float, deadline: float | None = None, client: str = "", batch: bool = False
) -> asyncio.Task[Outcome]:
    job = Job("talk", call, "key", cost, 1.0, client, batch, deadline)
    task = asyncio.ensure_future(house.dispatcher.submit(job))
    await turns()
    return task


async def is_refused(task: asyncio.Task[Outcome]) -> bool:
    if not task.done():
        task.cancel()
        await turns()
        return False
    assert isinstance(task.exception(), DeadlineTooShort)
    return True


@on_a_loop
async def test_what_cannot_be_done_in_time_is_refused_at_once() -> None:
    house = House(talk=(1, 1))
    assert await is_refused(await submit(house, b"a", 5.0, 4.9))
    await submit(house, b"b", 10.0)
    assert not await is_refused(await submit(house, b"c", 5.0, 5.0))  # a worker is free
    house.slots[1].failed(b"c", "cancelled")
    await submit(house, b"d", 10.0)
    house.clock.advance(4.0)
    await submit(house, b"e", 3.0)
    # 12 s of the two that run and 3 s of `e`, on two workers, then its own 5 s
    assert await is_refused(await submit(house, b"f", 5.0, 12.4))
    assert not await is_refused(await submit(house, b"g", 5.0, 12.6))
    assert not await is_refused(await submit(house, b"h", 2.0, 8.1))  # before `e`, which is longer
    assert await is_refused(await submit(house, b"i", 2.0, 7.9))
    assert house.observer.refusals == ["deadline"] * 3


@on_a_loop
async def test_a_refusal_says_when_to_come_back() -> None:
    house = House()
    await submit(house, b"a", 5.0)
    await submit(house, b"b", 7.2)
    refused = await submit(house, b"c", 9.0, 9.0)
    with pytest.raises(DeadlineTooShort) as caught:
        await refused
    assert caught.value.retry_after == 8


@on_a_loop
async def test_a_job_that_waits_past_its_deadline_is_withdrawn() -> None:
    house = House()
    await submit(house, b"a", 1.0)
    waiting = await submit(house, b"b", 1.0, 3.0)
    house.clock.advance(2.9)
    assert not waiting.done()
    house.clock.advance(0.1)
    with pytest.raises(DeadlinePassed):
        await waiting
    house.slots[0].done(b"a")
    assert house.slots[0].calls == []
    assert house.observer.outcomes == ["deadline", "done"]


@on_a_loop
async def test_a_job_that_runs_past_its_deadline_is_stopped_and_its_worker_freed() -> None:
    house = House()
    running = await submit(house, b"a", 1.0, 3.0)
    after = await submit(house, b"b", 1.0)
    house.clock.advance(3.0)
    with pytest.raises(DeadlinePassed):
        await running
    assert house.crew.told[-1] == ("cancel", "talk-0", b"a")
    house.slots[0].failed(b"a", "cancelled")
    assert house.slots[0].calls == [b"b"]
    house.slots[0].done(b"b")
    await after
    house.clock.advance(1000.0)
    assert house.slots[0].kills == []
    assert house.observer.outcomes == ["deadline", "done"]


@on_a_loop
async def test_a_lost_job_runs_again_only_if_there_is_time() -> None:
    house = House()
    job = await submit(house, b"a", 2.0, 10.0)
    house.clock.advance(7.9)
    house.slots[0].die()
    house.slots[0].come_back()
    assert house.slots[0].calls == [b"a"]
    house.slots[0].done(b"a", seconds=2.0)
    assert (await job).attempts == 2
    late = await submit(house, b"b", 2.0, 10.0)
    house.clock.advance(8.5)
    house.slots[0].die()
    with pytest.raises(DeadlinePassed):
        await late
    house.slots[0].come_back()
    assert house.slots[0].calls == []


@on_a_loop
async def test_what_is_done_in_time_stays_done() -> None:
    house = House()
    job = await submit(house, b"a", 1.0, 3.0)
    house.slots[0].done(b"a")
    house.clock.advance(10.0)
    assert (await job).attempts == 1
    assert house.observer.outcomes == ["done"]


@on_a_loop
async def test_the_deadline_of_one_ends_those_that_were_submitted_with_it() -> None:
    house = House()
    jobs = [Job("talk", call, "key", 1.0, 1.0, deadline=3.0) for call in (b"a", b"b")]
    together = asyncio.ensure_future(house.dispatcher.submit_all(jobs))
    await turns()
    house.clock.advance(3.0)
    with pytest.raises(DeadlinePassed):
        await together
    assert house.observer.outcomes in (["deadline", "cancelled"], ["deadline", "deadline"])


@on_a_loop
async def test_who_has_most_of_the_queue_makes_room_for_others_and_for_nobody_else() -> None:
    house = House(limits=LaneLimits(max_waiting=8, max_backlog_seconds=1000.0))
    await submit(house, b"runs", 1.0, client="a")
    for number in range(8):
        assert not (await submit(house, b"%d" % number, 1.0, client="a")).done()  # alone it may fill it
    for number in (7, 6, 5):
        house.slots[0].done(house.slots[0].calls[0])
        assert number == house.dispatcher.statistics().lanes["talk"].waiting
    await submit(house, b"other", 1.0, client="b")
    refused = await submit(house, b"more", 1.0, client="a")
    with pytest.raises(ShareUsed) as caught:
        await refused
    assert caught.value.retry_after == 6
    assert not (await submit(house, b"new", 1.0, client="c")).done()
    assert house.observer.refusals == ["share"]


@on_a_loop
async def test_the_queue_is_explained() -> None:
    house = House()
    await submit(house, b"runs", 2.0, client="a")
    house.clock.advance(1.5)
    await submit(house, b"long", 9.0, client="a")
    await submit(house, b"short", 1.0, 60.0, client="a")
    await submit(house, b"batch", 0.5, client="b", batch=True)
    house.clock.advance(1.0)
    jobs = house.dispatcher.explain()
    assert [(job.number, job.position, job.worker, job.attempts) for job in jobs] == [
        (1, None, "talk-0", 1),
        (3, 0, None, 0),
        (2, 1, None, 0),
        (4, 2, None, 0),
    ]
    assert [(job.client, job.batch, job.cost, job.age, job.deadline) for job in jobs] == [
        ("a", False, 2.0, 2.5, None),
        ("a", False, 1.0, 1.0, 59.0),
        ("a", False, 9.0, 1.0, None),
        ("b", True, 0.5, 1.0, None),
    ]
