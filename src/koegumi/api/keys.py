"""API keys: who may use the server, where it asks for a key at all. Without keys everyone may.

Pure ASGI, as all middleware here: see `middleware`.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from koegumi.api.errors import detail

# What balancers and containers ask to see whether the server lives. Metrics tell of the work, so they need a key.
OPEN_PATHS = frozenset({"/livez", "/readyz", "/version"})


class Keys:
    """The keys in force. Kept as digests, so that all comparisons are of one length and none is found in a dump."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._digests = [_digest(key.encode()) for key in keys]

    def __bool__(self) -> bool:
        return bool(self._digests)

    def holder(self, headers: Headers) -> str | None:
        """A name for the key that the request has, by which nobody can guess it; None where it has no valid one."""
        given = _digest(_given(headers).encode("latin-1"))
        known = [hmac.compare_digest(given, digest) for digest in self._digests]
        return f"key-{given.hex()[:8]}" if any(known) else None


class KeysMiddleware:
    """Answers 401 to requests without a key, where keys are set, and names the client of all others in the state."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self._app = app
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            holder = self._keys.holder(Headers(scope=scope)) if self._keys else None
            if self._keys and holder is None and scope["path"] not in OPEN_PATHS:
                await _refused(scope, receive, send)
                return
            scope.setdefault("state", {})["client"] = holder or _address(scope)
        await self._app(scope, receive, send)


async def _refused(scope: Scope, receive: Receive, send: Send) -> None:
    text = "an API key is needed: Authorization: Bearer KEY, or X-API-Key: KEY"
    await detail(401, text, {"WWW-Authenticate": "Bearer"})(scope, receive, send)


def _address(scope: Scope) -> str:
    return scope["client"][0] if scope.get("client") else ""


def _given(headers: Headers) -> str:
    scheme, _, key = headers.get("Authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else headers.get("X-API-Key", "")


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()
