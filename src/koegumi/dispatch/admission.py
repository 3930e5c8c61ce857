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


def retry_after(backlog_seconds: float, ready_workers: int) -> int:
    """Whole seconds until the backlog is worked off, at least 1; counted with one worker where none is ready."""
    return max(1, math.ceil(backlog_seconds / max(1, ready_workers)))
