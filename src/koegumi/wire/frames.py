"""The frame codec: a 16-byte header and a payload, no I/O.

Header, little endian: magic `KG`, version, type, payload length (u32), job id (u64). Payloads of CHUNK frames are
raw bytes, all others msgpack of a struct of `wire.messages`. One `FrameReader` serves both ends: the front feeds it
from `asyncio.BufferedProtocol`, a worker from `recv_into`.
"""

from __future__ import annotations

import enum
import struct
from dataclasses import dataclass

MAGIC = b"KG"
VERSION = 1
HEADER = struct.Struct("<2sBBIQ")
MAX_PAYLOAD = 64 * 1024 * 1024


class FrameType(enum.IntEnum):
    CONFIG = 1
    CALL = 2
    CANCEL = 3
    LOADING = 4
    READY = 5
    BROKEN = 6
    CHUNK = 7
    END = 8
    FAILURE = 9
    WARMING = 10
    PROGRESS = 11
    LOADED = 12


class FrameError(ValueError):
    """What came is no frame of ours; the connection is beyond repair."""


@dataclass(frozen=True)
class Frame:
    type: FrameType
    job_id: int
    payload: bytes | bytearray


def header(type_: FrameType, job_id: int, length: int) -> bytes:
    """The 16 bytes before a payload. Raises FrameError if the payload is too long to be read at the other end."""
    if length > MAX_PAYLOAD:
        raise FrameError(f"a frame of {length} bytes is over the limit of {MAX_PAYLOAD}")
    return HEADER.pack(MAGIC, VERSION, type_, length, job_id)


class FrameReader:
    """Reads frames out of a byte stream without copying: ask `buffer` where to write, then tell `wrote` how much."""

    def __init__(self) -> None:
        self._head = bytearray(HEADER.size)
        self._reset()

    def _reset(self) -> None:
        self._target = self._head
        self._filled = 0
        self._type: FrameType | None = None
        self._job_id = 0

    def buffer(self) -> memoryview:
        """The place for the next bytes; never empty."""
        return memoryview(self._target)[self._filled :]

    def wrote(self, count: int) -> Frame | None:
        """Take note of `count` new bytes; the frame that they complete, if they do. Raises FrameError."""
        self._filled += count
        if self._filled < len(self._target):
            return None
        if self._type is None:
            length = self._read_header()
            if length:
                self._target, self._filled = bytearray(length), 0
                return None
            return self._frame(bytearray())
        return self._frame(self._target)

    def _read_header(self) -> int:
        magic, version, type_, length, job_id = HEADER.unpack(self._head)
        if magic != MAGIC or version != VERSION:
            raise FrameError(f"bad magic or version: {bytes(self._head[:3])!r}")
        if length > MAX_PAYLOAD:
            raise FrameError(f"a frame of {length} bytes is over the limit of {MAX_PAYLOAD}")
        try:
            self._type = FrameType(type_)
        except ValueError:
            raise FrameError(f"unknown frame type {type_}") from None
        self._job_id = job_id
        return int(length)

    def _frame(self, payload: bytearray) -> Frame:
        assert self._type is not None
        frame = Frame(self._type, self._job_id, payload)
        self._reset()
        return frame
