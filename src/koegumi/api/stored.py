"""What all routes share that change what is kept on disk: who may, and how its errors become answers."""

from __future__ import annotations

from typing import Any

import structlog
from fastapi import Depends, FastAPI, HTTPException, Request
from starlette.responses import Response

from koegumi.api.errors import detail
from koegumi.api.front import TheFront
from koegumi.state.dictionary import CompileFailed
from koegumi.state.files import StateError

log = structlog.get_logger("koegumi.api")

NOT_MUTABLE = "エンジンの静的なデータを変更するAPIは無効化されています"
INVALID: dict[int | str, dict[str, Any]] = {
    422: {
        "description": "Validation Error",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/HTTPValidationError"}}},
    }
}


async def _mutable(front: TheFront) -> None:
    if not front.state.mutable:
        raise HTTPException(403, NOT_MUTABLE)


# Asked before parameters and body are looked at.
MUTABLE = [Depends(_mutable)]


def no_content() -> Response:
    """As the reference answers it."""
    return Response(status_code=204, media_type="application/json")


def install(app: FastAPI) -> None:
    app.add_exception_handler(StateError, _state_error)
    app.add_exception_handler(CompileFailed, _compile_failed)


async def _state_error(request: Request, error: Any) -> Response:
    log.error("state", reason=str(error))
    return detail(403 if error.forbidden else 500, str(error))


async def _compile_failed(request: Request, error: Exception) -> Response:
    log.error("user dictionary not compiled", reason=str(error))
    return detail(422, f"the user dictionary could not be compiled and stays as it was: {error}")
