"""Workers and fronts that talk nonsense: frames cut, doubled, out of order, of the wrong kind or of nobody's job, and
payloads of noise. A slot fails cleanly and comes back, a worker ends itself."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from koegumi.pool import local
from koegumi.pool.local import Death, LocalSlot, WorkerPlan
from koegumi.wire.frames import HEADER, MAX_PAYLOAD, FrameType, header
from koegumi.wire.messages import End, Failure, KanaCall, Loaded, Loading, Order, Progress, Ready, WorkerConfig
from koegumi.worker.jobs import Jobs
from koegumi.worker.link import Link

PLAN = WorkerPlan(WorkerConfig("w-1", "w", "", [], "cpu", 1))
JOBS = (1, 2, 3)
STRANGER = 4


def frame(type_: FrameType, job_id: int = 0, payload: bytes | msgspec.Struct = b"") -> bytes:
    data = payload if isinstance(payload, bytes) else msgspec.msgpack.encode(payload)
    return header(type_, job_id, len(data)) + data


READY = frame(FrameType.READY, 0, Ready(1, len(JOBS), "cpu"))
ENDINGS = {FrameType.END: End("audio/wav", 0.5), FrameType.FAILURE: Failure("internal", "a bug")}
Spoken = tuple[FrameType, int, bytes]

job_ids = st.sampled_from((*JOBS, STRANGER, 0, 2**64 - 1))
proper: st.SearchStrategy[Spoken] = st.one_of(
    st.tuples(st.just(FrameType.CHUNK), st.sampled_from(JOBS), st.binary(max_size=9)),
    st.tuples(st.just(FrameType.PROGRESS), job_ids, st.just(msgspec.msgpack.encode(Progress("half", 0.5)))),
    st.tuples(st.just(FrameType.LOADED), st.just(0), st.just(msgspec.msgpack.encode(Loaded([1, 2])))),
    *(st.tuples(st.just(type_), job_ids, st.just(msgspec.msgpack.encode(end))) for type_, end in ENDINGS.items()),
)
wild: st.SearchStrategy[Spoken] = st.tuples(st.sampled_from(FrameType), job_ids, st.binary(max_size=30))
noise = st.one_of(
    st.binary(min_size=1, max_size=60),
    st.just(HEADER.pack(b"KG", 1, FrameType.CHUNK, MAX_PAYLOAD + 1, 1)),
    st.just(frame(FrameType.CHUNK, 1, b"cut in the middle")[:-3]),
    st.just(frame(FrameType.FAILURE, 1, b"\x83\xa4kind\xa1a\xa7message\xa1b\xa6detail\x81\xa1x" + b"\x91" * 5000)),
    st.just(frame(FrameType.END, 1, b"\x82\xaamedia_type\xa1\xff\xa7seconds\xcb" + b"\x00" * 8)),
    st.just(frame(FrameType.END, 1, End("audio/wav", float("nan")))),
)


class Hearer:
    """A job's receiver."""

    def __init__(self) -> None:
        self.chunks = b""
        self.endings: list[str] = []

    def chunk(self, data: bytes) -> None:
        assert not self.endings
        self.chunks += data

    def progress(self, progress: Progress) -> None:
        assert not self.endings

    def done(self, end: End) -> None:
        self.endings.append("done")

    def failed(self, failure: Failure) -> None:
        self.endings.append("failed")

    def lost(self, reason: str) -> None:
        self.endings.append("lost")


class Events:
    def loading(self, slot: LocalSlot, step: Loading) -> None: ...

    def ready(self, slot: LocalSlot) -> None: ...

    def room(self, slot: LocalSlot) -> None: ...

    def succeeded(self, slot: LocalSlot) -> None: ...


class Process:
    """Nobody, whose socket is the test's."""

    pid = 0

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock.dup()

    def kill(self) -> None:
        self.sock.close()

    async def wait(self) -> int:
        return -9

    async def close(self, patience: float) -> None: ...

    def catch_up(self) -> None: ...


async def life(slot: LocalSlot, said: bytes, cut: int) -> tuple[Death, list[Hearer]]:
    """A worker's life that ends with these words, in pieces of so many bytes."""
    started: asyncio.Future[Process] = asyncio.get_running_loop().create_future()

    async def spawn(sock: socket.socket, *_: Any) -> tuple[Process, Process]:
        process = Process(sock)
        started.set_result(process)
        return process, process

    slot.came_up.clear()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(local, "_spawn", spawn)
        living = asyncio.create_task(slot.live())
        worker = (await started).sock
    worker.sendall(READY)
    await slot.came_up.wait()
    hearers = [Hearer() for _ in JOBS]
    for number, hearer in zip(JOBS, hearers, strict=True):
        slot.start(number, "", b"\x80", hearer)
    try:
        for start in range(0, len(said), cut):
            worker.sendall(said[start : start + cut])
            await asyncio.sleep(0)
        worker.shutdown(socket.SHUT_WR)
    except OSError:
        """It was hung up on."""
    return await asyncio.wait_for(living, 10), hearers


