"""The dispatcher: admits jobs, gives them to slots that have room, and sees each to exactly one result.

Everything happens on one event loop. After every change a lane is pumped: jobs start, in the queue's order, for as
long as the first of them finds a slot.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from koegumi.dispatch.admission import LaneLimits, retry_after
from koegumi.dispatch.clock import Clock
from koegumi.dispatch.cost import CostModel
from koegumi.dispatch.job import DispatchError, Job, Outcome, QueueFull, Stopping, WorkFailed
from koegumi.dispatch.queue import LaneQueue
from koegumi.dispatch.run import Batch, Ending, Run, Ticket
from koegumi.pool.slot import Crew, Slot, SlotState
from koegumi.wire.messages import End

MAX_ATTEMPTS = 2


class Observer(Protocol):
    def job_finished(self, lane: str, outcome: str, queue_seconds: float, work_seconds: float) -> None:
        """Once for each job that was submitted. `outcome` is done, failed, lost, cancelled or refused."""


@dataclass(frozen=True)
class WatchdogPolicy:
    """A worker that gives no answer in `factor` x the predicted cost, and `floor` seconds at least, is killed;
    so is one that does not stop within `cancel_grace` seconds of a cancel."""

    floor: float = 30.0
    factor: float = 10.0
    cancel_grace: float = 2.0

    def budget(self, cost: float) -> float:
        return max(self.floor, self.factor * cost)


@dataclass(frozen=True)
class LaneStatistics:
    """`running` counts jobs whose client has left until their worker has stopped them."""

    waiting: int
    running: int
    backlog_seconds: float


@dataclass(frozen=True)
class DispatchStatistics:
    lanes: Mapping[str, LaneStatistics]


@dataclass
class _Lane:
    name: str
    limits: LaneLimits
    queue: LaneQueue[Ticket] = field(default_factory=LaneQueue)
    runs: defaultdict[str, set[Run]] = field(default_factory=lambda: defaultdict(set))  # by the slot's name

    @property
    def running(self) -> int:
        return sum(map(len, self.runs.values()))


class Dispatcher:
    def __init__(
        self,
        crew: Crew,
        lanes: Mapping[str, LaneLimits],
        clock: Clock,
        observer: Observer,
        watchdog: WatchdogPolicy = WatchdogPolicy(),
    ) -> None:
        self._crew = crew
        self._clock = clock
        self._observer = observer
        self._watchdog = watchdog
        self._costs = CostModel()
        self._lanes = {name: _Lane(name, limits) for name, limits in lanes.items()}
        self._run_numbers = itertools.count(1)
        self._stopping = False
        self.is_closed = False
        self._idle = asyncio.Event()
        self._idle.set()
        crew.on_room(lambda name: self._pump(self._lanes[name]))

    async def submit(self, job: Job) -> Outcome:
        """Run a job; a lost one once more. Raises QueueFull, Stopping, WorkFailed, WorkLost.

        Cancel the task that awaits this to withdraw the job; the worker is stopped behind its back.
        """
        (outcome,) = await self.submit_all([job])
        return outcome

    async def submit_all(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Run jobs side by side, on whatever lanes: all of them are admitted, or none. As `submit` for each; the first
        error withdraws the others."""
        if not jobs:
            return []
        batch = self._admit(jobs)
        try:
            self._pump_all(batch)
            result = await batch.answer
        finally:
            self._withdraw(batch)
        if isinstance(result, DispatchError):
            raise result
        return result

    def close(self) -> None:
        """Take no more jobs; those that wait and run are seen to their end as ever."""
        self.is_closed = True

    def stop(self) -> None:
        """Take no more jobs and fail those that wait with Stopping; those that run may end, but do not run again."""
        self.close()
        self._stopping = True
        for lane in self._lanes.values():
            while (entry := lane.queue.first()) is not None:
                lane.queue.remove(entry)
                self._settle(entry.item, "refused", Stopping())
            self._pump(lane)

    async def drained(self) -> None:
        """Wait until no job waits or runs."""
        await self._idle.wait()

    def statistics(self) -> DispatchStatistics:
        return DispatchStatistics(
            {
                lane.name: LaneStatistics(len(lane.queue), lane.running, lane.queue.backlog_seconds)
                for lane in self._lanes.values()
            }
        )

    def _admit(self, jobs: Sequence[Job]) -> Batch:
        costs = [self._predict(job) for job in jobs]
        if (error := self._refusal(jobs, costs)) is not None:
            for job in jobs:
                self._observer.job_finished(job.lane, "refused", 0.0, 0.0)
            raise error
        now = self._clock.now()
        batch = Batch(asyncio.get_running_loop().create_future())
        for job, cost in zip(jobs, costs, strict=True):
            ticket = Ticket(job, now, batch)
            ticket.entry = self._lanes[job.lane].queue.push(ticket, now, cost)
            batch.tickets.append(ticket)
        self._idle.clear()
        return batch

    def _refusal(self, jobs: Sequence[Job], costs: Sequence[float]) -> DispatchError | None:
        if self.is_closed:
            return Stopping()
        for name in {job.lane for job in jobs}:
            lane = self._lanes[name]
            here = [cost for job, cost in zip(jobs, costs, strict=True) if job.lane == name]
            if not lane.limits.admits(len(lane.queue), lane.queue.backlog_seconds, sum(here), len(here)):
                return QueueFull(retry_after(lane.queue.backlog_seconds, self._ready_workers(lane)))
        return None

    def _pump_all(self, batch: Batch) -> None:
        for name in {ticket.job.lane for ticket in batch.tickets}:
            self._pump(self._lanes[name])

    def _pump(self, lane: _Lane) -> None:
        while (entry := lane.queue.first()) is not None:
            ticket = entry.item
            if ticket.left:
                self._drop(lane, ticket)
            elif (slot := self._slot_for(lane, ticket)) is not None:
                self._start(lane, ticket, slot)
            else:
                break
        if not any(len(each.queue) or each.running for each in self._lanes.values()):
            self._idle.set()

    def _slot_for(self, lane: _Lane, ticket: Ticket) -> Slot | None:
        """The slot with the fewest jobs, of several the first in the crew's order: its caches are the warmest.

        A job that runs again has its worker to itself, so that it can take no other down and, should it be lost
        again, is known to be the cause. Until a worker is free for it nothing passes it.
        """

        def takes(slot: Slot) -> bool:
            runs = lane.runs[slot.name]
            return slot.room > 0 and not (runs if ticket.attempts else any(run.again for run in runs))

        slots = [slot for slot in self._crew.slots(lane.name) if takes(slot)]
        return min(slots, key=lambda slot: len(lane.runs[slot.name]), default=None)

    def _start(self, lane: _Lane, ticket: Ticket, slot: Slot) -> None:
        self._dequeue(lane, ticket)
        ticket.attempts += 1
        ticket.run = run = Run(next(self._run_numbers), ticket, slot, self._clock, self._ended)
        lane.runs[slot.name].add(run)
        budget = self._watchdog.budget(self._predict(ticket.job))
        run.kill_after(budget, f"no answer for {budget:.0f} s")
        slot.start(run.number, ticket.job.call, run)

    def _ended(self, run: Run, ending: Ending) -> None:
        ticket, job = run.ticket, run.ticket.job
        lane = self._lanes[job.lane]
        lane.runs[run.slot.name].remove(run)
        if isinstance(ending, End):
            self._costs.observe(job.rate_key, job.units, ending.seconds, job.first_rate)
        if ticket.settled:
            pass  # its client has left
        elif isinstance(ending, End):
            queued = run.started - ticket.admitted
            body = b"".join(run.chunks)
            outcome = Outcome(body, ending.media_type, run.slot.name, queued, ending.seconds, ticket.attempts)
            self._settle(ticket, "done", outcome)
        elif isinstance(ending, WorkFailed):
            self._settle(ticket, "failed", ending)
        elif ticket.attempts < MAX_ATTEMPTS and not self._stopping:
            ticket.run = None
            ticket.entry = lane.queue.push_first(ticket, self._predict(job))
        else:
            self._settle(ticket, "lost", ending)
        self._pump(lane)

    def _withdraw(self, batch: Batch) -> None:
        """Nobody waits for what has no result yet."""
        unsettled = [ticket for ticket in batch.tickets if not ticket.settled]
        for ticket in unsettled:
            self._drop(self._lanes[ticket.job.lane], ticket)
        if unsettled:
            self._pump_all(batch)

    def _drop(self, lane: _Lane, ticket: Ticket) -> None:
        ticket.batch.answer.cancel()
        self._settle(ticket, "cancelled", None)
        if (run := ticket.run) is None:
            self._dequeue(lane, ticket)
        else:
            grace = self._watchdog.cancel_grace
            run.kill_after(grace, f"not stopped {grace:.0f} s after a cancel")
            run.slot.cancel(run.number)

    def _dequeue(self, lane: _Lane, ticket: Ticket) -> None:
        if ticket.entry is not None:
            lane.queue.remove(ticket.entry)
            ticket.entry = None

    def _settle(self, ticket: Ticket, label: str, result: Outcome | DispatchError | None) -> None:
        """The one place where a job's fate is sealed and counted."""
        ticket.settled = True
        now = self._clock.now()
        started = ticket.run.started if ticket.run else now
        work = result.work_seconds if isinstance(result, Outcome) else now - started
        if ticket.left:
            label = "cancelled"
        elif result is not None:
            ticket.outcome = result if isinstance(result, Outcome) else None
            ticket.batch.settled(result)
        self._observer.job_finished(ticket.job.lane, label, started - ticket.admitted, work)

    def _predict(self, job: Job) -> float:
        return self._costs.predict(job.rate_key, job.units, job.first_rate)

    def _ready_workers(self, lane: _Lane) -> int:
        ready = (SlotState.READY, SlotState.BUSY)
        return sum(slot.statistics().state in ready for slot in self._crew.slots(lane.name))
