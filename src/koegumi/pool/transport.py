"""One end of a worker's socket, on the event loop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import msgspec

from koegumi.wire.frames import Frame, FrameError, FrameReader, FrameType, header


class FrameProtocol(asyncio.BufferedProtocol):
    """Hands over every frame as it comes, and says once when no more will come."""

    def __init__(self, on_frame: Callable[[Frame], None], on_lost: Callable[[str], None]) -> None:
        self._reader = FrameReader()
        self._on_frame = on_frame
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._reader.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        try:
            frame = self._reader.wrote(nbytes)
            if frame is not None:
                self._on_frame(frame)
        except (FrameError, msgspec.DecodeError, RecursionError) as error:
            self._lose(f"it sent nonsense: {error}")

    def eof_received(self) -> None:
        """Let the transport close; `connection_lost` follows."""

    def connection_lost(self, exc: Exception | None) -> None:
        self._lose("it closed its socket" if exc is None else f"its socket failed: {exc}")

    def _lose(self, reason: str) -> None:
        on_lost, self._on_lost = self._on_lost, lambda _: None
        self._on_frame = lambda _: None
        self.close()
        on_lost(reason)

    def send(self, type_: FrameType, job_id: int = 0, payload: bytes = b"") -> None:
        """Send a frame; a closed socket swallows it, `on_lost` has been or will be called."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.writelines([header(type_, job_id, len(payload)), payload])

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()


async def connect(
    sock: socket.socket, on_frame: Callable[[Frame], None], on_lost: Callable[[str], None]
) -> FrameProtocol:
    """Put a connected socket on the running loop."""
    loop = asyncio.get_running_loop()
    _, protocol = await loop.create_connection(lambda: FrameProtocol(on_frame, on_lost), sock=sock)
    return protocol
