"""Clients that ask for much and read nothing, or a little now and then: what waits for them is bounded, and others are
served."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from koegumi.unread import LOOK_EVERY, PATIENCE
from tests.fault.load import Request, gauge, speak, until
from tests.fault.test_leaving import message
from tests.harness import SINE, Server, serving

pytestmark = pytest.mark.fault

LIMIT = 20_000_000
SOUND = 100  # seconds: 4.8 MB
READERS = 30  # at most: the kernel keeps a part of each answer
# What kernels keep for each connection is not the server's.
OTHER_MEMORY = 60_000_000


def resident(pid: int) -> int:
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * 4096


async def ask(server: Server, text: bytes) -> socket.socket:
    """A client that has asked, with hardly any room for an answer."""
    address = urlsplit(server.url)
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.setblocking(False)
    await asyncio.get_running_loop().sock_connect(client, (address.hostname, address.port))
    await asyncio.get_running_loop().sock_sendall(client, text)
    return client


def simple(server: Server, name: str) -> float:
    """A metric without labels."""
    with server.client() as client:
        lines = client.get("/metrics").text.splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{name} "))


def ended(server: Server) -> float:
    """How many jobs have come to their end or were refused."""
    return gauge(server, "koegumi_jobs_total")


def status(server: Server, query: dict[str, Any]) -> tuple[int, str]:
    with server.client() as client:
        answer = client.post("/synthesis", params={"speaker": 1}, json=query)
        return answer.status_code, answer.headers.get("retry-after", "")


def test_clients_that_do_not_read(query: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--synthesis-workers", "2", "--max-unread-bytes", str(LIMIT))
    with serving("--voices", SINE, *options) as server, asyncio.Runner() as runner:
        assert speak(server, Request(query))[0] == 200
        before = most = resident(server.process.pid)
        text = message(query | {"kana": f"huge {SOUND}"}, urlsplit(server.url).netloc)
        clients: list[socket.socket] = []
        while not gauge(server, "koegumi_refusals_total"):
            assert len(clients) < READERS
            clients.append(runner.run(ask(server, text)))
            until(lambda: ended(server) == len(clients) + 1)
            most = max(most, resident(server.process.pid))
        assert LIMIT < simple(server, "koegumi_unread_bytes") < LIMIT + SOUND * 48_000
        assert status(server, query) == (503, str(int(PATIENCE)))
        free = until(lambda: status(server, query)[0] == 200, PATIENCE + 5 * LOOK_EVERY)
        dropped = int(simple(server, "koegumi_slow_clients_dropped_total"))
        assert 1 <= dropped == len(server.log.events("slow client dropped", dropped))
        assert simple(server, "koegumi_unread_bytes") <= LIMIT
        for client in clients:
            client.close()
        until(lambda: simple(server, "koegumi_unread_bytes") == 0)
    with capsys.disabled():
        print(f"\n{len(clients)} clients that read nothing: the front grew by {(most - before) / 1e6:.0f} MB", end=", ")
        print(f"{dropped:.0f} were dropped, others were served {free:.1f} s after the first was refused")
    assert most - before < LIMIT + OTHER_MEMORY


def test_a_client_that_reads_all_the_time_keeps_its_connection(query: dict[str, Any]) -> None:
    """Its answer is over the limit, and it takes longer than the patience that others get."""
    options = ("--synthesis-workers", "1", "--max-unread-bytes", "1000000")
    with serving("--voices", SINE, *options) as server, asyncio.Runner() as runner:
        body = query | {"kana": f"huge {SOUND}"}
        client = runner.run(ask(server, message(body, urlsplit(server.url).netloc)))

        async def read_slowly() -> bytes:
            read, loop = b"", asyncio.get_running_loop()
            start = loop.time()
            while True:
                read += (data := await loop.sock_recv(client, 65536))
                if not data or len(read) > SOUND * 48_000:
                    return read
                # So that all of it takes longer than the patience.
                await asyncio.sleep(start + len(read) / (SOUND * 48_000) * (PATIENCE + 3) - loop.time())

        head, _, sound = runner.run(read_slowly()).partition(b"\r\n\r\n")
        client.close()
        length = next(line for line in head.decode().split("\r\n") if line.lower().startswith("content-length"))
        assert len(sound) == int(length.split()[1]) > SOUND * 48_000
        assert json.loads(server.log.text().splitlines()[-1])
        assert not server.log.events("slow client dropped")
