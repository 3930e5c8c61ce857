"""A job: one unit of work for one slot, what comes of it, and what can be wrong."""

from __future__ import annotations

from dataclasses import dataclass

from koegumi.wire.messages import Failure


@dataclass(frozen=True)
class Job:
    """`call` is an encoded `wire.messages.Call`; the scheduler never looks inside.

    Cost is `units` x the measured seconds of work for a unit of `rate_key`. A unit is a second of sound on a synthesis
    lane, a character on the query lane. `first_rate` is the guess until something was measured.
    """

    lane: str
    call: bytes
    rate_key: str
    units: float
    first_rate: float


@dataclass(frozen=True)
class Outcome:
    """A finished job: the worker's bytes as they are, and where the time went, in seconds."""

    body: bytes
    media_type: str
    worker: str
    queue_seconds: float
    work_seconds: float
    attempts: int


class DispatchError(Exception):
    """Why a job has no outcome."""


class QueueFull(DispatchError):  # noqa: N818 - reads as a sentence where it is raised
    """No room now; come back in `retry_after` whole seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"the queue is full; try again in {retry_after} s")
        self.retry_after = retry_after


class Stopping(DispatchError):  # noqa: N818
    """The server is shutting down and takes no work."""


class WorkFailed(DispatchError):  # noqa: N818
    """The worker answered with a failure and lives."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class WorkLost(DispatchError):  # noqa: N818
    """The job's worker died, twice: once more than a job may cost."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
