"""Time as the scheduler sees it: passed in, so that tests can hold it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol


class Handle(Protocol):
    def cancel(self) -> None:
        """The callback will not run; harmless when it has."""


class Clock(Protocol):
    def now(self) -> float:
        """Seconds, monotonic, from any origin."""

    def call_later(self, delay: float, callback: Callable[[], None]) -> Handle: ...


class LoopClock:
    """The event loop's own clock."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def now(self) -> float:
        return self._loop.time()

    def call_later(self, delay: float, callback: Callable[[], None]) -> Handle:
        return self._loop.call_later(delay, callback)
