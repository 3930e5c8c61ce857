"""From a call to the answer of a worker, for as long as the client is there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message

from koegumi.api.errors import ClientLeft
from koegumi.api.front import Front
from koegumi.api.terms import on_terms
from koegumi.dispatch.job import Job, Outcome
from koegumi.voices.catalog import Entry
from koegumi.voices.interface import Capability
from koegumi.wire.messages import (
    Call,
    CheckCall,
    CompileCall,
    ConnectCall,
    DecodeCall,
    KanaCall,
    LoadCall,
    MorphCall,
    SongCurveCall,
    SongQueryCall,
)

T = TypeVar("T")

QUERY_LANE = "query"
SYNTHESIS_LANE = "synthesis"
# Seconds of work for a character or mora, for a byte of JSON and of a dictionary, until they were measured.
FIRST_QUERY_RATE = 0.002
FIRST_DECODE_RATE = 1e-7
FIRST_COMPILE_RATE = 1e-7
FIRST_KANA_RATE = 1e-5
FIRST_CHECK_RATE = 1e-8
FIRST_LOAD_SECONDS = 0.5
# And for a second of sound.
FIRST_SONG_RATE = 0.01
FIRST_MORPH_RATE = 1.0
FIRST_CONNECT_RATE = 1e-7


def query_job(entry: Entry, call: Call, units: int) -> Job:
    """`units` counts characters or morae; a call costs something even without any."""
    name = f"query/{entry.family.name}"
    return _job(QUERY_LANE, call, name, units + 1, FIRST_QUERY_RATE, entry)


def load_job(entry: Entry, lane: str) -> Job:
    return _job(lane, LoadCall(entry.style.id), f"load/{lane}/{entry.family.name}", 1, FIRST_LOAD_SECONDS, entry)


def check_job(call: CheckCall, size: int) -> Job:
    return _job(QUERY_LANE, call, "query/check", size, FIRST_CHECK_RATE)


def decode_job(call: DecodeCall) -> Job:
    return _job(QUERY_LANE, call, "query/decode", len(call.body), FIRST_DECODE_RATE)


def compile_job(call: CompileCall, size: int) -> Job:
    return _job(QUERY_LANE, call, "query/compile", size, FIRST_COMPILE_RATE)


def kana_job(call: KanaCall) -> Job:
    return _job(QUERY_LANE, call, "query/kana", len(call.text) + 1, FIRST_KANA_RATE)


def connect_job(front: Front, call: ConnectCall) -> Job:
    name = "synthesis/connect"
    return _job(sound_lane(front), call, name, len(call.body), FIRST_CONNECT_RATE)


def song_job(entry: Entry, call: SongQueryCall | SongCurveCall, seconds: float) -> Job:
    name = f"query/{entry.family.name}/song"
    return _job(QUERY_LANE, call, name, seconds + 1, FIRST_SONG_RATE, entry)


def morph_job(entry: Entry, call: MorphCall, seconds: float) -> Job:
    return _job(entry.speaker.lane, call, "synthesis/morph", seconds, FIRST_MORPH_RATE, entry)


def synthesis_job(entry: Entry, call: Call, seconds: float, batch: bool = False) -> Job:
    speaker = entry.speaker
    name = f"synthesis/{entry.family.name}"
    if Capability.BATCH not in speaker.capabilities:  # what is done together costs alike
        name += f"/{entry.style.id}"
    return _job(speaker.lane, call, name, seconds, speaker.real_time_factor, entry, batch)


def _job(
    lane: str,
    call: Call,
    rate_key: str,
    units: float,
    first_rate: float,
    entry: Entry | None = None,
    batch: bool = False,
) -> Job:
    kind = str(type(call).__struct_config__.tag)
    voice = entry.style.id if entry is not None else None
    return Job(lane, msgspec.msgpack.encode(call), rate_key, units, first_rate, batch=batch, kind=kind, voice=voice)


def sound_lane(front: Front) -> str:
    """The lane for sound that is no voice's own."""
    lanes = {speaker.lane for speaker in front.catalog.speakers}
    return SYNTHESIS_LANE if SYNTHESIS_LANE in lanes else min(lanes)


async def run(request: Request, front: Front, job: Job) -> Outcome:
    """Submit the job on the request's terms and wait for it. Raises what both raise, and ClientLeft after withdrawing
    the job."""
    return await _while_connected(request, front.dispatcher.submit(on_terms(request, job)))


async def run_all(request: Request, front: Front, jobs: Sequence[Job]) -> list[Outcome]:
    """As `run`, for jobs that are admitted together and run side by side."""
    return await _while_connected(request, front.dispatcher.submit_all([on_terms(request, job) for job in jobs]))


async def _while_connected(request: Request, submitted: Coroutine[Any, Any, T]) -> T:
    work = asyncio.ensure_future(submitted)
    left = asyncio.ensure_future(_disconnect(request.receive))
    try:
        await asyncio.wait([work, left], return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise ClientLeft
        return work.result()
    finally:
        # Only when both have ended is the job's slot known to be told.
        work.cancel()
        left.cancel()
        await asyncio.gather(work, left, return_exceptions=True)


async def answer(request: Request, front: Front, job: Job) -> Response:
    """The worker's bytes as they are."""
    outcome = await run(request, front, job)
    return Response(outcome.body, headers=timing([outcome]), media_type=outcome.media_type)


def timing(outcomes: Sequence[Outcome]) -> dict[str, str]:
    """Headers that say where the time went, in seconds: the longest wait, and all work together."""
    queued = max((outcome.queue_seconds for outcome in outcomes), default=0.0)
    worked = sum(outcome.work_seconds for outcome in outcomes)
    return {
        "X-Koegumi-Queue-Time": f"{queued:.3f}",
        "X-Koegumi-Synthesis-Time": f"{worked:.3f}",
        "X-Koegumi-Worker": ", ".join(sorted({outcome.worker for outcome in outcomes})),
        "Server-Timing": f"queue;dur={queued * 1000:.1f}, work;dur={worked * 1000:.1f}",
    }


async def _disconnect(receive: Callable[[], Awaitable[Message]]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
