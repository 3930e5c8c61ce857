"""The listening sockets. `localhost` means IPv4 and IPv6, as the reference's clients expect."""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import Iterator
from typing import Any

# A backlog of the kernel's as wide as the queue's, so that a burst is refused by us, with a reason, and not by it.
BACKLOG = 2048


def open_sockets(host: str, port: int) -> list[socket.socket]:
    """Bind every address of the host; port 0 takes one free port for all of them.

    Addresses that this machine lacks (no IPv6) are left out. Raises OSError where none can be bound.
    """
    sockets: list[socket.socket] = []
    missing: OSError | None = None
    for family, address in _addresses(host, port):
        chosen = sockets[0].getsockname()[1] if sockets else port
        try:
            sockets.append(_bind(family, (address[0], chosen, *address[2:])))
        except OSError as error:
            if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                close_all(sockets)
                raise OSError(error.errno, f"cannot listen on {address[0]} port {chosen}: {error.strerror}") from error
            missing = error
    if not sockets:
        raise missing or OSError(f"{host} has no address")
    return sockets


def _addresses(host: str, port: int) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """`localhost` is both loopbacks by definition: many a hosts file names only one."""
    for name in ("127.0.0.1", "::1") if host == "localhost" else (host,):
        for family, _, _, _, address in socket.getaddrinfo(name, port, type=socket.SOCK_STREAM):
            yield family, address


def _bind(family: int, address: tuple[Any, ...]) -> socket.socket:
    # asyncio sets TCP_NODELAY only where the protocol is named; without it each answer waits 40 ms for an ACK.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(address)
        sock.listen(BACKLOG)
    except BaseException:
        sock.close()
        raise
    return sock


def close_all(sockets: list[socket.socket]) -> None:
    for sock in sockets:
        with contextlib.suppress(OSError):
            sock.close()


def urls(sockets: list[socket.socket]) -> list[str]:
    """What a user may type into a browser."""
    named = [sock.getsockname()[:2] for sock in sockets]
    return [f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}" for host, port in named]
