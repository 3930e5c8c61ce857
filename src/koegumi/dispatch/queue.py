"""The order in which a lane's jobs run: the shortest first, but none is passed for ever."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")

PATIENCE = 5.0
NANO = 1_000_000_000


@dataclass(order=True)
class Entry(Generic[T]):
    """A place in the queue; jobs that run again have urgency 0, all others 1."""

    urgency: int
    due: float
    number: int
    item: T = field(compare=False)
    nanoseconds: int = field(compare=False)
    waiting: bool = field(default=True, compare=False)


class LaneQueue(Generic[T]):
    """Smallest `arrival + PATIENCE x cost` first, ties in order of arrival.

    A job of cost c is never passed by one that arrives more than PATIENCE x c after it. Costs are summed in whole
    nanoseconds: a float sum would drift, and an empty queue has to have a backlog of exactly nothing.
    """

    def __init__(self) -> None:
        self._heap: list[Entry[T]] = []
        self._numbers = itertools.count()
        self._waiting = 0
        self._nanoseconds = 0

    def __len__(self) -> int:
        return self._waiting

    @property
    def backlog_seconds(self) -> float:
        return self._nanoseconds / NANO

    def push(self, item: T, arrival: float, cost: float) -> Entry[T]:
        return self._push(item, 1, arrival + PATIENCE * cost, cost)

    def push_first(self, item: T, cost: float) -> Entry[T]:
        """Before all others, behind those that were pushed so earlier."""
        return self._push(item, 0, 0.0, cost)

    def first(self) -> Entry[T] | None:
        """The next to run, which stays in the queue until it is removed."""
        while self._heap and not self._heap[0].waiting:
            heapq.heappop(self._heap)
        return self._heap[0] if self._heap else None

    def remove(self, entry: Entry[T]) -> None:
        """Take it out, wherever it stands. The heap drops it later, at the latest when half of it is dead."""
        entry.waiting = False
        self._waiting -= 1
        self._nanoseconds -= entry.nanoseconds
        if len(self._heap) > 2 * self._waiting + 8:
            self._heap = [kept for kept in self._heap if kept.waiting]
            heapq.heapify(self._heap)

    def _push(self, item: T, urgency: int, due: float, cost: float) -> Entry[T]:
        entry = Entry(urgency, due, next(self._numbers), item, round(cost * NANO))
        heapq.heappush(self._heap, entry)
        self._waiting += 1
        self._nanoseconds += entry.nanoseconds
        return entry
