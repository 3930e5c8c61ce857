"""When a slot whose worker died comes back: full-jitter exponential back-off, up to a slowest pace."""

from __future__ import annotations

import random
from collections import deque

FIRST, LONGEST = 0.5, 30.0
CRASHES, WINDOW = 5, 60.0


class Backoff:
    """A job that succeeds forgives everything; `CRASHES` within `WINDOW` seconds without one are a failure."""

    def __init__(self, chance: random.Random | None = None) -> None:
        self._chance = chance or random.Random()  # noqa: S311 - jitter, no secret
        self._deaths: deque[float] = deque(maxlen=CRASHES)
        self._in_a_row = 0

    def succeeded(self) -> None:
        self._deaths.clear()
        self._in_a_row = 0

    def died(self, now: float) -> float | None:
        """Seconds to wait before the next start; None when the slot has failed."""
        self._deaths.append(now)
        if len(self._deaths) == CRASHES and now - self._deaths[0] <= WINDOW:
            return None
        longest = min(LONGEST, FIRST * 2**self._in_a_row)
        self._in_a_row = min(self._in_a_row + 1, 16)
        return self._chance.uniform(0.0 if longest > FIRST else FIRST / 2, longest)
