"""The dispatcher: admits jobs, gives them to slots that have room, and sees each to exactly one result.

Everything happens on one event loop. After every change a lane is pumped: jobs start, in the queue's order, for as
long as the first of them finds a slot.
"""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from koegumi.dispatch.admission import LaneLimits
from koegumi.dispatch.clock import Clock
from koegumi.dispatch.cost import CostModel
from koegumi.dispatch.job import (
    DeadlinePassed,
    DispatchError,
    Job,
    MuchUnread,
    Outcome,
    Quarantined,
    Refused,
    Stopping,
    WorkLost,
)
from koegumi.dispatch.lane import Lane
from koegumi.dispatch.quarantine import FATAL_DEATHS, Quarantine
from koegumi.dispatch.run import Batch, Ending, Run, Ticket
from koegumi.dispatch.statistics import DispatchStatistics, JobStatistics
from koegumi.pool.slot import Crew, Slot
from koegumi.wire.messages import End

MAX_ATTEMPTS = 2


class Observer(Protocol):
    def job_finished(self, lane: str, outcome: str, queue_seconds: float, work_seconds: float) -> None:
        """Once for each job that was submitted. `outcome` is done, failed, lost, cancelled, deadline or refused."""

    def job_refused(self, lane: str, why: str) -> None:
        """A job was not admitted, or given up by a server that ends; `why` is a word of `dispatch.job`."""

    def job_quarantined(self, lane: str) -> None:
        """A job is refused from now on, for a while."""


@dataclass(frozen=True)
class WatchdogPolicy:
    """A worker that gives no answer and no sign of life in `factor` x the predicted cost, and `floor` seconds at least,
    is killed; so is one that does not stop within `cancel_grace` seconds of a cancel."""

    floor: float = 30.0
    factor: float = 10.0
    cancel_grace: float = 2.0

    def budget(self, cost: float) -> float:
        return max(self.floor, self.factor * cost)


