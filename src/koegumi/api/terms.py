"""What a request says of its work: who asks, how urgent it is, and until when it is of use."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace

from fastapi.exceptions import RequestValidationError
from starlette.requests import Request

from koegumi.dispatch.job import DeadlinePassed, Job

DEADLINE = "X-Koegumi-Deadline"
PRIORITY = "X-Koegumi-Priority"
BATCH, INTERACTIVE = "batch", "interactive"


def on_terms(request: Request, job: Job) -> Job:
    """The job as the request wants it. Raises RequestValidationError that names the header, and DeadlinePassed.

    A deadline counts from the request's arrival, however many jobs it has one after the other.
    """
    batch = _is_batch(request) or job.batch
    state = request.state
    return replace(job, client=state.client, batch=batch, deadline=_seconds_left(request), request_id=state.request_id)


def _is_batch(request: Request) -> bool:
    given = request.headers.get(PRIORITY, INTERACTIVE)
    if given not in (BATCH, INTERACTIVE):
        raise _bad(PRIORITY, f"should be {INTERACTIVE} or {BATCH}", given)
    return given == BATCH


def _seconds_left(request: Request) -> float | None:
    given = request.headers.get(DEADLINE)
    if given is None:
        return None
    try:
        seconds = float(given)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise _bad(DEADLINE, "should be a number of seconds greater than 0", given)
    left: float = request.state.arrived + seconds - asyncio.get_running_loop().time()
    if left <= 0:
        raise DeadlinePassed
    return left


def _bad(header: str, text: str, given: str) -> RequestValidationError:
    return RequestValidationError([{"type": "header", "loc": ["header", header], "msg": text, "input": given}])
