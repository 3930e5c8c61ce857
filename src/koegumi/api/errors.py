"""Errors to answers, in the three shapes that VOICEVOX ENGINE has: a list of details, one detail, one message."""

from __future__ import annotations

from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.responses import JSONResponse, Response

from koegumi.dispatch.job import (
    ComeBack,
    DeadlinePassed,
    DispatchError,
    Quarantined,
    Refused,
    ShareUsed,
    WorkFailed,
    WorkLost,
)
from koegumi.schema.echo import safe_errors
from koegumi.voices.catalog import UnknownStyle

log = structlog.get_logger("koegumi.api")

UNKNOWN_STYLE = "指定されたスタイルが見つかりませんでした。"
UNSUPPORTED_STYLE = "指定されたスタイルはこの機能をサポートしていません。"
# Nobody reads it; it is for the log. nginx has the number for a client that left.
CLIENT_LEFT = 499
# When a server that ends is thought to have a successor.
RETURN_SECONDS = 5


class UnsupportedStyle(Exception):  # noqa: N818 - reads as a sentence where it is raised
    """The style exists and cannot do this."""


class UnknownCore(Exception):  # noqa: N818
    """No such core version; the message is the answer."""


class ClientLeft(Exception):  # noqa: N818
    """The client closed its connection before it had its answer."""


def install(app: FastAPI) -> None:
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(DispatchError, _dispatch_error)
    app.add_exception_handler(UnknownStyle, _unknown_style)
    app.add_exception_handler(UnsupportedStyle, _unsupported_style)
    app.add_exception_handler(UnknownCore, _unknown_core)
    app.add_exception_handler(ClientLeft, _client_left)


def detail(status: int, text: object, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"detail": text}, status, headers)


def message(text: str) -> JSONResponse:
    return JSONResponse({"message": text}, 422)


def internal_error() -> JSONResponse:
    return detail(500, "Internal Server Error")


async def _invalid(request: Request, error: Any) -> Response:
    return detail(422, safe_errors(error.errors()))


async def _refused(request: Request, error: Any) -> Response:
    match error:
        case ComeBack(retry_after=seconds):
            status = 429 if isinstance(error, ShareUsed) else 503
            return detail(status, str(error), {"Retry-After": str(seconds)})
        case Quarantined(retry_after=seconds):
            return _quarantined(str(error), {"Retry-After": str(seconds)})
    return detail(503, "the server is shutting down", {"Retry-After": str(RETURN_SECONDS)})


async def _dispatch_error(request: Request, error: Any) -> Response:
    match error:
        case DeadlinePassed():
            return detail(504, str(error))
        case WorkLost(reason=reason):
            return _quarantined(f"this request was at work when a worker died, twice, and is not tried again: {reason}")
        case WorkFailed(failure=failure) if failure.kind == "kana":
            return detail(400, failure.detail)
        case WorkFailed(failure=failure) if failure.kind == "score":
            return detail(400, failure.message)
        case WorkFailed(failure=failure) if failure.kind == "wave":
            return detail(422, failure.message)
        case WorkFailed(failure=failure) if failure.kind == "body" and failure.detail is not None:
            return detail(422, failure.detail["errors"])
        case WorkFailed(failure=failure) if failure.kind == "invalid":
            return message(failure.message)
        case WorkFailed(failure=failure) if failure.kind == "unsupported":
            return message(UNSUPPORTED_STYLE)
    log.error("job failed", error=str(error))
    return internal_error()


def _quarantined(text: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """A 422 that programs can tell from that of a bad value."""
    return JSONResponse({"message": text, "kind": "quarantined"}, 422, headers)


async def _unknown_style(request: Request, error: Exception) -> Response:
    return message(UNKNOWN_STYLE)


async def _unsupported_style(request: Request, error: Exception) -> Response:
    return message(UNSUPPORTED_STYLE)


async def _unknown_core(request: Request, error: Exception) -> Response:
    return message(str(error))


async def _client_left(request: Request, error: Exception) -> Response:
    return Response(status_code=CLIENT_LEFT)
