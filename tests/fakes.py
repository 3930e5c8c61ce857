"""A clock and a crew that tests hold in their hands."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from koegumi.pool.slot import Outage, Receiver, SlotState, SlotStatistics
from koegumi.wire.messages import End, Failure, Progress


class CountedRun:
    """Counts how often a voice asks; nobody cancels it."""

    def __init__(self) -> None:
        self.checks = 0

    def check(self) -> None:
        self.checks += 1

    def options(self) -> Any:
        return None


@dataclass(order=True)
class FakeHandle:
    when: float
    number: int
    callback: Callable[[], None] | None = field(compare=False)

    def cancel(self) -> None:
        self.callback = None


class FakeClock:
    """Stands still until `advance`, which runs what is due in order of time."""

    def __init__(self) -> None:
        self._now = 0.0
        self._numbers = itertools.count()
        self._timers: list[FakeHandle] = []

    def now(self) -> float:
        return self._now

    def call_later(self, delay: float, callback: Callable[[], None]) -> FakeHandle:
        handle = FakeHandle(self._now + delay, next(self._numbers), callback)
        heapq.heappush(self._timers, handle)
        return handle

    def advance(self, seconds: float) -> None:
        end = self._now + seconds
        while self._timers and self._timers[0].when <= end:
            handle = heapq.heappop(self._timers)
            self._now = handle.when
            if handle.callback is not None:
                handle.callback()
        self._now = end


class FakeSlot:
    """Holds the jobs it was given until the test says what becomes of them. Says as a pool does, loudly, what it
    must not be asked: a job without room, or a number twice."""

    def __init__(self, crew: FakeCrew, lane: str, name: str, capacity: int = 1) -> None:
        self.name = name
        self.capacity = capacity
        self.ready = True
        self.jobs: dict[int, tuple[bytes, Receiver]] = {}
        self.kills: list[str] = []
        self._crew = crew
        self._lane = lane

    @property
    def room(self) -> int:
        return self.capacity - len(self.jobs) if self.ready else 0

    def start(self, job_id: int, request_id: str, call: bytes, receiver: Receiver) -> None:
        assert self.room > 0, "started without room"
        assert job_id not in self._crew.numbers, "a number twice"
        self._crew.numbers.add(job_id)
        self._crew.tell("start", self, call)
        self.jobs[job_id] = (call, receiver)

    def cancel(self, job_id: int) -> None:
        self._crew.tell("cancel", self, self.jobs[job_id][0])

    def kill(self, reason: str) -> None:
        self.kills.append(reason)
        self._crew.tell("kill", self, b"")
        self.die(reason)

    def statistics(self) -> SlotStatistics:
        state = (SlotState.BUSY if self.jobs else SlotState.READY) if self.ready else SlotState.BACKOFF
        return SlotStatistics(self.name, self._lane, state, None, "cpu", len(self.jobs), 0, 0)

    # What the test makes happen.

    @property
    def calls(self) -> list[bytes]:
        return [call for call, _ in self.jobs.values()]

    def number_of(self, call: bytes) -> int:
        return next(number for number, (other, _) in self.jobs.items() if other == call)

    def chunk(self, call: bytes, data: bytes) -> None:
        self.jobs[self.number_of(call)][1].chunk(data)

    def progress(self, call: bytes, stage: str, share: float) -> None:
        self.jobs[self.number_of(call)][1].progress(Progress(stage, share))

    def done(self, call: bytes, seconds: float = 1.0) -> None:
        self._pop(call).done(End("audio/wav", seconds))
        self._crew.has_room(self._lane)

    def failed(self, call: bytes, kind: str = "internal") -> None:
        self._pop(call).failed(Failure(kind, "it failed"))
        self._crew.has_room(self._lane)

    def die(self, reason: str = "killed by signal 9") -> None:
        self.ready = False
        jobs, self.jobs = self.jobs, {}
        for call, receiver in jobs.values():
            self._crew.tell("lost", self, call)
            receiver.lost(reason)

    def come_back(self) -> None:
        self.ready = True
        self._crew.has_room(self._lane)

    def _pop(self, call: bytes) -> Receiver:
        return self.jobs.pop(self.number_of(call))[1]


class FakeCrew:
    """`capacities` of the slots of each lane; a slot is called `<lane>-<n>`."""

    def __init__(self, **capacities: Sequence[int]) -> None:
        self._lanes = {
            lane: [FakeSlot(self, lane, f"{lane}-{n}", capacity) for n, capacity in enumerate(of_lane)]
            for lane, of_lane in capacities.items()
        }
        self.outages: dict[str, Outage] = {}
        self.numbers: set[int] = set()
        self.told: list[tuple[str, str, bytes]] = []  # (event, slot's name, call), in order
        self.listener: Callable[[str, FakeSlot, bytes], None] = lambda event, slot, call: None
        self._callback: Callable[[str], None] = lambda _: None

    def slots(self, lane: str) -> Sequence[FakeSlot]:
        return self._lanes[lane]

    def outage(self, lane: str) -> Outage | None:
        return self.outages.get(lane)

    def on_room(self, callback: Callable[[str], None]) -> None:
        self._callback = callback

    def tell(self, event: str, slot: FakeSlot, call: bytes) -> None:
        """What the dispatcher asked for (start, cancel, kill), and each job that is lost, just before it hears so."""
        self.told.append((event, slot.name, call))
        self.listener(event, slot, call)

    def has_room(self, lane: str) -> None:
        self._callback(lane)


class FakeObserver:
    """What the dispatcher counted: (lane, outcome, queue seconds, work seconds), why it refused, what it locked out."""

    def __init__(self) -> None:
        self.finished: list[tuple[str, str, float, float]] = []
        self.refusals: list[str] = []
        self.quarantined = 0

    def job_finished(self, lane: str, outcome: str, queue_seconds: float, work_seconds: float) -> None:
        self.finished.append((lane, outcome, queue_seconds, work_seconds))

    def job_refused(self, lane: str, why: str) -> None:
        self.refusals.append(why)

    def job_quarantined(self, lane: str) -> None:
        self.quarantined += 1

    @property
    def outcomes(self) -> list[str]:
        return [outcome for _, outcome, _, _ in self.finished]
