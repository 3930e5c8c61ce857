"""A place in a queue, and heaps of places."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

NANO = 1_000_000_000


@dataclass(eq=False)
class Entry(Generic[T]):
    """`again` is true for jobs that were lost once. `due` is when ageing begins to help it. Costs are in whole
    nanoseconds: float sums would drift, and an empty queue has to have a backlog of exactly nothing."""

    item: T
    number: int
    client: str
    batch: bool
    again: bool
    nanoseconds: int
    due: float
    waiting: bool = True


class EntryHeap(Generic[T]):
    """Entries with the smallest key first, ties in order of arrival. Those that no longer wait are dropped when they
    come to the top, at the latest when half of the heap is dead."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Entry[T]]] = []
        self._waiting = 0

    def __len__(self) -> int:
        return self._waiting

    def __iter__(self) -> Iterator[Entry[T]]:
        """Those that wait, in no order."""
        return (entry for _, _, entry in self._heap if entry.waiting)

    def push(self, key: float, entry: Entry[T]) -> None:
        heapq.heappush(self._heap, (key, entry.number, entry))
        self._waiting += 1

    def first(self) -> Entry[T] | None:
        while self._heap and not self._heap[0][2].waiting:
            heapq.heappop(self._heap)
        return self._heap[0][2] if self._heap else None

    def one_left(self) -> None:
        """One of its entries no longer waits."""
        self._waiting -= 1
        if len(self._heap) > 2 * self._waiting + 8:
            self._heap = [kept for kept in self._heap if kept[2].waiting]
            heapq.heapify(self._heap)