def expected(spoken: Sequence[Spoken]) -> list[list[str]]:
    """What the jobs are to hear: all up to the first frame that is nonsense."""
    heard: dict[int, list[str]] = {number: [] for number in JOBS}
    for type_, job_id, payload in spoken:
        if type_ is FrameType.LOADED and sane(type_, payload):
            continue
        if type_ is FrameType.PROGRESS and (job_id not in heard or heard[job_id]):
            continue
        if job_id not in heard or heard[job_id] or not sane(type_, payload):
            break
        if type_ in ENDINGS:
            heard[job_id].append("done" if type_ is FrameType.END else "failed")
    return [endings or ["lost"] for endings in heard.values()]


def sane(type_: FrameType, payload: bytes) -> bool:
    kinds: dict[FrameType, Any] = {FrameType.END: End, FrameType.FAILURE: Failure, FrameType.PROGRESS: Progress}
    kinds[FrameType.LOADED] = Loaded
    if type_ not in kinds:
        return type_ is FrameType.CHUNK
    try:
        msgspec.msgpack.decode(payload, type=kinds[type_])
    except msgspec.DecodeError:
        return False
    return True


async def comes_back(slot: LocalSlot) -> None:
    assert slot.room == 0
    said = b"".join(frame(FrameType.CHUNK, number, b"sound") + END_OF[number] for number in JOBS)
    death, hearers = await life(slot, said, 1000)
    assert [(hearer.chunks, hearer.endings) for hearer in hearers] == [(b"sound", ["done"])] * len(JOBS)
    assert death.reason == "it closed its socket"


END_OF = {number: frame(FrameType.END, number, ENDINGS[FrameType.END]) for number in JOBS}


@given(st.lists(proper | wild, max_size=8), st.integers(1, 50))
@example([(FrameType.READY, 0, msgspec.msgpack.encode(Ready(1, 9, "cpu")))], 7)
@example([(FrameType.END, 1, msgspec.msgpack.encode(ENDINGS[FrameType.END]))] * 2, 7)
def test_every_job_hears_one_end_whatever_frames_come(spoken: list[Spoken], cut: int) -> None:
    async def run() -> None:
        slot = LocalSlot(PLAN, Events())
        _, hearers = await life(slot, b"".join(frame(*each) for each in spoken), cut)
        assert [hearer.endings for hearer in hearers] == expected(spoken)
        await comes_back(slot)

    asyncio.run(run())


@given(st.lists(proper, max_size=3), noise, st.integers(1, 50))
def test_noise_costs_the_jobs_that_are_left(spoken: list[Spoken], noise: bytes, cut: int) -> None:
    async def run() -> None:
        slot = LocalSlot(PLAN, Events())
        _, hearers = await life(slot, b"".join(frame(*each) for each in spoken) + noise, cut)
        assert all(len(hearer.endings) == 1 for hearer in hearers)
        await comes_back(slot)

    asyncio.run(run())


class _Exit(BaseException):
    pass


ORDER = Order("r-1", msgspec.Raw(msgspec.msgpack.encode(KanaCall("テ'スト"))))
SANE = [frame(FrameType.CALL, 1, ORDER), frame(FrameType.CANCEL, 1), frame(FrameType.CANCEL, 9)]


@given(
    st.lists(st.sampled_from(SANE), max_size=4),
    st.one_of(
        st.sampled_from(sorted(set(FrameType) - {FrameType.CALL, FrameType.CANCEL})).map(frame),
        st.binary(min_size=16, max_size=40).filter(lambda data: data[:3] != b"KG\x01"),
        st.just(HEADER.pack(b"KG", 1, FrameType.CALL, MAX_PAYLOAD + 1, 1)),
        st.sampled_from([b"", b"\xc1", b"\x92\x01\x02", b"\x91\xa1x", b"\x80", b"\x91" * 5000]).map(
            lambda payload: frame(FrameType.CALL, 2, payload)
        ),
    ),
)
def test_a_worker_ends_itself_on_nonsense(before: list[bytes], nonsense: bytes) -> None:
    """Although the front is still there."""
    front, back = socket.socketpair()
    jobs, codes = Jobs(Link(back)), []

    def exit_(code: int) -> None:
        codes.append(code)
        raise _Exit

    def listen() -> None:
        with pytest.raises(_Exit):
            jobs.listen()

    with pytest.MonkeyPatch.context() as patched, front, back:
        patched.setattr(os, "_exit", exit_)
        thread = threading.Thread(target=listen)
        thread.start()
        front.sendall(b"".join(before) + nonsense)
        thread.join(10)
        assert codes == [0]
        count = sum(each == SANE[0] for each in before)
        assert [job.number for job in (jobs.next() for _ in range(count))] == [1] * count
        assert jobs.next_now() is None
