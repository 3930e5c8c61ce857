"""What a worker's native libraries print, line by line into the log: bounded in length, in rate and in memory."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable

# A line is cut at so many bytes.
LINE_BYTES = 1000
# So many lines at once, and so many a second after that.
BURST, LINES_A_SECOND = 100, 10.0
# A flood is read so often only: its worker prints more slowly then, but never stands still, and the front has its time.
PAUSE = 0.01
# As many fit into a pipe of Linux.
PIPE_BYTES = 65536


class OutputLog(asyncio.Protocol):
    """The reading end of a worker's standard output and error. `emit` hears each line, and how many were dropped
    before it."""

    def __init__(self, emit: Callable[[str, int], None], now: Callable[[], float] = time.monotonic) -> None:
        self._emit = emit
        self._now = now
        self._line = b""
        self._dropped = 0
        self._is_cut = False  # the beginning of a line was dropped, and its end is still to come
        self._allowed = float(BURST)
        self._asked = now()
        self._transport: asyncio.ReadTransport | None = None
        self.ended = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.ReadTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._refill()
        start = self._skip(data)
        while self._allowed >= 1 and (end := data.find(b"\n", start)) != -1:
            self._finish(data[start:end])
            start = end + 1
        if self._allowed >= 1:
            self._keep(data[start:])
        else:
            self._line = b""
            self._dropped += data.count(b"\n", start)
            self._is_cut = not data.endswith(b"\n")
        if self._allowed < 1 or len(self._line) == LINE_BYTES:
            self._pause()

    def connection_lost(self, exc: Exception | None) -> None:
        self._dropped += self._is_cut
        if self._line or self._dropped:
            self._finish(b"")
        self.ended.set()

    def catch_up(self) -> None:
        """Read now what is in the pipe."""
        if self._transport is None or self._transport.is_closing():
            return
        with contextlib.suppress(BlockingIOError):
            if data := os.read(self._transport.get_extra_info("pipe").fileno(), PIPE_BYTES):
                self.data_received(data)

    async def close(self, patience: float) -> None:
        """Stop reading at the end of what was printed, but no later than after `patience` seconds: what the worker
        has started itself may still hold the other end."""
        try:
            async with asyncio.timeout(patience):
                await self.ended.wait()
        except TimeoutError:
            if self._transport is not None:
                self._transport.close()

    def _refill(self) -> None:
        now = self._now()
        self._allowed = min(BURST, self._allowed + (now - self._asked) * LINES_A_SECOND)
        self._asked = now

    def _skip(self, data: bytes) -> int:
        """Where the first line begins of which nothing was dropped."""
        if not self._is_cut:
            return 0
        end = data.find(b"\n")
        if end == -1:
            return len(data)
        self._is_cut = False
        self._dropped += 1
        return end + 1

    def _keep(self, data: bytes) -> None:
        """Part of a line; what is over its limit is forgotten."""
        self._line += data[: LINE_BYTES - len(self._line)]

    def _finish(self, data: bytes) -> None:
        self._keep(data)
        line, self._line = self._line.decode(errors="replace").rstrip(), b""
        dropped, self._dropped = self._dropped, 0
        self._allowed -= 1
        if line or dropped:
            self._emit(line, dropped)

    def _pause(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()
            asyncio.get_running_loop().call_later(PAUSE, self._transport.resume_reading)
