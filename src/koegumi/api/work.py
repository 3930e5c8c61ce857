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
from koegumi.dispatch.job import Job, Outcome
from koegumi.voices.catalog import Entry
from koegumi.wire.messages import (
    Call,
    CompileCall,
    ConnectCall,
    DecodeCall,
    KanaCall,
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
# And for a second of sound.
FIRST_SONG_RATE = 0.01
FIRST_MORPH_RATE = 1.0
FIRST_CONNECT_RATE = 1e-7


def query_job(entry: Entry, call: Call, units: int) -> Job:
    """`units` counts characters or morae; a call costs something even without any."""
    name = f"query/{entry.family.name}"
    return Job(QUERY_LANE, msgspec.msgpack.encode(call), name, units + 1, FIRST_QUERY_RATE)


def decode_job(call: DecodeCall) -> Job:
    return Job(QUERY_LANE, msgspec.msgpack.encode(call), "query/decode", len(call.body), FIRST_DECODE_RATE)


def compile_job(call: CompileCall, size: int) -> Job:
    return Job(QUERY_LANE, msgspec.msgpack.encode(call), "query/compile", size, FIRST_COMPILE_RATE)


def kana_job(call: KanaCall) -> Job:
    return Job(QUERY_LANE, msgspec.msgpack.encode(call), "query/kana", len(call.text) + 1, FIRST_KANA_RATE)


def connect_job(front: Front, call: ConnectCall) -> Job:
    name = "synthesis/connect"
    return Job(sound_lane(front), msgspec.msgpack.encode(call), name, len(call.body), FIRST_CONNECT_RATE)


def song_job(entry: Entry, call: SongQueryCall | SongCurveCall, seconds: float) -> Job:
    name = f"query/{entry.family.name}/song"
    return Job(QUERY_LANE, msgspec.msgpack.encode(call), name, seconds + 1, FIRST_SONG_RATE)


def morph_job(entry: Entry, call: MorphCall, seconds: float) -> Job:
    return Job(entry.speaker.lane, msgspec.msgpack.encode(call), "synthesis/morph", seconds, FIRST_MORPH_RATE)


def synthesis_job(entry: Entry, call: Call, seconds: float) -> Job:
    speaker = entry.speaker
    name = f"synthesis/{entry.family.name}/{entry.style.id}"
    return Job(speaker.lane, msgspec.msgpack.encode(call), name, seconds, speaker.real_time_factor)


def sound_lane(front: Front) -> str:
    """The lane for sound that is no voice's own."""
    lanes = {speaker.lane for speaker in front.catalog.speakers}
    return SYNTHESIS_LANE if SYNTHESIS_LANE in lanes else min(lanes)


async def run(request: Request, front: Front, job: Job) -> Outcome:
    """Submit the job and wait for it. Raises what `submit` raises, and ClientLeft after withdrawing the job."""
    return await _while_connected(request, front.dispatcher.submit(job))


async def run_all(request: Request, front: Front, jobs: Sequence[Job]) -> list[Outcome]:
    """As `run`, for jobs that are admitted together and run side by side."""
    return await _while_connected(request, front.dispatcher.submit_all(jobs))


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