class Dispatcher:
    def __init__(
        self,
        crew: Crew,
        lanes: Mapping[str, LaneLimits],
        clock: Clock,
        observer: Observer,
        watchdog: WatchdogPolicy = WatchdogPolicy(),
        much_unread: Callable[[], int | None] = lambda: None,
    ) -> None:
        """`much_unread` says in how many seconds to come back while clients have not read what is done, else None."""
        self._crew = crew
        self._clock = clock
        self._observer = observer
        self._watchdog = watchdog
        self._much_unread = much_unread
        self._costs = CostModel()
        self._quarantine = Quarantine(clock)
        self._lanes = {name: Lane(name, limits, crew) for name, limits in lanes.items()}
        self._numbers = itertools.count(1)
        self._run_numbers = itertools.count(1)
        self._stopping = False
        self.is_closed = False
        self._idle = asyncio.Event()
        self._idle.set()
        crew.on_room(lambda name: self._pump(self._lanes[name]))

    def add_lane(self, name: str, limits: LaneLimits) -> None:
        """A lane more, unless there is one of that name; before the crew has slots for it."""
        self._lanes.setdefault(name, Lane(name, limits, self._crew))

    async def submit(self, job: Job) -> Outcome:
        """Run a job; a lost one once more. Raises the errors of `dispatch.job`.

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
            batch.tickets.clear()  # as above
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
            self._turn_away(lane, Stopping())
            self._pump(lane)

    async def drained(self) -> None:
        """Wait until no job waits or runs."""
        await self._idle.wait()

    def statistics(self) -> DispatchStatistics:
        return DispatchStatistics({lane.name: lane.statistics() for lane in self._lanes.values()})

    def explain(self) -> list[JobStatistics]:
        """All jobs: for each lane those that run, then those that wait, in their order. For people, not for metrics."""
        now = self._clock.now()
        return [job for lane in self._lanes.values() for job in lane.explain(now)]

    def _admit(self, jobs: Sequence[Job]) -> Batch:
        costs = [self._predict(job) for job in jobs]
        if (error := self._refusal(jobs, costs)) is not None:
            for job in jobs:
                self._observer.job_refused(job.lane, error.why)
                self._observer.job_finished(job.lane, "refused", 0.0, 0.0)
            raise error
        now = self._clock.now()
        batch = Batch(asyncio.get_running_loop().create_future())
        for job, cost in zip(jobs, costs, strict=True):
            ticket = Ticket(next(self._numbers), job, cost, now, batch)
            ticket.entry = self._lanes[job.lane].queue.push(ticket, now, cost, job.client, job.batch)
            if job.deadline is not None:
                ticket.expiry = self._clock.call_later(job.deadline, partial(self._expire, ticket))
            batch.tickets.append(ticket)
        self._idle.clear()
        return batch

    def _refusal(self, jobs: Sequence[Job], costs: Sequence[float]) -> Refused | None:
        if self.is_closed:
            return Stopping()
        for job in jobs:
            if (seconds := self._quarantine.seconds_left(job)) is not None:
                return Quarantined(math.ceil(seconds))
        if (wait := self._much_unread()) is not None:
            return MuchUnread(wait)
        now = self._clock.now()
        for name in dict.fromkeys(job.lane for job in jobs):
            here = [(job, cost) for job, cost in zip(jobs, costs, strict=True) if job.lane == name]
            refusal = self._lanes[name].refusal([job for job, _ in here], [cost for _, cost in here], now)
            if refusal is not None:
                return refusal
        return None

    def _pump_all(self, batch: Batch) -> None:
        for name in {ticket.job.lane for ticket in batch.tickets}:
            self._pump(self._lanes[name])

    def _turn_away(self, lane: Lane, error: Refused) -> None:
        """All that wait there."""
        while (entry := lane.queue.first(self._clock.now())) is not None:
            lane.queue.remove(entry)
            self._blame(lane, entry.item, entry.item.deaths)
            self._settle(entry.item, "refused", error)

    def _pump(self, lane: Lane) -> None:
        if (outage := lane.outage) is not None:
            self._turn_away(lane, outage)
        while (entry := lane.queue.first(self._clock.now())) is not None:
            ticket = entry.item
            if ticket.left:
                self._drop(lane, ticket)
            elif (slot := lane.slot_for(ticket)) is not None:
                self._start(lane, ticket, slot)
            else:
                break
        if not any(len(each.queue) or each.running for each in self._lanes.values()):
            self._idle.set()

    def _start(self, lane: Lane, ticket: Ticket, slot: Slot) -> None:
        assert ticket.entry is not None
        lane.queue.start(ticket.entry)
        ticket.entry = None
        ticket.attempts += 1
        ticket.cost = self._predict(ticket.job)
        ticket.run = run = Run(next(self._run_numbers), ticket, slot, self._clock, self._ended)
        lane.runs[slot.name].add(run)
        budget = self._watchdog.budget(ticket.cost)
        run.kill_after(budget, f"no answer for {budget:.0f} s", renewed=True)
        slot.start(run.number, ticket.job.request_id, ticket.job.call, run)

    def _ended(self, run: Run, ending: Ending) -> None:
        ticket, job = run.ticket, run.ticket.job
        lane = self._lanes[job.lane]
        lane.runs[run.slot.name].remove(run)
        if isinstance(ending, WorkLost):
            self._lost(lane, run, ending)
        elif isinstance(ending, End):
            self._costs.observe(job.rate_key, job.units, ending.seconds, job.first_rate)
            self._quarantine.succeeded(job)
            queued = run.started - ticket.admitted
            outcome = Outcome(
                b"".join(run.chunks), ending.media_type, run.slot.name, queued, ending.seconds, ticket.attempts
            )
            self._settle(ticket, "done", outcome)
        else:
            if ending.failure.kind == "internal":  # the worker's log has the trace, under the number of the run
                ticket.log("job failed", worker=run.slot.name, run=run.number)
            self._settle(ticket, "failed", ending)
        ticket.run = None  # a circle would keep the sound until it is collected
        self._pump(lane)

    def _lost(self, lane: Lane, run: Run, lost: WorkLost) -> None:
        """Its worker died. Innocent until alone: of jobs that died together each runs again by itself."""
        ticket, others = run.ticket, lane.runs[run.slot.name]
        for other in others:
            other.alone = False
        ticket.deaths += run.alone and not others
        again = not ticket.settled and ticket.attempts < MAX_ATTEMPTS and not self._stopping
        in_time = ticket.cost <= self._seconds_left(ticket)
        ticket.log("job lost", worker=run.slot.name, run=run.number, reason=lost.reason, again=again and in_time)
        if again and in_time:
            ticket.run = None
            ticket.entry = lane.queue.push_again(ticket, ticket.cost, ticket.job.client)
            return
        self._blame(lane, ticket, FATAL_DEATHS if ticket.attempts == MAX_ATTEMPTS else ticket.deaths)
        if again:
            self._settle(ticket, "deadline", DeadlinePassed())
        elif ticket.attempts < MAX_ATTEMPTS:
            self._settle(ticket, "refused", Stopping())
        else:
            self._settle(ticket, "lost", lost)

    def _blame(self, lane: Lane, ticket: Ticket, deaths: int) -> None:
        """So many workers died of it, unless the server ends them itself."""
        if deaths and not self._stopping and self._quarantine.died(ticket.job, deaths):
            ticket.log("quarantined")
            self._observer.job_quarantined(lane.name)

    def _seconds_left(self, ticket: Ticket) -> float:
        deadline = ticket.job.deadline
        return math.inf if deadline is None else ticket.admitted + deadline - self._clock.now()

    def _expire(self, ticket: Ticket) -> None:
        lane = self._lanes[ticket.job.lane]
        self._settle(ticket, "deadline", DeadlinePassed())
        self._abandon(lane, ticket)
        self._pump(lane)

    def _withdraw(self, batch: Batch) -> None:
        """Nobody waits for what has no result yet."""
        unsettled = [ticket for ticket in batch.tickets if not ticket.settled]
        for ticket in unsettled:
            self._drop(self._lanes[ticket.job.lane], ticket)
        if unsettled:
            self._pump_all(batch)

    def _drop(self, lane: Lane, ticket: Ticket) -> None:
        ticket.batch.answer.cancel()
        self._settle(ticket, "cancelled", None)
        self._abandon(lane, ticket)

    def _abandon(self, lane: Lane, ticket: Ticket) -> None:
        """Nobody wants it any more: it does not start, or stops."""
        if ticket.entry is not None:
            lane.queue.remove(ticket.entry)
            ticket.entry = None
            self._blame(lane, ticket, ticket.deaths)
        elif ticket.run is not None:
            grace = self._watchdog.cancel_grace
            ticket.run.kill_after(grace, f"not stopped {grace:.0f} s after a cancel")
            ticket.run.slot.cancel(ticket.run.number)

    def _settle(self, ticket: Ticket, label: str, result: Outcome | DispatchError | None) -> None:
        """The one place where a job's fate is sealed and counted, the first that it meets."""
        if ticket.settled:
            return
        ticket.settled = True
        if ticket.expiry is not None:
            ticket.expiry.cancel()
        now = self._clock.now()
        started = ticket.run.started if ticket.run else now
        work = result.work_seconds if isinstance(result, Outcome) else now - started
        if ticket.left:
            label = "cancelled"
        elif result is not None:
            ticket.outcome = result if isinstance(result, Outcome) else None
            ticket.batch.settled(result)
        if label == "refused" and isinstance(result, Refused):
            self._observer.job_refused(ticket.job.lane, result.why)
        self._observer.job_finished(ticket.job.lane, label, started - ticket.admitted, work)

    def _predict(self, job: Job) -> float:
        return self._costs.predict(job.rate_key, job.units, job.first_rate)
