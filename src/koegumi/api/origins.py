"""Which web pages may use the server: VOICEVOX ENGINE's rules. Around everything else, so errors have its headers too.

Pages are known by their Origin; whoever sends none is no browser and passes. Browser extensions pass as well, but get
no header that lets a page of theirs read the answer: they have rights of their own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from koegumi.api.errors import detail

_LOCAL = r"[a-zA-Z+\-.]+://(([^/]+\.)?localhost|127\.0\.0\.1|\[::1\])(:[0-9]+)?"
_EDITOR = "app://."
_EXTENSION = re.compile(
    r"(chrome-extension|moz-extension|ms-browser-extension|safari-extension|safari-web-extension)://.*"
)
_ANY = ".*"


@dataclass(frozen=True)
class Origins:
    """`everyone` may come, or pages of this machine and those from these origins."""

    everyone: bool = False
    allowed: Sequence[str] = ()


class OriginsMiddleware:
    def __init__(self, app: ASGIApp, origins: Origins) -> None:
        self._everyone = origins.everyone
        self._cors = CORSMiddleware(
            app,
            allow_origins=[_EDITOR, *origins.allowed],
            allow_origin_regex=_ANY if origins.everyone else _LOCAL,
            allow_credentials=True,
            allow_methods=["*"],
            allow_headers=["*"],
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._may_pass(Headers(scope=scope).get("origin")):
            await detail(403, "Origin not allowed")(scope, receive, send)
            return
        await self._cors(scope, receive, send)

    def _may_pass(self, origin: str | None) -> bool:
        return (
            origin is None
            or self._everyone
            or self._cors.is_allowed_origin(origin)
            or _EXTENSION.fullmatch(origin) is not None
        )
