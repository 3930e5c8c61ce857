"""A worker that does syntheses together, with a voice that does what the test says, all in one thread."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import pytest

from koegumi.schema.plain import AudioQuery
from koegumi.voices.interface import Cancelled, Request, Requests, Run, VoiceError
from koegumi.wire.frames import Frame, FrameReader, FrameType
from koegumi.wire.messages import Call, ConnectCall, End, Failure, Order, Progress, SynthesisCall
from koegumi.worker import batch
from koegumi.worker.batch import Desk
from koegumi.worker.handlers import Answer
from koegumi.worker.jobs import Jobs
from koegumi.worker.link import Link

WAVE = np.zeros(2400, np.float32)
Script = Callable[[Requests], None]


class Over(BaseException):
    """Ends the desk's work."""


class Voice:
    """One of `scripts` each time that there is work; the test is over with the last."""

    sampling_rate = 24000
    device = "cpu"
    capacity = 4

    def __init__(self, *scripts: Script) -> None:
        self._scripts = list(scripts)

    def synthesis(self, query: AudioQuery, style_id: int, enable_interrogative_upspeak: bool, run: Run) -> Any:
        raise AssertionError("alone")

    def speak(self, requests: Requests) -> None:
        script = self._scripts.pop(0)
        script(requests)
        if not self._scripts:
            raise Over


class Handlers:
    """For what is no synthesis."""

    device = "cpu"
    batching = None
    voices: tuple[object, ...] = ()
    loaded: frozenset[int] = frozenset()

    def warm_up(self) -> None: ...

    def answer(self, call: Call, run: Run) -> Answer:
        assert isinstance(call, ConnectCall)
        return Answer("audio/wav", b"joined")


@dataclass
class Front:
    sock: socket.socket
    jobs: Jobs
    time: float = 0.0
    reader: FrameReader = field(default_factory=FrameReader)

    def call(self, number: int, call: Call | None = None) -> None:
        call = call or SynthesisCall(msgspec.Raw(msgspec.msgpack.encode(AudioQuery([]))), style_id=number)
        order = Order("", msgspec.Raw(msgspec.msgpack.encode(call)))
        self.jobs.hear(Frame(FrameType.CALL, number, msgspec.msgpack.encode(order)))

    def cancel(self, number: int) -> None:
        self.jobs.hear(Frame(FrameType.CANCEL, number, b""))

    def work(self, *scripts: Script) -> None:
        with pytest.raises(Over):
            Desk(self.jobs, Handlers(), Voice(*scripts)).work()

    def heard(self) -> list[tuple[int, End | Failure | Progress]]:
        """All answers and progress so far."""
        types: dict[FrameType, Any] = {
            FrameType.END: End,
            FrameType.FAILURE: Failure,
            FrameType.PROGRESS: Progress,
        }
        heard: list[tuple[int, End | Failure | Progress]] = []
        while True:
            try:
                frame = self.reader.wrote(self.sock.recv_into(self.reader.buffer()))
            except BlockingIOError:
                return heard
            if frame is not None and frame.type in types:
                heard.append((frame.job_id, msgspec.msgpack.decode(frame.payload, type=types[frame.type])))


@pytest.fixture
def front(monkeypatch: pytest.MonkeyPatch) -> Iterator[Front]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs:
        jobs = Jobs(Link(theirs))
        jobs.cancelled_at_once = True
        front = Front(ours, jobs)
        monkeypatch.setattr(batch, "perf_counter", lambda: front.time)
        yield front


def take(requests: Requests) -> Request:
    request = requests.take()
    assert request is not None
    return request


def test_jobs_join_in_end_in_any_order_and_share_the_time(front: Front) -> None:
    front.call(1)
    front.call(2)

    def script(requests: Requests) -> None:
        first, second = take(requests), take(requests)
        assert requests.take() is None
        assert [first.style_id, second.style_id] == [1, 2]
        front.time = 4.0
        front.call(3)
        third = take(requests)
        second.done(WAVE)
        front.time = 10.0
        third.done(WAVE)
        front.time = 11.0
        first.done(WAVE)

    front.work(script)
    assert front.heard() == [
        (2, End("audio/wav", 2.0)),
        (3, End("audio/wav", 3.0)),
        (1, End("audio/wav", 6.0)),
    ]


