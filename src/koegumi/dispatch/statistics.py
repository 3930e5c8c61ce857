"""What the dispatcher says of itself: numbers for metrics, and a queue explained to people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class LaneStatistics:
    """`running` counts jobs whose client has left until their worker has stopped them."""

    waiting: int
    running: int
    backlog_seconds: float


@dataclass(frozen=True)
class DispatchStatistics:
    lanes: Mapping[str, LaneStatistics]


@dataclass(frozen=True)
class JobStatistics:
    """A job that waits (`position` 0 is the next of its lane) or runs (`worker` says where). `attempts` have begun;
    `cost`, `age` and `deadline`, what is left until it, are in seconds. Of a long job that runs, `stage` is what is
    done to it now and `share` how much of its work is done, 0 to 1."""

    number: int
    lane: str
    kind: str
    voice: int | None
    client: str
    batch: bool
    cost: float
    age: float
    deadline: float | None
    attempts: int
    position: int | None
    worker: str | None
    stage: str | None = None
    share: float | None = None
