"""A worker's life: load, say so, then work until the front is gone."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import sys
import threading
from pathlib import Path

import msgspec
import structlog

from koegumi.telemetry import configure_logging
from koegumi.wire.frames import FrameType
from koegumi.wire.messages import Broken, Ready, WorkerConfig
from koegumi.worker import single
from koegumi.worker.handlers import open_handlers
from koegumi.worker.jobs import Jobs
from koegumi.worker.lazily import preload
from koegumi.worker.link import Link

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
    jobs = Jobs(link)
    threading.Thread(target=jobs.listen, daemon=True, name="listen").start()
    try:
        handlers = open_handlers(config, lambda step: link.send_struct(FrameType.LOADING, step))
        link.send(FrameType.WARMING)
        handlers.warm_up()
        preload(handlers, config.preload)
    except Exception as error:
        log.exception("loading failed")
        link.send_struct(FrameType.BROKEN, Broken(str(error) or type(error).__name__))
        sys.exit(1)
    if config.lane != "query":
        be_nice()
    voice = handlers.batching
    jobs.cancelled_at_once = voice is not None
    capacity = voice.capacity if voice is not None else 1
    jobs.tell_loaded(handlers.loaded)
    link.send_struct(FrameType.READY, Ready(pid=os.getpid(), capacity=capacity, device=handlers.device))
    if voice is not None:
        from koegumi.worker.batch import Desk  # brings the codecs, which a query worker does without

        Desk(jobs, handlers, voice).work()
    single.work(jobs, handlers, config.unload_after)
