"""The order in which a lane's jobs run."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Generic

from koegumi.dispatch.entry import NANO, Entry, EntryHeap, T
from koegumi.dispatch.shares import Shares

# Measured with a crew that is always busy: more patience, and the longest of everyday sentences waits many times its
# own length, while shorter ones pass.
GRACE, BATCH_GRACE = 2.0, 30.0
PATIENCE = 1.0


@dataclass
class Held:
    """What one client has in the queue."""

    count: int = 0
    nanoseconds: int = 0

    @property
    def seconds(self) -> float:
        return self.nanoseconds / NANO


class LaneQueue(Generic[T]):
    """Its laws, the first before the later ones:

    1. Jobs that run again come before all others, in the order in which they were lost.
    2. Ageing: a job is due GRACE (batch: BATCH_GRACE) + PATIENCE x its cost after its arrival. Every second start is
       for the job that is due longest, whosever and of whatever class it is. So a job that is due waits for two starts
       at most for each that was due before it, and one more: every wait is bounded, and ageing takes half of the
       starts at most.
    3. Interactive jobs come before batch.
    4. Clients share: who has had least, in seconds of predicted work, comes first (`Shares`).
    5. A client's shortest job comes first.

    All are ties in order of arrival in the end.
    """

    def __init__(self) -> None:
        self._again: EntryHeap[T] = EntryHeap()
        self._by_due: EntryHeap[T] = EntryHeap()
        self._classes: tuple[Shares[T], Shares[T]] = (Shares(), Shares())  # interactive, batch
        self._held: defaultdict[str, Held] = defaultdict(Held)
        self._numbers = itertools.count()
        self._waiting = 0
        self._nanoseconds = 0
        self._turn_of_due = False

    def __len__(self) -> int:
        return self._waiting

    @property
    def backlog_seconds(self) -> float:
        return self._nanoseconds / NANO

    @property
    def clients(self) -> int:
        """How many have jobs here."""
        return len(self._held)

    def held(self, client: str) -> Held:
        return self._held.get(client, Held())

    def push(self, item: T, arrival: float, cost: float, client: str = "", batch: bool = False) -> Entry[T]:
        self._classes[batch].come(client)
        due = arrival + (BATCH_GRACE if batch else GRACE) + PATIENCE * cost
        return self._insert(Entry(item, next(self._numbers), client, batch, False, round(cost * NANO), due))

    def push_again(self, item: T, cost: float, client: str = "") -> Entry[T]:
        """Before all others, behind those that were pushed so earlier."""
        return self._insert(Entry(item, next(self._numbers), client, False, True, round(cost * NANO), 0.0))

    def first(self, now: float) -> Entry[T] | None:
        """The next to run, which stays in the queue until it is started or removed."""
        if (entry := self._again.first()) is not None:
            return entry
        if self._turn_of_due and (entry := self._by_due.first()) is not None and entry.due <= now:
            return entry
        return self._classes[False].first() or self._classes[True].first()

    def start(self, entry: Entry[T]) -> None:
        """Take out what `first` gave, and charge its client."""
        if not entry.again:
            self._turn_of_due = not self._turn_of_due
            self._classes[entry.batch].charge(entry)
        self.remove(entry)

    def remove(self, entry: Entry[T]) -> None:
        """Take it out, wherever it stands; its client got nothing."""
        entry.waiting = False
        if entry.again:
            self._again.one_left()
        else:
            self._by_due.one_left()
            self._classes[entry.batch].one_left(entry)
        self._waiting -= 1
        self._nanoseconds -= entry.nanoseconds
        held = self._held[entry.client]
        held.count -= 1
        held.nanoseconds -= entry.nanoseconds
        if not held.count:
            del self._held[entry.client]

    def seconds_ahead(self, client: str, batch: bool, cost: float) -> float:
        """The work that would come before a new job: an estimate, without ageing and without what is still to come."""
        nanoseconds = sum(entry.nanoseconds for entry in self._again)
        if batch:
            nanoseconds += sum(entry.nanoseconds for entry in self._by_due if not entry.batch)
        return (nanoseconds + self._classes[batch].ahead(client, round(cost * NANO))) / NANO

    def in_order(self, now: float) -> list[T]:
        """All that wait as they would run if time stood still and nobody came or left. For people: it takes a while."""
        copy: LaneQueue[T] = LaneQueue()
        copy._turn_of_due = self._turn_of_due
        for there, here in zip(copy._classes, self._classes, strict=True):
            there.same_past(here)
        for entry in [*self._again, *self._by_due]:
            copy._insert(replace(entry))
        order = []
        while (first := copy.first(now)) is not None:
            order.append(first.item)
            copy.start(first)
        return order

    def _insert(self, entry: Entry[T]) -> Entry[T]:
        if entry.again:
            self._again.push(entry.number, entry)
        else:
            self._classes[entry.batch].push(entry)
            self._by_due.push(entry.due, entry)
        self._waiting += 1
        self._nanoseconds += entry.nanoseconds
        held = self._held[entry.client]
        held.count += 1
        held.nanoseconds += entry.nanoseconds
        return entry
