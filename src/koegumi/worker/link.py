"""The worker's end of the socket: blocking reads in one thread, whole frames out of another."""

from __future__ import annotations

import socket
import threading

import msgspec

from koegumi.wire.frames import Frame, FrameReader, FrameType, header

CHUNK = 1024 * 1024


class Link:
    """One thread reads; any may send, a frame at a time."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._sending = threading.Lock()
        self._reader = FrameReader()

    def read(self) -> Frame:
        """The next frame. Raises EOFError when the front is gone, FrameError on nonsense."""
        while True:
            count = self._sock.recv_into(self._reader.buffer())
            if count == 0:
                raise EOFError("the front closed the socket")
            frame = self._reader.wrote(count)
            if frame is not None:
                return frame

    def send_struct(self, type_: FrameType, struct: msgspec.Struct, job_id: int = 0) -> None:
        self.send(type_, job_id, msgspec.msgpack.encode(struct))

    def send(self, type_: FrameType, job_id: int = 0, payload: bytes = b"") -> None:
        with self._sending:
            self._sock.sendall(header(type_, job_id, len(payload)) + payload)

    def send_body(self, job_id: int, body: bytes) -> None:
        """The bytes of an answer, in frames of at most `CHUNK`."""
        view = memoryview(body)
        for start in range(0, len(view), CHUNK):
            piece = view[start : start + CHUNK]
            with self._sending:
                self._sock.sendall(header(FrameType.CHUNK, job_id, len(piece)))
                self._sock.sendall(piece)
