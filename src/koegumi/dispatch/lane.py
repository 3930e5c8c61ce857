"""A lane: its queue, what runs on its slots, and whether it takes more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from koegumi.dispatch.admission import LaneLimits, retry_after
from koegumi.dispatch.job import DeadlineTooShort, Job, OutOfService, QueueFull, Refused, ShareUsed
from koegumi.dispatch.queue import LaneQueue
from koegumi.dispatch.run import Run, Ticket
from koegumi.dispatch.statistics import JobStatistics, LaneStatistics
from koegumi.pool.slot import Crew, Slot, SlotState


@dataclass
class Lane:
    name: str
    limits: LaneLimits
    crew: Crew
    queue: LaneQueue[Ticket] = field(default_factory=LaneQueue)
    runs: defaultdict[str, set[Run]] = field(default_factory=lambda: defaultdict(set))  # by the slot's name

    @property
    def running(self) -> int:
        return sum(map(len, self.runs.values()))

    def statistics(self) -> LaneStatistics:
        return LaneStatistics(len(self.queue), self.running, self.queue.backlog_seconds)

    @property
    def outage(self) -> OutOfService | None:
        outage = self.crew.outage(self.name)
        return OutOfService(outage.retry_after) if outage is not None else None

    def slot_for(self, ticket: Ticket) -> Slot | None:
        """The slot with the fewest jobs, of several the first in the crew's order: its caches are the warmest.

        A job that runs again has its worker to itself, so that it can take no other down and, should it be lost
        again, is known to be the cause. Until a worker is free for it nothing passes it.
        """

        def takes(slot: Slot) -> bool:
            runs = self.runs[slot.name]
            return slot.room > 0 and not (runs if ticket.attempts else any(run.again for run in runs))

        slots = [slot for slot in self.crew.slots(self.name) if takes(slot)]
        return min(slots, key=lambda slot: len(self.runs[slot.name]), default=None)

    def refusal(self, jobs: Sequence[Job], costs: Sequence[float], now: float) -> Refused | None:
        """Why these jobs of one client, which cost so much, cannot come in together."""
        if (outage := self.outage) is not None:
            return outage
        queue, count, cost = self.queue, len(jobs), sum(costs)
        own = queue.held(jobs[0].client)
        when = retry_after(queue.backlog_seconds, self._ready_workers)
        if self.limits.is_greedy(len(queue), queue.backlog_seconds, own.count, own.seconds, queue.clients):
            return ShareUsed(when)
        if not self.limits.admits(len(queue), queue.backlog_seconds, cost, count):
            return QueueFull(when)
        deadlines = [job.deadline for job in jobs if job.deadline is not None]
        if deadlines and self._seconds_to_end(jobs[0], costs, now) > min(deadlines):
            return DeadlineTooShort(when)
        return None

    def explain(self, now: float) -> list[JobStatistics]:
        running = [run for runs in self.runs.values() for run in runs]
        running.sort(key=lambda run: run.number)
        return [_explained(run.ticket, now, None, run) for run in running] + [
            _explained(ticket, now, position, None) for position, ticket in enumerate(self.queue.in_order(now))
        ]

    def _seconds_to_end(self, first: Job, costs: Sequence[float], now: float) -> float:
        """An estimate for jobs like the first. One job has one worker, however many there are."""
        workers = max(1, self._ready_workers)
        ahead = self.queue.seconds_ahead(first.client, first.batch, max(costs))
        if ahead or not any(slot.room for slot in self.crew.slots(self.name)):
            ahead += sum(max(0.0, run.started + run.cost - now) for runs in self.runs.values() for run in runs)
        return ahead / workers + max(max(costs), sum(costs) / workers)

    @property
    def _ready_workers(self) -> int:
        states = (slot.statistics().state for slot in self.crew.slots(self.name))
        return sum(state in (SlotState.READY, SlotState.BUSY) for state in states)


def _explained(ticket: Ticket, now: float, position: int | None, run: Run | None) -> JobStatistics:
    job = ticket.job
    reached = run.reached if run is not None else None
    return JobStatistics(
        number=ticket.number,
        lane=job.lane,
        kind=job.kind,
        voice=job.voice,
        client=job.client,
        batch=job.batch,
        cost=ticket.cost,
        age=now - ticket.admitted,
        deadline=ticket.admitted + job.deadline - now if job.deadline is not None else None,
        attempts=ticket.attempts,
        position=position,
        worker=run.slot.name if run is not None else None,
        stage=reached.stage if reached is not None else None,
        share=reached.share if reached is not None else None,
    )
