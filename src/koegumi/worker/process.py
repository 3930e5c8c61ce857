"""A worker's life: load, say so, then one job after another until the front is gone."""

from __future__ import annotations

import contextlib
import ctypes
import os
import queue
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import msgspec
import structlog

from koegumi.telemetry import configure_logging
from koegumi.voices.interface import Cancelled, VoiceError
from koegumi.wire.frames import FrameType
from koegumi.wire.messages import Broken, Call, End, Failure, Order, Ready, WorkerConfig
from koegumi.worker.handlers import Answer, Handlers, Refused, open_handlers
from koegumi.worker.link import Link
from koegumi.worker.run import JobRun

log = structlog.get_logger("koegumi.worker")

# Background work yields to the front and to queries: measured, it halves a query's p99 under load.
NICE = 10
PR_SET_PDEATHSIG = 1
# Where memory runs out the kernel ends a worker, which is replaced, and not the front (0) or others on the machine.
OOM_SCORE = "500"


def be_expendable(parent: int) -> None:
    """Die with the front, also from inside native code; leave Ctrl-C to the front."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(PermissionError):
        os.setpgid(0, 0)
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text(OOM_SCORE)
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the signal was asked for
        os._exit(1)


def be_nice() -> None:
    """Only now: a worker that comes back should be back soon. On Linux each thread has a niceness of its own."""
    if sys.platform == "linux":
        for thread in os.listdir("/proc/self/task"):
            os.setpriority(os.PRIO_PROCESS, int(thread), NICE)
    else:
        os.nice(NICE)


def serve(fd: int, log_fd: int) -> None:
    """Run until the front closes the socket. The log has a file of its own: whatever runs here may print."""
    link = Link(socket.socket(fileno=fd))
    config = msgspec.msgpack.decode(link.read().payload, type=WorkerConfig)
    configure_logging(open(log_fd, "w", encoding="utf-8", errors="backslashreplace"))  # noqa: SIM115 - until the end
    structlog.contextvars.bind_contextvars(worker=config.name)
    worker = Worker(link)
    threading.Thread(target=worker.listen, daemon=True, name="listen").start()
    try:
        handlers = open_handlers(config, lambda step: link.send_struct(FrameType.LOADING, step))
        link.send(FrameType.WARMING)
        handlers.warm_up()
    except Exception as error:
        log.exception("loading failed")
        link.send_struct(FrameType.BROKEN, Broken(str(error) or type(error).__name__))
        sys.exit(1)
    if config.lane != "query":
        be_nice()
    link.send_struct(FrameType.READY, Ready(pid=os.getpid(), capacity=1, device=handlers.device))
    worker.work(handlers)


class Worker:
    def __init__(self, link: Link) -> None:
        self._link = link
        self._calls: queue.SimpleQueue[tuple[int, Order, JobRun]] = queue.SimpleQueue()
        self._runs: dict[int, JobRun] = {}

    def listen(self) -> None:
        """The second thread: queue calls, cancel runs, end with the front."""
        try:
            while True:
                frame = self._link.read()
                if frame.type is FrameType.CALL:
                    order = msgspec.msgpack.decode(frame.payload, type=Order)
                    run = self._runs[frame.job_id] = JobRun()
                    self._calls.put((frame.job_id, order, run))
                elif frame.type is FrameType.CANCEL and (found := self._runs.get(frame.job_id)):
                    found.cancel()
        except BaseException:
            # The front is gone, or talks nonsense. The main thread may be in native code: leave it no say.
            os._exit(0)

    def work(self, handlers: Handlers) -> None:
        while True:
            job_id, order, run = self._calls.get()
            started = time.perf_counter()
            with structlog.contextvars.bound_contextvars(request_id=order.request_id):
                answer = self._answer(handlers, job_id, order, run)
            self._runs.pop(job_id, None)
            if isinstance(answer, Failure):
                self._link.send_struct(FrameType.FAILURE, answer, job_id)
            else:
                self._link.send_body(job_id, answer.body)
                end = End(answer.media_type, time.perf_counter() - started)
                self._link.send_struct(FrameType.END, end, job_id)

    def _answer(self, handlers: Handlers, job_id: int, order: Order, run: JobRun) -> Answer | Failure:
        try:
            run.check()
            call: Call = msgspec.msgpack.decode(order.call, type=Call)
            return handlers.answer(call, run)
        except Cancelled:
            return Failure("cancelled", "the job was cancelled")
        except Refused as error:
            return error.failure
        except VoiceError as error:
            return Failure("invalid", str(error))
        except Exception as error:
            if run.is_cancelled:  # a terminated session raises its own error
                return Failure("cancelled", "the job was cancelled")
            log.exception("job failed", job=job_id)
            return Failure("internal", f"{type(error).__name__}: {error}")
