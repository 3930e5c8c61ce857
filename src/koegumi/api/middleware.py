"""Around every request: its id, its line in the log, and an answer where a handler failed.

Pure ASGI: Starlette's BaseHTTPMiddleware would hide from handlers that their client has left.
"""

from __future__ import annotations

import asyncio
import re
import uuid

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from koegumi.api.errors import internal_error
from koegumi.telemetry import Metrics

log = structlog.get_logger("koegumi.api")

REQUEST_ID = "X-Request-Id"
_SANE_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
# Asked all the time, by machines.
_NOT_LOGGED = frozenset({"/livez", "/readyz", "/metrics"})


class RequestMiddleware:
    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(scope)
        exchange = _Exchange(send, request_id)
        started = asyncio.get_running_loop().time()
        scope.setdefault("state", {}).update(arrived=started, request_id=request_id)
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                await self._app(scope, receive, exchange.send)
            except Exception:
                log.exception("handler failed", path=scope["path"])
                if exchange.status is not None:
                    raise
                await internal_error()(scope, receive, exchange.send)
            finally:
                if exchange.first_byte is not None and (route := scope.get("route")) is not None:
                    self._metrics.answered(route.path, exchange.first_byte - started, exchange.size)
                if scope["path"] not in _NOT_LOGGED:
                    seconds = round(asyncio.get_running_loop().time() - started, 4)
                    log.info(
                        "request", method=scope["method"], path=scope["path"], status=exchange.status, seconds=seconds
                    )


class _Exchange:
    """Marks the answer with the request's id and remembers its status, its size and when it began."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._request_id = request_id
        self.status: int | None = None
        self.first_byte: float | None = None
        self.size = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            MutableHeaders(scope=message)[REQUEST_ID] = self._request_id
        elif body := message.get("body", b""):
            self.size += len(body)
            if self.first_byte is None:
                self.first_byte = asyncio.get_running_loop().time()
        await self._send(message)


def _request_id(scope: Scope) -> str:
    given = Headers(scope=scope).get(REQUEST_ID, "")
    return given if _SANE_ID.fullmatch(given) else uuid.uuid4().hex
