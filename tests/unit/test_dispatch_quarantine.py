"""Who ends two workers is refused for a while; who was only near is not."""

from __future__ import annotations

import pytest
import structlog

from koegumi.dispatch.job import Job, Quarantined, WorkLost
from koegumi.dispatch.quarantine import MOST, SECONDS, Quarantine
from tests.fakes import FakeClock
from tests.unit.test_dispatch_dispatcher import House, on_a_loop, turns


async def kill_twice(house: House, call: bytes = b"poison") -> None:
    job = await house.submit(call)
    for _ in range(2):
        house.slots[0].die("killed by signal 11")
        house.slots[0].come_back()
    with pytest.raises(WorkLost):
        await job


async def is_refused(house: House, call: bytes = b"poison", lane: str = "talk") -> bool:
    job = await house.submit(call, lane=lane)
    if job.done() and isinstance(job.exception(), Quarantined):
        return True
    job.cancel()
    await turns()
    for slot in (*house.slots, *house.crew.slots("query")):
        for running in slot.calls:
            slot.failed(running, "cancelled")
    return False


@on_a_loop
async def test_a_job_that_was_at_work_at_two_deaths_is_refused_for_a_while() -> None:
    house = House()
    await kill_twice(house)
    assert house.observer.quarantined == 1
    house.clock.advance(SECONDS - 59.5)
    job = await house.submit(b"poison")
    with pytest.raises(Quarantined) as caught:
        await job
    assert caught.value.retry_after == 60
    assert house.observer.refusals == ["quarantine"]
    assert not await is_refused(house, b"poisoN")
    assert not await is_refused(house, lane="query")
    house.clock.advance(59.5)
    assert not await is_refused(house)


@on_a_loop
async def test_neighbours_of_the_guilty_are_not_refused() -> None:
    house = House(talk=(3,))
    slot = house.slots[0]
    jobs = [await house.submit(call) for call in (b"a", b"poison", b"b")]
    slot.die()
    slot.come_back()
    slot.done(b"a")
    assert slot.calls == [b"poison"]
    slot.die()
    slot.come_back()
    slot.done(b"b")
    await turns()
    assert [job.exception() is None for job in jobs] == [True, False, True]
    assert [await is_refused(house, call) for call in (b"a", b"b", b"poison")] == [False, False, True]


@on_a_loop
async def test_a_worker_that_the_watchdog_kills_is_a_death_too() -> None:
    house = House()
    job = await house.submit(b"hang")
    house.clock.advance(30.0)
    house.slots[0].come_back()
    house.clock.advance(30.0)
    with pytest.raises(WorkLost, match="no answer"):
        await job
    house.slots[0].come_back()
    assert await is_refused(house, b"hang")


@on_a_loop
async def test_clients_that_leave_do_not_hide_a_job_that_hangs() -> None:
    house = House()
    for _ in range(2):
        job = await house.submit(b"hang")
        job.cancel()
        await turns()
        house.clock.advance(2.0)
        house.slots[0].come_back()
    assert len(house.slots[0].kills) == 2
    assert await is_refused(house, b"hang")


@on_a_loop
async def test_a_job_whose_worker_dies_now_and_then_is_none_of_these() -> None:
    house = House()
    for _ in range(5):
        job = await house.submit(b"a")
        house.slots[0].die()
        house.slots[0].come_back()
        house.slots[0].done(b"a")
        assert (await job).attempts == 2
    job = await house.submit(b"b")
    house.slots[0].die()
    job.cancel()  # suspected once
    await turns()
    house.slots[0].come_back()
    job = await house.submit(b"b")
    house.slots[0].done(b"b")  # and cleared
    job = await house.submit(b"b")
    house.slots[0].die()
    job.cancel()
    await turns()
    house.slots[0].come_back()
    assert not await is_refused(house, b"b")
    assert house.observer.quarantined == 0


@on_a_loop
async def test_a_server_that_ends_its_workers_blames_nobody() -> None:
    house = House()
    job = await house.submit(b"a")
    house.slots[0].die()
    house.slots[0].come_back()
    house.dispatcher.stop()
    house.slots[0].die()
    with pytest.raises(WorkLost):
        await job
    assert house.observer.quarantined == 0


def test_the_table_is_bounded_and_the_oldest_make_room() -> None:
    clock = FakeClock()
    quarantine = Quarantine(clock)
    jobs = [Job("talk", b"%d" % number, "", 1.0, 1.0) for number in range(MOST + 1)]
    for job in jobs:
        assert not quarantine.died(job, 1)
        assert quarantine.died(job, 1)
    assert quarantine.seconds_left(jobs[0]) is None
    assert quarantine.seconds_left(jobs[1]) == SECONDS
    assert quarantine.seconds_left(jobs[-1]) == SECONDS


@on_a_loop
async def test_lines_about_a_job_carry_its_request() -> None:
    house = House()
    with structlog.testing.capture_logs([structlog.contextvars.merge_contextvars]) as lines:
        with structlog.contextvars.bound_contextvars(request_id="r-1"):
            job = await house.submit(b"poison")
        for _ in range(2):
            house.slots[0].die("killed by signal 11")
            house.slots[0].come_back()
        with pytest.raises(WorkLost):
            await job
        with structlog.contextvars.bound_contextvars(request_id="r-2"):
            await house.submit(b"bug")
        house.slots[0].failed(b"bug")
    assert [(line["event"], line["request_id"]) for line in lines] == [
        ("job lost", "r-1"),
        ("job lost", "r-1"),
        ("quarantined", "r-1"),
        ("job failed", "r-2"),
    ]
    assert [line["again"] for line in lines[:2]] == [True, False]
    assert [line.get("run") for line in lines] == [1, 2, None, 3]  # by which workers know them
