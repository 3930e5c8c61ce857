"""The dispatcher's rules, one by one, on a clock and a crew that stand still."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps

from koegumi.dispatch.admission import LaneLimits
from koegumi.dispatch.dispatcher import Dispatcher
from koegumi.dispatch.job import Job, Outcome
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
        asyncio.run(test())

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
