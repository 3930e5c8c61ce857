"""A job on its way: the ticket lives from admission to result, a run is one attempt on a slot.

Jobs that were submitted together share a batch, which has one answer.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import structlog

from koegumi.dispatch.clock import Clock, Handle
from koegumi.dispatch.entry import Entry
from koegumi.dispatch.job import DispatchError, Job, Outcome, WorkFailed, WorkLost
from koegumi.pool.slot import Slot
from koegumi.wire.messages import End, Failure, Progress

log = structlog.get_logger("koegumi.dispatch")

Ending = End | WorkFailed | WorkLost


@dataclass(eq=False)
class Batch:
    """Jobs that are answered together: all outcomes in the order of the jobs, or the first error.

    `answer` holds errors as values: nobody may be left to hear one. The task that awaits it cancels it when it is
    cancelled itself, one turn of the loop before it can withdraw the jobs.
    """

    answer: asyncio.Future[list[Outcome] | DispatchError]
    tickets: list[Ticket] = field(default_factory=list)
    done: int = 0

    def settled(self, result: Outcome | DispatchError) -> None:
        """What has become of one of its jobs; nobody asks after the answer is there."""
        if isinstance(result, DispatchError):
            self.answer.set_result(result)
            return
        self.done += 1
        if self.done == len(self.tickets):
            self.answer.set_result([ticket.outcome for ticket in self.tickets if ticket.outcome is not None])


@dataclass(eq=False)
class Ticket:
    """`entry` is its place in the queue while it waits; `run` its attempt from the start on, None while it waits.

    `deaths` counts those of workers that had nothing else; `context` holds what the log is to say of its request.
    """

    number: int
    job: Job
    cost: float
    admitted: float
    batch: Batch
    context: contextvars.Context = field(default_factory=contextvars.copy_context, repr=False)
    attempts: int = 0
    deaths: int = 0
    expiry: Handle | None = None
    entry: Entry[Ticket] | None = None
    run: Run | None = None
    settled: bool = False
    outcome: Outcome | None = None

    def log(self, event: str, **values: object) -> None:
        """A line among those of its request."""
        self.context.run(log.warning, event, job=self.number, lane=self.job.lane, kind=self.job.kind, **values)

    @property
    def left(self) -> bool:
        """Nobody waits for it any more: its client has left, or heard that another job of the batch has failed."""
        return self.batch.answer.done()


class Run:
    """One attempt: hears the worker, reports its ending once, and can have the worker killed at a time limit."""

    def __init__(self, number: int, ticket: Ticket, slot: Slot, clock: Clock, on_end: Callable[[Run, Ending], None]):
        self.number = number
        self.ticket = ticket
        self.slot = slot
        self.cost = ticket.cost
        self.started = clock.now()
        self.again = ticket.attempts > 1
        self.alone = True  # as far as is known when its worker dies: the first to hear of it tells the others
        self.chunks: list[bytes] = []
        self.reached: Progress | None = None
        self._clock = clock
        self._on_end = on_end
        self._limit: Handle | None = None
        self._renew: Callable[[], None] | None = None
        self._ended = False

    def kill_after(self, seconds: float, reason: str, renewed: bool = False) -> None:
        """Kill the worker unless the run ends in time; replaces the limit set before. Where it is `renewed` the time
        begins anew with each sign of life: a job that shares its worker may take long, but it gets on."""
        self._clear_limit()
        self._limit = self._clock.call_later(seconds, lambda: self.slot.kill(reason))
        self._renew = partial(self.kill_after, seconds, reason, renewed=True) if renewed else None

    def chunk(self, data: bytes) -> None:
        if not (self._ended or self.ticket.settled):
            self.chunks.append(data)

    def progress(self, progress: Progress) -> None:
        if self._ended:
            return
        self.reached = progress
        if self._renew is not None:
            self._renew()

    def done(self, end: End) -> None:
        self._end(end)

    def failed(self, failure: Failure) -> None:
        self._end(WorkFailed(failure))

    def lost(self, reason: str) -> None:
        self._end(WorkLost(reason))

    def _end(self, ending: Ending) -> None:
        if self._ended:
            return
        self._ended = True
        self._clear_limit()
        self._renew = None
        self._on_end(self, ending)

    def _clear_limit(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
