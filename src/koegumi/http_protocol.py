"""HTTP as uvicorn speaks it, with bounded heads of requests, and errors in JSON where it has plain text."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from koegumi.unread import Unread

# The parser's own limit: it counts in 16 bits.
MAX_URL = 65_535
MAX_HEADERS = 65_536
LINGER_SECONDS = 2.0

URL_TOO_LONG = f"the URL is longer than {MAX_URL} bytes; a long text can come in the body: text=... as a form, or JSON"
HEADERS_TOO_LARGE = f"the headers are larger than {MAX_HEADERS} bytes"


def protocol(unread: Unread) -> type[JsonErrorProtocol]:
    """The protocol of a server whose connections count there."""
    return type("Protocol", (JsonErrorProtocol,), {"unread": unread})


class _Refused(Exception):  # noqa: N818 - reads as a sentence where it is raised
    """The parser hears of it, stops, and tells `data_received`."""


class JsonErrorProtocol(HttpToolsProtocol):
    """For requests that never reach the application; after such an answer the connection is closed."""

    _refusal: tuple[HTTPStatus, str] | None = None
    _header_bytes = 0
    _is_over = False
    unread: Unread  # of all connections

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._application = self.app
        self.app = self._when_read

    async def _when_read(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The next answer of a connection is made when its client has read the one before."""
        await self.flow.drain()
        await self._application(scope, receive, send)

    # The transport says when what it could not send yet is much, and when it is little again.

    def pause_writing(self) -> None:
        super().pause_writing()
        self.unread.began(self)

    def resume_writing(self) -> None:
        self.unread.ended(self)
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self.unread.ended(self)
        super().connection_lost(exc)

    @property
    def unread_bytes(self) -> int:
        return self.transport.get_write_buffer_size()

    def drop(self) -> None:
        self.transport.abort()

    def on_message_begin(self) -> None:
        self._header_bytes = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > MAX_URL:
            self._refuse(HTTPStatus.REQUEST_URI_TOO_LONG, URL_TOO_LONG)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_bytes += len(name) + len(value)
        if self._header_bytes > MAX_HEADERS:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, HEADERS_TOO_LARGE)
        super().on_header(name, value)

    def _refuse(self, status: HTTPStatus, text: str) -> None:
        self._refusal = (status, text)
        raise _Refused(text)

    def send_400_response(self, msg: str) -> None:
        status, text = self._refusal or (HTTPStatus.BAD_REQUEST, msg)
        body = json.dumps({"detail": text}, separators=(",", ":")).encode()
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self._linger()

    def _linger(self) -> None:
        """Hear the client out: closed at once, a socket with unread bytes is reset, and the answer is lost."""
        self._is_over = True
        self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self.transport.close)

    def data_received(self, data: bytes) -> None:
        if not self._is_over:
            super().data_received(data)
