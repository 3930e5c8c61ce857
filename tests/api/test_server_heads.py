"""Requests that never reach the application: refused in JSON, and told so."""

from __future__ import annotations

import http.client
import json

import pytest

from tests.harness import Server

SMALL, LARGE = 60_000, 66_000


def ask(server: Server, head: bytes) -> tuple[int, str, str]:
    """Status, content type and detail of the answer to these bytes; the server closes."""
    host, port = server.url.removeprefix("http://").split(":")
    connection = http.client.HTTPConnection(host, int(port))
    connection.connect()
    connection.sock.sendall(head)
    answer = http.client.HTTPResponse(connection.sock)
    answer.begin()
    body = json.loads(answer.read())
    connection.close()
    return answer.status, answer.headers["content-type"], body["detail"] if isinstance(body, dict) else ""


def head(text: int = 1, header: int = 1) -> bytes:
    line = b"POST /validate_kana?text=" + b"a" * text + b" HTTP/1.1\r\n"
    return line + b"Host: x\r\nContent-Length: 0\r\nX-Long: " + b"x" * header + b"\r\n\r\n"


def test_a_url_that_is_too_long(cast: Server) -> None:
    status, content_type, detail = ask(cast, head(text=LARGE))
    assert (status, content_type) == (414, "application/json")
    assert "body" in detail
    assert ask(cast, head(text=SMALL))[0] == 400  # it is no kana


def test_a_client_that_sends_on_hears_the_answer(cast: Server) -> None:
    assert ask(cast, head(text=1_000_000))[0] == 414


def test_headers_that_are_too_large(cast: Server) -> None:
    assert ask(cast, head(header=LARGE))[:2] == (431, "application/json")
    assert ask(cast, head(header=SMALL))[0] == 400
    many = b"GET /version HTTP/1.1\r\nHost: x\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(20_000))
    assert ask(cast, many)[0] == 431


@pytest.mark.parametrize("nonsense", [b"NONSENSE\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/9.9\r\n\r\n"])
def test_nonsense(cast: Server, nonsense: bytes) -> None:
    status, content_type, detail = ask(cast, nonsense)
    assert (status, content_type, detail) == (400, "application/json", "Invalid HTTP request received.")
