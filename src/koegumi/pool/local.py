"""A slot filled by a process of this machine.

The worker is `python -m koegumi.worker FD`, started by exec and never by fork, so that its environment stands
before anything is imported. One socket pair joins it to the front: its death is an EOF, seen at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import msgspec
import structlog

from koegumi.pool.output import OutputLog
from koegumi.pool.slot import Receiver, SlotState, SlotStatistics
from koegumi.pool.transport import FrameProtocol, connect
from koegumi.wire.frames import Frame, FrameError, FrameType
from koegumi.wire.messages import Broken, End, Failure, Loaded, Loading, Order, Progress, Ready, WorkerConfig

# Loading reads models from slow disks and warms up; it has a limit of its own, far above any job's.
LOADING_LIMIT = 300.0
# How long a dead worker's last words are waited for.
LAST_WORDS = 0.5
STANDARD_ERROR = 2

log = structlog.get_logger("koegumi.worker.output")


@dataclass(frozen=True)
class WorkerPlan:
    """What a slot starts: the worker's configuration and what its environment has beside the front's."""

    config: WorkerConfig
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Death:
    """Why a worker ended. `broken` is the worker's own sentence when it could not start at all."""

    reason: str
    exit_code: int | None
    broken: str | None


class SlotEvents(Protocol):
    """Hears of a slot's life."""

    def loading(self, slot: LocalSlot, step: Loading) -> None: ...

    def ready(self, slot: LocalSlot) -> None: ...

    def room(self, slot: LocalSlot) -> None: ...

    def succeeded(self, slot: LocalSlot) -> None: ...


