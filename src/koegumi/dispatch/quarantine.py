"""Jobs that end workers are refused for a while, whoever sends them."""

from __future__ import annotations

import hashlib
from collections import OrderedDict

from koegumi.dispatch.clock import Clock
from koegumi.dispatch.job import Job

SECONDS = 600.0
MOST = 256
FATAL_DEATHS = 2

Key = tuple[str, int, bytes]


class Quarantine:
    """Jobs are the same when lane and call are. Tells the guilty from those that were near: the dispatcher reports only
    deaths at which a job was by itself, or which came after it had been at an earlier one.

    Deaths of a job add up over those that send it, for a client that leaves after each; one success clears it. At most
    MOST jobs are held and MOST suspected: the oldest make room.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: OrderedDict[Key, float] = OrderedDict()
        self._deaths: OrderedDict[Key, float] = OrderedDict()

    def seconds_left(self, job: Job) -> float | None:
        """How long the job is refused still; None where it is not."""
        if not _may_know(self._until, job):
            return None
        left = self._until.get(_key(job), 0.0) - self._clock.now()
        return left if left > 0 else None

    def died(self, job: Job, deaths: float) -> bool:
        """So many deaths are the job's; whether it is refused from now on."""
        key = _key(job)
        deaths += self._deaths.pop(key, 0)
        if deaths < FATAL_DEATHS:
            _keep(self._deaths, key, deaths)
            return False
        self._until.pop(key, None)
        _keep(self._until, key, self._clock.now() + SECONDS)
        return True

    def succeeded(self, job: Job) -> None:
        if _may_know(self._deaths, job):
            self._deaths.pop(_key(job), None)


def _key(job: Job) -> Key:
    return job.lane, len(job.call), hashlib.sha256(job.call).digest()


def _may_know(table: OrderedDict[Key, float], job: Job) -> bool:
    """Large calls take long to digest."""
    return any(size == len(job.call) and lane == job.lane for lane, size, _ in table)


def _keep(table: OrderedDict[Key, float], key: Key, value: float) -> None:
    table[key] = value
    if len(table) > MOST:
        table.popitem(last=False)
