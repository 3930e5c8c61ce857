"""Long jobs on shared slots: what they tell is shown, and keeps the watchdog from a worker that gets on."""

from __future__ import annotations

from tests.unit.test_dispatch_dispatcher import House, on_a_loop, turns


@on_a_loop
async def test_how_far_a_job_is_is_told() -> None:
    house = House(talk=(2,))
    for call in (b"a", b"b", b"c"):
        await house.submit(call)
    (slot,) = house.slots
    slot.progress(b"a", "semantic", 0.25)
    slot.progress(b"a", "coarse", 0.5)
    shown = [(job.worker, job.stage, job.share) for job in house.dispatcher.explain()]
    assert shown == [("talk-0", "coarse", 0.5), ("talk-0", None, None), (None, None, None)]


@on_a_loop
async def test_each_sign_of_life_begins_the_watchdog_s_time_anew() -> None:
    house = House(talk=(2,))
    first, second = await house.submit(b"a"), await house.submit(b"b")
    (slot,) = house.slots
    for _ in range(10):
        house.clock.advance(29.9)
        slot.progress(b"a", "coarse", 0.5)
        slot.progress(b"b", "waiting", 0.0)
    assert slot.kills == []
    slot.done(b"a")
    house.clock.advance(29.9)
    assert slot.kills == []
    house.clock.advance(0.1)
    assert slot.kills == ["no answer for 30 s"]
    await turns()
    assert first.done()
    assert not second.done()


@on_a_loop
async def test_a_cancelled_job_that_gets_on_is_not_spared() -> None:
    house = House(talk=(2,))
    job = await house.submit(b"a")
    (slot,) = house.slots
    slot.progress(b"a", "fine", 0.5)
    job.cancel()
    await turns()
    house.clock.advance(1.9)
    slot.progress(b"a", "fine", 0.6)
    house.clock.advance(0.1)
    assert slot.kills == ["not stopped 2 s after a cancel"]
