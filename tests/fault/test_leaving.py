"""Clients that leave at random moments, politely or not, leave nothing behind."""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import struct
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.fault.load import SECONDS, Request, gauge, speak, until
from tests.harness import SINE, Server, serving

pytestmark = pytest.mark.fault

CLIENTS = 1000 if SECONDS else 400
AT_ONCE = 40
EMPTY_WITHIN = 1.0


def message(query: dict[str, Any], host: str) -> bytes:
    body = json.dumps(query).encode()
    head = f"POST /synthesis?speaker=1 HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    return head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body


async def leave(server: Server, text: bytes, chance: random.Random, turns: asyncio.Semaphore) -> None:
    """Send all or a part, wait or not, and go: by FIN, or by RST with what came unread."""
    async with turns:
        address = urlsplit(server.url)
        _, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(text if chance.random() < 0.8 else text[: chance.randrange(len(text))])
        await writer.drain()
        await asyncio.sleep(chance.uniform(0, 0.3))
        if chance.random() < 0.5:
            sock: socket.socket = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.close()


def leavings(server: Server) -> dict[str, int]:
    """What the server holds that may leak."""
    pid = server.process.pid
    children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    zombies = sum("State:\tZ" in Path(f"/proc/{child}/status").read_text() for child in children)
    descriptors = sum(len(os.listdir(f"/proc/{each}/fd")) for each in [pid, *children])
    return {"descriptors": descriptors, "processes": len(children), "zombies": zombies}


def test_clients_that_leave(query: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(7)
    environment = {"TMPDIR": str(tmp_path), "KOEGUMI_STATE_DIR": str(tmp_path / "state")}
    with serving("--voices", SINE, "--synthesis-workers", "2", environment=environment) as server:
        assert speak(server, Request(query))[0] == 200
        before, files = leavings(server), sorted(tmp_path.rglob("*"))

        async def everyone() -> None:
            turns = asyncio.Semaphore(AT_ONCE)
            text = message(query | {"kana": "sleep 0.05"}, urlsplit(server.url).netloc)
            await asyncio.gather(*(leave(server, text, chance, turns) for _ in range(CLIENTS)))

        asyncio.run(everyone())
        empty = until(lambda: gauge(server, "koegumi_queue_jobs") + gauge(server, "koegumi_running_jobs") == 0)
        assert [speak(server, Request(query))[0] for _ in range(50)] == [200] * 50
        until(lambda: leavings(server) == before, 10)
        assert sorted(tmp_path.rglob("*")) == files
        assert not server.log.events("worker ended")
    with capsys.disabled():
        print(
            f"\n{CLIENTS} clients left: nothing waits or runs {empty:.2f} s after the last; before and after {before}"
        )
    assert empty < EMPTY_WITHIN
