"""One job after another, as most families work."""

from __future__ import annotations

import time
from typing import NoReturn

import structlog

from koegumi.wire.messages import Failure
from koegumi.worker.handlers import Answer, Handlers
from koegumi.worker.jobs import Job, Jobs, failure_of
from koegumi.worker.lazily import close_idle


def work(jobs: Jobs, handlers: Handlers, unload_after: float | None) -> NoReturn:
    while True:
        due = close_idle(handlers.voices, unload_after) if unload_after is not None else None
        jobs.tell_loaded(handlers.loaded)
        job = jobs.next_within(due)
        if job is not None:
            do(job, jobs, handlers)


def do(job: Job, jobs: Jobs, handlers: Handlers) -> None:
    started = time.perf_counter()
    with structlog.contextvars.bound_contextvars(**job.names):
        answer = _answer(job, handlers)
    jobs.tell_loaded(handlers.loaded)
    jobs.answer(job, answer, time.perf_counter() - started)


def _answer(job: Job, handlers: Handlers) -> Answer | Failure:
    try:
        job.run.check()
        return handlers.answer(job.call(), job.run)
    except Exception as error:
        return failure_of(error, job)