def test_who_waits_when_the_voice_has_done_is_next(front: Front) -> None:
    def one(requests: Requests) -> None:
        take(requests).done(WAVE)

    front.call(1)
    front.call(2)
    front.work(one, one)
    assert [number for number, _ in front.heard()] == [1, 2]


def test_who_is_cancelled_hears_so_at_once_and_leaves_its_neighbours_alone(front: Front) -> None:
    for number in (1, 2, 3):
        front.call(number)

    def script(requests: Requests) -> None:
        first, second = take(requests), take(requests)
        front.cancel(1)
        front.cancel(3)
        assert [(number, answer.kind) for number, answer in front.heard() if isinstance(answer, Failure)] == [
            (1, "cancelled"),
            (3, "cancelled"),
        ]
        assert requests.take() is None
        with pytest.raises(Cancelled):
            first.check()
        second.check()
        second.done(WAVE)
        front.cancel(2)  # too late

    front.work(script)
    assert front.heard() == [(2, End("audio/wav", 0.0))]


def test_a_job_that_is_done_before_it_sees_that_it_was_cancelled(front: Front) -> None:
    front.call(1)

    def script(requests: Requests) -> None:
        request = take(requests)
        front.cancel(1)
        request.done(WAVE)

    front.work(script)
    assert [number for number, _ in front.heard()] == [1]


def test_one_request_s_failure_is_its_own(front: Front) -> None:
    front.call(1)
    front.call(2)

    def script(requests: Requests) -> None:
        first, second = take(requests), take(requests)
        first.failed(VoiceError("no such text"))
        second.failed(RuntimeError("a bug"))

    front.work(script)
    assert front.heard() == [
        (1, Failure("invalid", "no such text")),
        (2, Failure("internal", "RuntimeError: a bug")),
    ]


def test_what_the_voice_raises_is_a_lone_job_s_and_ends_the_worker_where_there_are_more(front: Front) -> None:
    def breaks(requests: Requests) -> None:
        while requests.take() is not None:
            pass
        raise RuntimeError("out of memory")

    def goes_on(requests: Requests) -> None:
        take(requests).done(WAVE)
        front.call(3)
        front.call(4)

    front.call(1)

    def breaks_and_gets_more(requests: Requests) -> None:
        take(requests)
        front.call(2)
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        Desk(front.jobs, Handlers(), Voice(breaks_and_gets_more, goes_on, breaks)).work()
    assert front.heard() == [(1, Failure("internal", "RuntimeError: out of memory")), (2, End("audio/wav", 0.0))]


def test_other_work_is_done_in_between(front: Front) -> None:
    front.call(1)

    def script(requests: Requests) -> None:
        request = take(requests)
        front.call(2, ConnectCall(b"[]"))
        assert requests.take() is None
        request.done(WAVE)

    front.work(script)
    assert [number for number, _ in front.heard()] == [2, 1]


def test_now_and_then_all_hear_how_far_they_are(front: Front) -> None:
    front.call(1)

    def script(requests: Requests) -> None:
        request = take(requests)
        front.call(2)  # waits for a place
        for step in range(100):
            front.time = 0.02 * step
            request.progress("coarse", step / 100)
        request.done(WAVE)
        take(requests).done(WAVE)

    front.work(script)
    heard = front.heard()
    told = [(number, said) for number, said in heard if isinstance(said, Progress)]
    assert told == [
        pair for share in (0.25, 0.5, 0.75) for pair in ((1, Progress("coarse", share)), (2, Progress("waiting", 0.0)))
    ]
    assert [number for number, said in heard if isinstance(said, End)] == [1, 2]
