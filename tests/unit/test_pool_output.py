"""What native libraries print reaches the log in lines, and a flood neither fills memory nor stops its writer."""

from __future__ import annotations

import asyncio
import itertools
import os
import threading

from hypothesis import given
from hypothesis import strategies as st

from koegumi.pool.output import BURST, LINE_BYTES, LINES_A_SECOND, OutputLog


class Reader:
    def __init__(self) -> None:
        self.now = 0.0
        self.heard: list[tuple[str, int]] = []
        self.log = OutputLog(lambda line, dropped: self.heard.append((line, dropped)), lambda: self.now)


def test_lines_come_whole_however_they_were_written() -> None:
    reader = Reader()
    for piece in (b"one\ntw", b"o\n", "声".encode()[:2], "声".encode()[2:] + b"\xff\n\n", b"unended"):
        reader.log.data_received(piece)
    reader.log.connection_lost(None)
    assert reader.heard == [("one", 0), ("two", 0), ("声\ufffd", 0), ("unended", 0)]


def test_a_line_is_cut_at_its_limit() -> None:
    reader = Reader()
    for _ in range(50):
        reader.log.data_received(b"x" * LINE_BYTES)
    reader.log.data_received(b"\nnext\n")
    assert reader.heard == [("x" * LINE_BYTES, 0), ("next", 0)]


def test_lines_over_the_rate_are_only_counted() -> None:
    reader = Reader()
    reader.log.data_received(b"line\n" * (BURST + 1000))
    assert reader.heard == [("line", 0)] * BURST
    reader.now += 1.0
    reader.log.data_received(b"line\n" * 1000)
    assert reader.heard[BURST:] == [("line", 1000)] + [("line", 0)] * (int(LINES_A_SECOND) - 1)
    reader.log.connection_lost(None)
    assert reader.heard[-1] == ("", 1000 - int(LINES_A_SECOND))


@given(st.lists(st.integers(1, 30), min_size=1), st.lists(st.floats(0, 2), min_size=1))
def test_every_line_is_heard_or_counted_wherever_it_was_cut(sizes: list[int], waits: list[float]) -> None:
    reader = Reader()
    reader.log.data_received(b"line\n" * (BURST - 3))
    rest, count = b"line\n" * 60, BURST - 3 + 60
    for size, wait in zip(itertools.cycle(sizes), itertools.cycle(waits)):
        reader.log.data_received(rest[:size])
        reader.now += wait
        rest = rest[size:]
        if not rest:
            break
    reader.log.connection_lost(None)
    assert {line for line, _ in reader.heard} <= {"line", ""}
    assert sum((line != "") + dropped for line, dropped in reader.heard) == count


def test_a_flood_reaches_its_end() -> None:
    lines = 200_000
    heard: list[tuple[str, int]] = []

    async def flood() -> None:
        read_end, write_end = os.pipe()
        loop = asyncio.get_running_loop()
        _, log = await loop.connect_read_pipe(
            lambda: OutputLog(lambda line, dropped: heard.append((line, dropped))), os.fdopen(read_end, "rb", 0)
        )

        def write() -> None:
            with os.fdopen(write_end, "wb") as stream:
                stream.write(b"line\n" * lines)

        writer = threading.Thread(target=write)
        writer.start()
        await log.close(patience=60)
        writer.join()

    asyncio.run(flood())
    assert sum((line != "") + dropped for line, dropped in heard) == lines
    assert len(heard) < lines / 100
