"""The frame codec: what is written is read, however the bytes are cut, and nonsense is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from koegumi.wire.frames import HEADER, MAX_PAYLOAD, Frame, FrameError, FrameReader, FrameType, header

frames = st.builds(Frame, st.sampled_from(FrameType), st.integers(0, 2**64 - 1), st.binary(max_size=300).map(bytearray))


def encode(frame: Frame) -> bytes:
    return header(frame.type, frame.job_id, len(frame.payload)) + bytes(frame.payload)


def feed(reader: FrameReader, data: bytes, cuts: list[int]) -> list[Frame]:
    """Give the reader the bytes in pieces of the lengths `cuts`, over and over."""
    read: list[Frame] = []
    turn = 0
    while data:
        place = reader.buffer()
        count = min(len(place), len(data), cuts[turn % len(cuts)])
        place[:count] = data[:count]
        data, turn = data[count:], turn + 1
        frame = reader.wrote(count)
        if frame is not None:
            read.append(frame)
    return read


@given(st.lists(frames, max_size=8), st.lists(st.integers(1, 400), min_size=1, max_size=5))
def test_what_is_written_is_read(sent: list[Frame], cuts: list[int]) -> None:
    assert feed(FrameReader(), b"".join(map(encode, sent)), cuts) == sent


@given(frames, st.data())
def test_a_cut_stream_gives_no_frame(frame: Frame, data: st.DataObject) -> None:
    encoded = encode(frame)
    end = data.draw(st.integers(0, len(encoded) - 1))
    assert feed(FrameReader(), encoded[:end], [7]) == []


@given(st.binary(min_size=16, max_size=64))
def test_nonsense_is_refused(noise: bytes) -> None:
    reader = FrameReader()
    if noise[:3] == b"KG\x01":
        noise = b"XX" + noise[2:]
    with pytest.raises(FrameError):
        feed(reader, noise, [64])


@pytest.mark.parametrize(
    "head",
    [
        HEADER.pack(b"KG", 2, FrameType.CALL, 0, 1),
        HEADER.pack(b"KG", 1, 99, 0, 1),
        HEADER.pack(b"KG", 1, FrameType.CALL, MAX_PAYLOAD + 1, 1),
    ],
    ids=["version", "type", "length"],
)
def test_a_bad_header_is_refused(head: bytes) -> None:
    with pytest.raises(FrameError):
        feed(FrameReader(), head, [16])


def test_an_oversized_frame_is_refused_before_it_is_sent() -> None:
    with pytest.raises(FrameError):
        header(FrameType.CALL, 1, MAX_PAYLOAD + 1)
