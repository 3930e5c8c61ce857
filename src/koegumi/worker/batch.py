"""Several syntheses at a time, by a voice that does them together."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from time import perf_counter
from typing import NoReturn

import msgspec
import numpy as np
from numpy.typing import NDArray

from koegumi.schema.plain import AudioQuery
from koegumi.voices.interface import BatchSynthesisVoice, Cancelled, Request
from koegumi.wire.messages import Failure, Progress, SynthesisCall
from koegumi.worker import single
from koegumi.worker.handlers import Answer, Handlers
from koegumi.worker.jobs import CANCELLED, Job, Jobs, failure_of
from koegumi.worker.synthesis import spoken

# Seconds between two signs of life.
BEAT = 0.5


class Desk:
    """Where the voice takes its requests (`voices.interface.Requests`). All other work is done between them.

    Each of those that share a stretch of time is said to have cost its part of it, so that the costs of all jobs add up
    to the time that they took.
    """

    def __init__(self, jobs: Jobs, handlers: Handlers, voice: BatchSynthesisVoice) -> None:
        self._jobs = jobs
        self._handlers = handlers
        self.voice = voice
        self._waiting: deque[_Ticket] = deque()
        self._active: list[_Ticket] = []
        self._counted = self._beaten = perf_counter()

    def work(self) -> NoReturn:
        while True:
            self._sort(self._jobs.next())
            while self._waiting:
                self._speak()

    def take(self) -> Request | None:
        self._sort_all()
        while self._waiting:
            ticket = self._waiting.popleft()
            if not ticket.job.run.is_cancelled:
                self._share_time()
                self._active.append(ticket)
                return ticket
        return None

    def beat(self) -> None:
        """Tell how far everybody is, unless that was just done. Who waits here waits for a worker that is alive."""
        now = perf_counter()
        if now - self._beaten < BEAT:
            return
        self._beaten = now
        self._sort_all()
        for ticket in [*self._active, *self._waiting]:
            self._jobs.progress(ticket.job, ticket.reached)

    def over(self, ticket: _Ticket, answer: Answer | Failure) -> None:
        self._share_time()
        self._active.remove(ticket)
        self._jobs.answer(ticket.job, answer, ticket.seconds)

    def _speak(self) -> None:
        try:
            self.voice.speak(self)
        except Exception as error:
            left = [ticket for ticket in self._active if not ticket.job.run.is_cancelled]
            self._active.clear()
            if len(left) > 1:
                raise  # nobody knows whose fault it is: the worker ends, and each runs again by itself
            for ticket in left:
                self._jobs.answer(ticket.job, failure_of(error, ticket.job), ticket.seconds)

    def _sort_all(self) -> None:
        while (job := self._jobs.next_now()) is not None:
            self._sort(job)

    def _sort(self, job: Job) -> None:
        try:
            call = job.call()
            ticket = _Ticket(self, job, call) if isinstance(call, SynthesisCall) else None
        except msgspec.DecodeError as error:
            self._jobs.answer(job, failure_of(error, job), 0.0)
            return
        if ticket is not None:
            self._waiting.append(ticket)
        else:
            single.do(job, self._jobs, self._handlers)

    def _share_time(self) -> None:
        now = perf_counter()
        for ticket in self._active:
            ticket.seconds += (now - self._counted) / len(self._active)
        self._counted = now


class _Ticket:
    """A job as the voice sees it (`voices.interface.Request`)."""

    def __init__(self, desk: Desk, job: Job, call: SynthesisCall) -> None:
        self._desk = desk
        self.job = job
        self.query = msgspec.msgpack.decode(call.query, type=AudioQuery)
        self.style_id = call.style_id
        self.extras: Mapping[str, int | float] = call.extras
        self.seconds = 0.0
        self.reached = Progress("waiting", 0.0)

    def check(self) -> None:
        try:
            self.job.run.check()
        except Cancelled:
            self._desk.over(self, CANCELLED)
            raise
        self._desk.beat()

    def progress(self, stage: str, share: float) -> None:
        self.reached = Progress(stage, share)
        self._desk.beat()

    def done(self, wave: NDArray[np.float32]) -> None:
        answer: Answer | Failure
        try:
            answer = spoken(wave, self._desk.voice.sampling_rate, self.query)
        except Exception as error:
            answer = failure_of(error, self.job)
        self._desk.over(self, answer)

    def failed(self, error: Exception) -> None:
        self._desk.over(self, failure_of(error, self.job))
