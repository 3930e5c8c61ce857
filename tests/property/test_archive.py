"""The archive of several sounds as a reader of streams sees it: from its first byte on, without the index behind."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib

from hypothesis import given
from hypothesis import strategies as st

from koegumi.api.archive import archive

LOCAL = struct.Struct("<4sHHHHHIIIHH")


@given(st.lists(st.binary(max_size=200), max_size=12))
def test_entries_are_stored_and_their_headers_say_all(waves: list[bytes]) -> None:
    data = archive(waves)
    position = 0
    for number, wave in enumerate(waves, start=1):
        magic, _, flags, method, _, _, checksum, packed, size, name_length, extra = LOCAL.unpack_from(data, position)
        start = position + LOCAL.size
        assert (magic, method, flags & 0x08) == (b"PK\x03\x04", 0, 0)
        assert (checksum, packed, size) == (zlib.crc32(wave), len(wave), len(wave))
        assert data[start : start + name_length] == b"%03d.wav" % number
        position = start + name_length + extra + size
        assert data[position - size : position] == wave
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        assert file.testzip() is None
        assert [file.read(name) for name in file.namelist()] == waves
    assert archive(waves) == data
