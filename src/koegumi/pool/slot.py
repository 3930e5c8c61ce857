"""A slot: a place in the crew that a worker fills. This is all that dispatch knows of workers."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from koegumi.wire.messages import End, Failure, Progress


class SlotState(enum.StrEnum):
    """STARTING, LOADING, WARMING, then READY and BUSY in turn. DRAINING: it takes no new job and ends with its last.
    BACKOFF: its worker died and comes back; FAILED: it died too often, and a start is tried only now and then."""

    STARTING = "starting"
    LOADING = "loading"
    WARMING = "warming"
    READY = "ready"
    BUSY = "busy"
    DRAINING = "draining"
    BACKOFF = "backoff"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True)
class SlotStatistics:
    """`jobs_done` and `age` (seconds) are the present worker's, `restarts` counts those that died before it."""

    name: str
    lane: str
    state: SlotState
    pid: int | None
    device: str
    running: int
    jobs_done: int
    restarts: int
    age: float = 0.0


@dataclass(frozen=True)
class Outage:
    """Why a lane has no worker, and in how many seconds at most the next start is tried."""

    reason: str
    retry_after: int


class Receiver(Protocol):
    """Hears what becomes of one job. After `done`, `failed` or `lost` it hears nothing more."""

    def chunk(self, data: bytes) -> None: ...

    def progress(self, progress: Progress) -> None:
        """The worker is alive and this far; only of long jobs, now and then."""

    def done(self, end: End) -> None: ...

    def failed(self, failure: Failure) -> None:
        """The worker answered with an error and lives."""

    def lost(self, reason: str) -> None:
        """The worker died before it answered."""


class Slot(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def room(self) -> int:
        """How many more jobs it takes now; 0 unless its worker is ready."""

    def start(self, job_id: int, request_id: str, call: bytes, receiver: Receiver) -> None:
        """Give it a job; only with room. `receiver` is never called before this returns. Its worker's log says
        `request_id`, where it is not empty."""

    def cancel(self, job_id: int) -> None:
        """Ask it to stop a job; the receiver then hears `failed` (cancelled), or `done` if it was too late."""

    def kill(self, reason: str) -> None:
        """End its worker now; receivers of all its jobs hear `lost`. The slot comes back by itself."""

    def statistics(self) -> SlotStatistics: ...


class Crew(Protocol):
    """All slots, by lane."""

    def slots(self, lane: str) -> Sequence[Slot]: ...

    def outage(self, lane: str) -> Outage | None:
        """Not None while all slots of a lane have failed: what waits for it would wait too long."""

    def on_room(self, callback: Callable[[str], None]) -> None:
        """Register the one callback that hears the lane's name whenever a slot of it may have got room, and when an
        outage begins."""
