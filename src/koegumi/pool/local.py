"""A slot filled by a process of this machine.

The worker is `python -m koegumi.worker FD`, started by exec and never by fork, so that its environment stands
before anything is imported. One socket pair joins it to the front: its death is an EOF, seen at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from koegumi.pool.slot import Receiver, SlotState, SlotStatistics
from koegumi.pool.transport import FrameProtocol, connect
from koegumi.wire.frames import Frame, FrameType
from koegumi.wire.messages import Broken, End, Failure, Loading, Ready, WorkerConfig

# Loading reads models from slow disks and warms up; it has a limit of its own, far above any job's.
LOADING_LIMIT = 300.0


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
    def __init__(self, plan: WorkerPlan, events: SlotEvents) -> None:
        self._plan = plan
        self._events = events
        self._running: dict[int, Receiver] = {}
        self._capacity = 0
        self._link: FrameProtocol | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._ended: asyncio.Future[str] | None = None
        self._loading_timer: asyncio.TimerHandle | None = None
        self._broken: str | None = None
        self._device = ""
        self._jobs_done = 0
        self._lives = 0
        self.state = SlotState.STARTING

    @property
    def name(self) -> str:
        return self._plan.config.name

    @property
    def lane(self) -> str:
        return self._plan.config.lane

    @property
    def room(self) -> int:
        return max(0, self._capacity - len(self._running))

    @property
    def is_up(self) -> bool:
        return self._capacity > 0

    def statistics(self) -> SlotStatistics:
        state = SlotState.BUSY if self.state is SlotState.READY and self._running else self.state
        pid = self._process.pid if self._process is not None else None
        restarts = max(0, self._lives - 1)
        return SlotStatistics(
            self.name, self.lane, state, pid, self._device, len(self._running), self._jobs_done, restarts
        )

    # What dispatch asks.

    def start(self, job_id: int, call: bytes, receiver: Receiver) -> None:
        assert self._link is not None
        self._running[job_id] = receiver
        self._link.send(FrameType.CALL, job_id, call)

    def cancel(self, job_id: int) -> None:
        if self._link is not None and job_id in self._running:
            self._link.send(FrameType.CANCEL, job_id)

    def kill(self, reason: str) -> None:
        self._capacity = 0
        self._end(reason)

    # One life.

    async def live(self) -> Death:
        """Start a worker, serve until it ends, bury it. Cancelling this ends the worker too."""
        self.state, self._broken = SlotState.STARTING, None
        self._lives += 1
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
                self._process = await _spawn(theirs, self._plan.environment)
            except BaseException:
                ours.close()
                raise
        self._link = await connect(ours, self._frame, self._end)
        self._link.send(FrameType.CONFIG, payload=msgspec.msgpack.encode(self._plan.config))
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
        process, self._process, self._link = self._process, None, None
        if process is None:
            return None
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        return await process.wait()

    def _tell_lost(self, reason: str) -> None:
        lost, self._running = self._running, {}
        for receiver in lost.values():
            receiver.lost(reason)

    # What the worker says.

    def _frame(self, frame: Frame) -> None:
        match frame.type:
            case FrameType.CHUNK:
                if receiver := self._running.get(frame.job_id):
                    receiver.chunk(bytes(frame.payload))
            case FrameType.END:
                self._finish(frame, msgspec.msgpack.decode(frame.payload, type=End))
            case FrameType.FAILURE:
                self._finish(frame, msgspec.msgpack.decode(frame.payload, type=Failure))
            case FrameType.LOADING:
                self._events.loading(self, msgspec.msgpack.decode(frame.payload, type=Loading))
            case FrameType.READY:
                self._become_ready(msgspec.msgpack.decode(frame.payload, type=Ready))
            case FrameType.BROKEN:
                self._broken = msgspec.msgpack.decode(frame.payload, type=Broken).reason
                self._end(self._broken)
            case _:
                self._end(f"it sent a frame that only the front may send: {frame.type.name}")

    def _become_ready(self, ready: Ready) -> None:
        if self._loading_timer is not None:
            self._loading_timer.cancel()
        self.state = SlotState.READY
        self._device, self._capacity = ready.device, ready.capacity
        self._events.ready(self)
        self._events.room(self)

    def _finish(self, frame: Frame, answer: End | Failure) -> None:
        receiver = self._running.pop(frame.job_id, None)
        if receiver is None:
            return
        self._jobs_done += 1
        if isinstance(answer, End):
            self._events.succeeded(self)
            receiver.done(answer)
        else:
            receiver.failed(answer)
        self._events.room(self)


async def _spawn(sock: socket.socket, environment: Mapping[str, str]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "koegumi.worker",
        str(sock.fileno()),
        str(os.getpid()),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=sys.stderr.fileno(),  # native libraries print; a worker has no other use for stdout
        pass_fds=[sock.fileno()],
        env={**os.environ, **environment},
    )


def describe(death: Death) -> str:
    """The death in words, for the log."""
    if death.broken is not None:
        return death.broken
    if death.exit_code is not None and death.exit_code < 0:
        with contextlib.suppress(ValueError):
            return f"{death.reason} ({signal.Signals(-death.exit_code).name})"
    return f"{death.reason} (exit code {death.exit_code})"
