"""Sounds that were made to be morphed, kept for the next rate: who moves a slider asks for the same two again."""

from __future__ import annotations

import hashlib
from collections import OrderedDict

import msgspec

from koegumi.schema.plain import AudioQuery

Key = tuple[int, bool, bytes]


def key_of(query: AudioQuery, style_id: int, upspeak: bool) -> Key:
    """Equal for queries that sound the same before rate and channels are chosen."""
    bare = msgspec.structs.replace(query, output_sampling_rate=0, output_stereo=False, kana=None)
    return style_id, upspeak, hashlib.sha256(msgspec.msgpack.encode(bare)).digest()


class Halves:
    """The last used, as many as `most_bytes` hold."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[Key, bytes] = OrderedDict()

    def get(self, key: Key) -> bytes | None:
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def put(self, key: Key, wave: bytes) -> None:
        """The oldest make room; a sound that is larger than all the room is not kept."""
        self._bytes -= len(self._kept.pop(key, b""))
        if len(wave) > self._most_bytes:
            return
        self._kept[key] = wave
        self._bytes += len(wave)
        while self._bytes > self._most_bytes:
            _, dropped = self._kept.popitem(last=False)
            self._bytes -= len(dropped)
