"""JSON bodies of requests: read within a limit, decoded here or, where large, by a worker.

A body is JSON whatever its Content-Type says: clients of the reference send none.
"""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from koegumi.api.errors import ClientLeft
from koegumi.api.front import Front
from koegumi.api.work import decode_job, run
from koegumi.schema.http import decode
from koegumi.schema.reading import Decoded
from koegumi.wire.messages import DecodeCall


def documented(schema: dict[str, Any]) -> dict[str, Any]:
    """`openapi_extra` of a route that reads its body by `decoded`."""
    return {"requestBody": {"content": {"application/json": {"schema": schema}}, "required": True}}


async def decoded(request: Request, front: Front, model: str, limit: int | None = None) -> Decoded:
    """The request's body as this model of `schema.http`, of `limit` bytes at most (those of an AudioQuery).

    Answers 413 and 422 by exceptions.
    """
    body = await read_body(request, front.limits.body_bytes if limit is None else limit)
    if len(body) <= front.limits.inline_bytes:
        result = decode(model, body)
    else:
        outcome = await run(request, front, decode_job(DecodeCall(model, body)))
        result = msgspec.msgpack.decode(outcome.body, type=Decoded)
    if result.errors is not None:
        raise RequestValidationError(result.errors)
    return result


async def read_body(request: Request, limit: int) -> bytes:
    """The body as it is. Answers 413 by an exception."""
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limit:
        raise _too_large(limit)
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > limit:
                raise _too_large(limit)
    except ClientDisconnect:
        raise ClientLeft from None
    return bytes(body)


def _too_large(limit: int) -> HTTPException:
    return HTTPException(413, f"the body is over the limit of {limit} bytes")
