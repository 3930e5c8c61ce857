"""The jobs of this worker: what waits, what is cancelled, and what is answered, each once."""

from __future__ import annotations

import os
import queue
from dataclasses import dataclass, field

import msgspec
import structlog

from koegumi.voices.interface import Cancelled, VoiceError
from koegumi.wire.frames import Frame, FrameError, FrameType
from koegumi.wire.messages import Call, End, Failure, Loaded, Order, Progress
from koegumi.worker.handlers import Answer, Refused
from koegumi.worker.link import Link
from koegumi.worker.run import JobRun

log = structlog.get_logger("koegumi.worker")

CANCELLED = Failure("cancelled", "the job was cancelled")


@dataclass(eq=False)
class Job:
    number: int
    order: Order
    run: JobRun = field(default_factory=JobRun)

    @property
    def names(self) -> dict[str, str]:
        """What a line in the log says of it."""
        return {"request_id": self.order.request_id} if self.order.request_id else {}

    def call(self) -> Call:
        """Raises msgspec.DecodeError."""
        call: Call = msgspec.msgpack.decode(self.order.call, type=Call)
        return call


class Jobs:
    """`listen` runs in the second thread, everything that does not hear in the main one.

    A cancelled job is answered by whoever works on it, once it has stopped. Where jobs share steps that may take long
    they are `cancelled_at_once`: the front hears so at once, and the step ends in its own time.
    """

    def __init__(self, link: Link) -> None:
        self._link = link
        self._waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._open: dict[int, Job] = {}
        self.cancelled_at_once = False
        self._told: frozenset[int] | None = None

    def listen(self) -> None:
        """Queue calls, cancel runs, end with the front."""
        try:
            while True:
                self.hear(self._link.read())
        except BaseException:
            # The front is gone, or talks nonsense. The main thread may be in native code: leave it no say.
            os._exit(0)

    def hear(self, frame: Frame) -> None:
        """Raises FrameError and msgspec.DecodeError."""
        if frame.type is FrameType.CALL:
            order = msgspec.msgpack.decode(frame.payload, type=Order)
            job = self._open[frame.job_id] = Job(frame.job_id, order)
            self._waiting.put(job)
        elif frame.type is not FrameType.CANCEL:
            raise FrameError(f"{frame.type.name} is not for workers")
        elif (found := self._open.get(frame.job_id)) is not None:
            found.run.cancel()
            if self.cancelled_at_once:
                self.answer(found, CANCELLED, 0.0)

    def next(self) -> Job:
        """Waits for one."""
        return self._waiting.get()

    def next_within(self, limit: float | None) -> Job | None:
        """Waits for one, but no longer than `limit` seconds."""
        try:
            return self._waiting.get(timeout=limit)
        except queue.Empty:
            return None

    def tell_loaded(self, style_ids: frozenset[int]) -> None:
        """Before the answer of what has changed it, so that the front knows then."""
        if style_ids != self._told:
            self._told = style_ids
            self._link.send_struct(FrameType.LOADED, Loaded(sorted(style_ids)))

    def next_now(self) -> Job | None:
        """One that waits already."""
        try:
            return self._waiting.get_nowait()
        except queue.Empty:
            return None

    def progress(self, job: Job, progress: Progress) -> None:
        if job.number in self._open:
            self._link.send_struct(FrameType.PROGRESS, progress, job.number)

    def answer(self, job: Job, answer: Answer | Failure, seconds: float) -> None:
        """The first answer to a job is the one that is sent."""
        if self._open.pop(job.number, None) is None:
            return
        if isinstance(answer, Failure):
            self._link.send_struct(FrameType.FAILURE, answer, job.number)
        else:
            self._link.send_body(job.number, answer.body)
            self._link.send_struct(FrameType.END, End(answer.media_type, seconds), job.number)


def failure_of(error: Exception, job: Job) -> Failure:
    """What the front hears of a job that raised this."""
    match error:
        case Cancelled():
            return CANCELLED
        case Refused():
            return error.failure
        case VoiceError():
            return Failure("invalid", str(error))
    if job.run.is_cancelled:  # a terminated session raises its own error
        return CANCELLED
    log.error("job failed", job=job.number, exc_info=error, **job.names)
    return Failure("internal", f"{type(error).__name__}: {error}")
