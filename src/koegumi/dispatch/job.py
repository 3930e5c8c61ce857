"""A job: one unit of work for one slot, what comes of it, and what can be wrong."""

from __future__ import annotations

from dataclasses import dataclass, field

from koegumi.wire.messages import Failure


@dataclass(frozen=True)
class Job:
    """`call` is an encoded `wire.messages.Call`; the scheduler never looks inside.

    Cost is `units` x the measured seconds of work for a unit of `rate_key`. A unit is a second of sound on a synthesis
    lane, a character on the query lane. `first_rate` is the guess until something was measured.

    `client` is who asked, for the sharing of workers. Batch jobs come after interactive ones. `deadline` is how many
    seconds from its submission on it is worth anything. `kind`, `voice` (a style id) and `request_id` are for people.
    """

    lane: str
    call: bytes
    rate_key: str
    units: float
    first_rate: float
    client: str = ""
    batch: bool = False
    deadline: float | None = None
    kind: str = ""
    voice: int | None = None
    request_id: str = field(default="", compare=False)


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


class Refused(DispatchError):  # noqa: N818 - reads as a sentence where it is raised
    """The job was not admitted. `why` is a word for it, for counters."""

    why = ""


class ComeBack(Refused):
    """Not now; in `retry_after` whole seconds perhaps."""

    def __init__(self, text: str, retry_after: int) -> None:
        super().__init__(f"{text}; try again in {retry_after} s")
        self.retry_after = retry_after


class QueueFull(ComeBack):
    """No room."""

    why = "full"

    def __init__(self, retry_after: int) -> None:
        super().__init__("the queue is full", retry_after)


class MuchUnread(ComeBack):
    """So much finished sound waits for slow clients to read it that no more is made."""

    why = "unread"

    def __init__(self, retry_after: int) -> None:
        super().__init__("too much finished sound waits to be read", retry_after)


class ShareUsed(ComeBack):
    """The queue is over half full, others wait too, and the client has more than its share of it."""

    why = "share"

    def __init__(self, retry_after: int) -> None:
        super().__init__("others wait too, and most of the queue is yours", retry_after)


class OutOfService(ComeBack):
    """No worker of the lane can be started. The reason may name files of this machine, so it is not for clients."""

    why = "outage"

    def __init__(self, retry_after: int) -> None:
        super().__init__("no worker for this can be started, the server's log says why", retry_after)


class DeadlineTooShort(ComeBack):
    """What waits and the job itself would most likely take longer than its deadline."""

    why = "deadline"

    def __init__(self, retry_after: int) -> None:
        super().__init__("the deadline cannot be met", retry_after)


class Quarantined(Refused):
    """The same job was at work when workers died; it is refused for `retry_after` seconds more."""

    why = "quarantine"

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"this request was at work when workers died, and is refused for {retry_after} s more")
        self.retry_after = retry_after


class Stopping(Refused):
    """The server is shutting down and takes no work, or does not try again what was lost."""

    why = "stopping"


class DeadlinePassed(DispatchError):  # noqa: N818
    """The deadline came first."""

    def __init__(self) -> None:
        super().__init__("the deadline has passed")


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
