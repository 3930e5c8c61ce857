"""Long texts: `text` comes in the URL, as the reference has it, or in the body where the URL has none.

A body beside a text in the URL is left alone: there are clients that post `{}` with every call.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import parse_qs, quote

import msgspec
from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from koegumi.api.body import read_body
from koegumi.api.front import Front

_FORM = "application/x-www-form-urlencoded"


class _TextBody(msgspec.Struct):
    text: str


class TextRoute(APIRoute):
    """Where the route has the required parameter `text`; its document and its errors stay as they are."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()
        if not any(parameter.name == "text" for parameter in self.dependant.query_params):
            return handler

        async def with_text(request: Request) -> Response:
            if "text" not in request.query_params and (text := await _text(request)) is not None:
                query = request.scope["query_string"] + b"&text=" + quote(text, errors="replace").encode()
                request = Request({**request.scope, "query_string": query}, request.receive)
            return await handler(request)

        return with_text


async def _text(request: Request) -> str | None:
    """None where the body holds none, whatever else it is."""
    front: Front = request.app.state.front
    body = await read_body(request, front.limits.body_bytes)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() == _FORM:
        return parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True).get("text", [None])[0]
    try:
        return msgspec.json.decode(body, type=_TextBody).text
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