class LocalSlot:
    """A place for one worker at a time, life after life. To change `plan` a new slot takes the old one's name."""

    def __init__(self, plan: WorkerPlan, events: SlotEvents) -> None:
        self.plan = plan
        self._events = events
        self._running: dict[int, Receiver] = {}
        self._request_ids: dict[int, str] = {}  # of those that run
        self._capacity = 0
        self._link: FrameProtocol | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._ended: asyncio.Future[str] | None = None
        self._loading_timer: asyncio.TimerHandle | None = None
        self._broken: str | None = None
        self._output: OutputLog | None = None
        self._device = ""
        self.loaded: frozenset[int] = frozenset()  # styles that its worker has open
        self._jobs_done = 0
        self._lives = 0
        self.restarts_before = 0  # of the slots that had its name before
        self._born = time.monotonic()
        self.state = SlotState.STARTING
        self.is_draining = False
        self.came_up = asyncio.Event()
        # Drawn once, so that workers of one age are not replaced at one time.
        self.jitter = random.uniform(0.9, 1.0)  # noqa: S311 - no secret

    @property
    def name(self) -> str:
        return self.plan.config.name

    @property
    def lane(self) -> str:
        return self.plan.config.lane

    @property
    def room(self) -> int:
        return max(0, self._capacity - len(self._running))

    @property
    def is_up(self) -> bool:
        return self._capacity > 0

    def statistics(self) -> SlotStatistics:
        state = SlotState.BUSY if self.state is SlotState.READY and self._running else self.state
        return SlotStatistics(
            name=self.name,
            lane=self.lane,
            state=state,
            pid=self._process.pid if self._process is not None else None,
            device=self._device,
            running=len(self._running),
            jobs_done=self._jobs_done,
            restarts=self.restarts_before + max(0, self._lives - 1),
            age=time.monotonic() - self._born if self._process is not None else 0.0,
        )

    # What dispatch asks.

    def start(self, job_id: int, request_id: str, call: bytes, receiver: Receiver) -> None:
        assert self._link is not None
        self._running[job_id] = receiver
        self._request_ids[job_id] = request_id
        order = Order(request_id, msgspec.Raw(call))
        self._link.send(FrameType.CALL, job_id, msgspec.msgpack.encode(order))

    def cancel(self, job_id: int) -> None:
        if self._link is not None and job_id in self._running:
            self._link.send(FrameType.CANCEL, job_id)

    def kill(self, reason: str) -> None:
        self._capacity = 0
        self._end(reason)

    # What its supervisor asks.

    def drain(self) -> None:
        """Take no new job; its life ends with the last that it has."""
        self.is_draining, self._capacity = True, 0
        if self._running:
            self.state = SlotState.DRAINING
        else:
            self._end("another took its place")

    async def live(self) -> Death:
        """Start a worker, serve until it ends, bury it. Cancelling this ends the worker too."""
        self.state, self._broken = SlotState.STARTING, None
        self._lives += 1
        self._jobs_done, self._born, self.loaded = 0, time.monotonic(), frozenset()
        self._ended = asyncio.get_running_loop().create_future()
        try:
            await self._begin()
            reason = await self._ended
        except OSError as error:
            reason = f"it could not be started: {error}"
        finally:
            exit_code = await self._bury()
        self._tell_lost(reason)
        return Death(reason, exit_code, self._broken)

    async def _begin(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process, self._output = await _spawn(theirs, self.plan.environment, self._printed)
            except BaseException:
                ours.close()
                raise
        self._link = await connect(ours, self._frame, self._end)
        self._link.send(FrameType.CONFIG, payload=msgspec.msgpack.encode(self.plan.config))
        self.state = SlotState.LOADING
        self._loading_timer = asyncio.get_running_loop().call_later(LOADING_LIMIT, self._end, "it did not load in time")

    def _end(self, reason: str) -> None:
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(reason)

    async def _bury(self) -> int | None:
        """Nothing outlives a life: close the socket, kill the worker, and reap it before its jobs run elsewhere."""
        self._capacity = 0
        if self._loading_timer is not None:
            self._loading_timer.cancel()
        if self._link is not None:
            self._link.close()
        process, output, self._process, self._link = self._process, self._output, None, None
        if process is None or output is None:
            return None
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        exit_code = await process.wait()
        await output.close(LAST_WORDS)
        return exit_code

    def _tell_lost(self, reason: str) -> None:
        lost, self._running, self._request_ids = self._running, {}, {}
        for receiver in lost.values():
            receiver.lost(reason)

    # What the worker says.

    def _printed(self, line: str, dropped: int) -> None:
        """It is known whose line it is while one job runs."""
        values: dict[str, object] = {"lines_dropped": dropped} if dropped else {}
        if len(self._request_ids) == 1 and (request_id := next(iter(self._request_ids.values()))):
            values["request_id"] = request_id
        log.info("worker printed", worker=self.name, line=line, **values)

    def _frame(self, frame: Frame) -> None:
        """Raises FrameError and what msgspec raises: a worker that sends such a thing is past help."""
        if frame.type is FrameType.LOADED:
            self.loaded = frozenset(msgspec.msgpack.decode(frame.payload, type=Loaded).style_ids)
        elif self.state in (SlotState.READY, SlotState.DRAINING):
            self._answered(frame)
        else:
            self._stepped(frame)

    def _stepped(self, frame: Frame) -> None:
        """It is not ready yet."""
        match frame.type:
            case FrameType.LOADING:
                self._events.loading(self, msgspec.msgpack.decode(frame.payload, type=Loading))
            case FrameType.WARMING:
                self.state = SlotState.WARMING
            case FrameType.READY:
                self._become_ready(msgspec.msgpack.decode(frame.payload, type=Ready))
            case FrameType.BROKEN:
                self._broken = msgspec.msgpack.decode(frame.payload, type=Broken).reason
                self._end(self._broken)
            case _:
                raise FrameError(f"{frame.type.name} before it was ready")

    def _answered(self, frame: Frame) -> None:
        receiver = self._running.get(frame.job_id)
        if receiver is None and frame.type is FrameType.PROGRESS:
            return  # it has crossed with the end of a job that was cancelled
        if receiver is None:
            raise FrameError(f"{frame.type.name} of a job that it does not have")
        match frame.type:
            case FrameType.CHUNK:
                receiver.chunk(bytes(frame.payload))
            case FrameType.PROGRESS:
                receiver.progress(msgspec.msgpack.decode(frame.payload, type=Progress))
            case FrameType.END:
                self._finish(frame.job_id, receiver, msgspec.msgpack.decode(frame.payload, type=End))
            case FrameType.FAILURE:
                self._finish(frame.job_id, receiver, msgspec.msgpack.decode(frame.payload, type=Failure))
            case _:
                raise FrameError(f"{frame.type.name} once it was ready")

    def _become_ready(self, ready: Ready) -> None:
        if self._loading_timer is not None:
            self._loading_timer.cancel()
        if self.is_draining:
            return
        self.state = SlotState.READY
        self._device, self._capacity = ready.device, ready.capacity
        self.came_up.set()
        self._events.ready(self)
        self._events.room(self)

    def _finish(self, job_id: int, receiver: Receiver, answer: End | Failure) -> None:
        if self._output is not None:
            self._output.catch_up()  # what was printed before the end is the job's
        del self._running[job_id], self._request_ids[job_id]
        self._jobs_done += 1
        if isinstance(answer, End):
            self._events.succeeded(self)
            receiver.done(answer)
        else:
            receiver.failed(answer)
        if self.is_draining and not self._running:
            self._end("another took its place")
        self._events.room(self)


async def _spawn(
    sock: socket.socket, environment: Mapping[str, str], printed: Callable[[str, int], None]
) -> tuple[asyncio.subprocess.Process, OutputLog]:
    """The worker has our standard error for its own log; what native libraries print comes through a pipe."""
    read_end, write_end = os.pipe()
    log_end = os.dup(STANDARD_ERROR)
    try:
        _, output = await asyncio.get_running_loop().connect_read_pipe(
            lambda: OutputLog(printed), os.fdopen(read_end, "rb", buffering=0)
        )
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "koegumi.worker", str(sock.fileno()), str(os.getpid()), str(log_end)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=write_end,
            stderr=write_end,
            pass_fds=[sock.fileno(), log_end],
            env={**os.environ, **environment},
        )
    finally:
        os.close(write_end)
        os.close(log_end)
    return process, output


def describe(death: Death) -> str:
    """The death in words, for the log."""
    if death.broken is not None:
        return death.broken
    if death.exit_code is not None and death.exit_code < 0:
        with contextlib.suppress(ValueError):
            return f"{death.reason} ({signal.Signals(-death.exit_code).name})"
    return f"{death.reason} (exit code {death.exit_code})"
