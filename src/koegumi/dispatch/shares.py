"""Whose turn it is: clients of one class of jobs share the workers by seconds of predicted work."""

from __future__ import annotations

from collections import defaultdict
from typing import Generic

from koegumi.dispatch.entry import Entry, EntryHeap, T

# Clients that have nothing waiting and had more than others: as many are remembered.
REMEMBERED = 1024


class Shares(Generic[T]):
    """Deficit round robin with the finest quantum: the client that has had least is next, by its shortest job. Clients
    that have had the same go by their shortest jobs.

    While two clients have jobs waiting, what they get differs by one job at most. A client that comes (again) is taken
    to have had no less than the least of those that wait: who was away has saved nothing up. What one had is forgotten
    when nobody waits.
    """

    def __init__(self) -> None:
        self._heaps: dict[str, EntryHeap[T]] = {}
        self._had: defaultdict[str, int] = defaultdict(int)

    def come(self, client: str) -> None:
        """It is about to have a job here."""
        if client in self._heaps:
            return
        self._had[client] = max(self._had[client], self._least())
        if len(self._had) > REMEMBERED + len(self._heaps):
            del self._had[min((name for name in self._had if name not in self._heaps), key=self._had.__getitem__)]

    def push(self, entry: Entry[T]) -> None:
        if entry.client not in self._heaps:
            self._heaps[entry.client] = EntryHeap()
        self._heaps[entry.client].push(entry.nanoseconds, entry)

    def same_past(self, other: Shares[T]) -> None:
        """Clients have had what they had there."""
        self._had = other._had.copy()

    def first(self) -> Entry[T] | None:
        heads = (head for heap in self._heaps.values() if (head := heap.first()) is not None)
        return min(heads, key=lambda head: (self._had[head.client], head.nanoseconds, head.number), default=None)

    def charge(self, entry: Entry[T]) -> None:
        """Its client gets this now."""
        self._had[entry.client] += entry.nanoseconds

    def one_left(self, entry: Entry[T]) -> None:
        heap = self._heaps[entry.client]
        heap.one_left()
        if not len(heap):
            del self._heaps[entry.client]
        if not self._heaps:
            self._had.clear()

    def ahead(self, client: str, nanoseconds: int) -> int:
        """Nanoseconds of those that would run before a new job of the client."""
        own = sum(entry.nanoseconds for entry in self._heaps.get(client, ()) if entry.nanoseconds <= nanoseconds)
        until = max(self._had.get(client, 0), self._least()) + own
        others = 0
        for name, heap in self._heaps.items():
            if name != client:
                # It is served up to where the client will stand, and not in parts of a job.
                others += min(sum(entry.nanoseconds for entry in heap), max(0, until - self._had[name]))
        return own + others

    def _least(self) -> int:
        return min((self._had[name] for name in self._heaps), default=0)
