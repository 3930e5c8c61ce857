"""Whether a lane's queue has room for more, and if not, when to come back."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class LaneLimits:
    """How long a queue may get. Wide by default: clients of the reference wait and do not retry."""

    max_waiting: int = 256
    max_backlog_seconds: float = 600.0

    def admits(self, waiting: int, backlog_seconds: float, cost: float, count: int = 1) -> bool:
        """Whether `count` jobs that cost so much together have room. An empty queue takes any, else those that cost
        more than the limit could never run."""
        if waiting == 0:
            return True
        return waiting + count <= self.max_waiting and backlog_seconds + cost <= self.max_backlog_seconds

    def is_greedy(self, waiting: int, backlog_seconds: float, own: int, own_seconds: float, clients: int) -> bool:
        """Whether a client that has so much waiting has to let others come first: there are others, the queue is over
        half full, and the client has more than its share of what the limits allow."""
        if clients < 2:
            return False
        by_count = 2 * waiting > self.max_waiting and own * clients > self.max_waiting
        by_seconds = 2 * backlog_seconds > self.max_backlog_seconds and own_seconds * clients > self.max_backlog_seconds
        return by_count or by_seconds


def retry_after(backlog_seconds: float, ready_workers: int) -> int:
    """Whole seconds until the backlog is worked off, at least 1; counted with one worker where none is ready."""
    return max(1, math.ceil(backlog_seconds / max(1, ready_workers)))
