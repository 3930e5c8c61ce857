"""Sounds that the client has, one after the other."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request
from starlette.responses import Response

from koegumi.api.body import documented, read_body
from koegumi.api.front import TheFront
from koegumi.api.stored import INVALID
from koegumi.api.synthesis import WAV
from koegumi.api.work import answer, connect_job
from koegumi.wire.messages import ConnectCall

router = APIRouter()

# Such bodies are in memory several times on their way; the others wait in their clients' sockets.
_AT_ONCE = asyncio.Semaphore(4)


@router.post(
    "/connect_waves",
    response_class=Response,
    responses={200: WAV, **INVALID},
    openapi_extra=documented({"type": "array", "items": {"type": "string"}, "title": "Waves"}),
    tags=["synthesis"],
)
async def connect_waves(request: Request, front: TheFront) -> Response:
    """Join WAV files in base64: the answer has the highest of their rates, and two channels if any has."""
    async with _AT_ONCE:
        body = await read_body(request, front.limits.upload_bytes)
        return await answer(request, front, connect_job(front, ConnectCall(body)))
