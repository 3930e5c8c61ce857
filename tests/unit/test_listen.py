"""Listening: both families under one port, and a clear word when that cannot be."""

from __future__ import annotations

import socket

import pytest

from koegumi.listen import close_all, open_sockets, urls


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as sock:
            sock.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6 loopback")
def test_localhost_is_both_families_on_one_port() -> None:
    sockets = open_sockets("localhost", 0)
    try:
        assert {sock.family for sock in sockets} == {socket.AF_INET, socket.AF_INET6}
        assert len({sock.getsockname()[1] for sock in sockets}) == 1
        assert all(url.startswith(("http://127.0.0.1:", "http://[::1]:")) for url in urls(sockets))
    finally:
        close_all(sockets)


def test_a_taken_port_is_named() -> None:
    first = open_sockets("127.0.0.1", 0)
    try:
        port = first[0].getsockname()[1]
        with pytest.raises(OSError, match=f"port {port}"):
            open_sockets("127.0.0.1", port)
    finally:
        close_all(first)


def test_sockets_name_their_protocol() -> None:
    """Else asyncio leaves Nagle's algorithm on, and every answer waits for an ACK."""
    sockets = open_sockets("127.0.0.1", 0)
    try:
        assert [sock.proto for sock in sockets] == [socket.IPPROTO_TCP]
    finally:
        close_all(sockets)
