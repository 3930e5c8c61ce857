"""Finished sound that clients have not read yet: bounded, over all of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import structlog

from koegumi.dispatch.clock import Clock, Handle

log = structlog.get_logger("koegumi")

# Who has read less than ENOUGH bytes in PATIENCE seconds is slow: a tenth of what sound at 24 kHz is played at.
PATIENCE = 10.0
ENOUGH = 64 * 1024
LOOK_EVERY = 1.0


class Reader(Protocol):
    """A connection whose client has a part of its answer still to read."""

    @property
    def unread_bytes(self) -> int: ...

    def drop(self) -> None:
        """End the connection; what its client has not read is lost."""


@dataclass
class _Mark:
    """Since when a reader has read less than ENOUGH, and how much it had to read then."""

    time: float
    unread: int


class Unread:
    """The answers that wait in the front's memory for their readers, over all connections.

    Over `limit` no new work is taken, and readers that are slow lose their connections, the slowest first, until the
    rest fits. What was accepted before still comes: over twice the limit whoever is slowest goes at once, so that the
    memory is bounded whatever comes. A single answer may be as large as it is.
    """

    def __init__(self, limit: int, clock: Clock) -> None:
        self._limit = limit
        self._clock = clock
        self._marks: dict[Reader, _Mark] = {}
        self._look: Handle | None = None
        self.dropped = 0

    @property
    def total(self) -> int:
        return sum(reader.unread_bytes for reader in self._marks)

    @property
    def retry_after(self) -> int | None:
        """In how many seconds there is room for new work at the latest; None where there is."""
        return math.ceil(PATIENCE) if self.total > self._limit else None

    def began(self, reader: Reader) -> None:
        """It has so much to read that it has to be watched."""
        self._marks[reader] = _Mark(self._clock.now(), reader.unread_bytes)
        self._make_room()
        if self._look is None:
            self._look_later()

    def ended(self, reader: Reader) -> None:
        """It has read nearly all, or is gone."""
        self._marks.pop(reader, None)

    def _look_later(self) -> None:
        self._look = self._clock.call_later(LOOK_EVERY, self._look_now)

    def _look_now(self) -> None:
        self._look = None
        now = self._clock.now()
        for reader, mark in self._marks.items():
            unread = reader.unread_bytes
            if mark.unread - unread >= ENOUGH:
                mark.time, mark.unread = now, unread
        self._make_room()
        if self._marks:
            self._look_later()

    def _make_room(self) -> None:
        now, total = self._clock.now(), self.total
        slowest_first = sorted(self._marks, key=lambda reader: self._marks[reader].time)
        for reader in slowest_first:
            seconds = now - self._marks[reader].time
            may_stay = seconds < PATIENCE and (total <= 2 * self._limit or reader is slowest_first[-1])
            if total <= self._limit or may_stay:
                return
            unread = reader.unread_bytes
            total -= unread
            self.ended(reader)
            self.dropped += 1
            log.warning("slow client dropped", unread_bytes=unread, seconds=round(seconds, 1))
            reader.drop()
