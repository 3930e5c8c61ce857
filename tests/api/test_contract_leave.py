"""A client that leaves frees what worked for it, whenever it leaves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Any

import pytest

from koegumi.api.front import Limits
from koegumi.dispatch.job import QueueFull
from tests.api.fake import QUERY, FakeDispatcher, House

BODY = json.dumps(QUERY).encode()


class Connection:
    """One request as the server hands it in. `leave` is what a closed socket looks like from there."""

    def __init__(self, house: House, path: str = "/synthesis", query: bytes = b"speaker=0") -> None:
        self.house = house
        self.sent: list[Any] = []
        self._incoming: asyncio.Queue[Any] = asyncio.Queue()
        self._scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query,
            "root_path": "",
            "headers": [(b"host", b"test")],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 2),
        }
        self.task = asyncio.ensure_future(house.app(self._scope, self._incoming.get, self._send))

    async def _send(self, message: Any) -> None:
        self.sent.append(message)

    def body(self, data: bytes, more: bool = False) -> None:
        self._incoming.put_nowait({"type": "http.request", "body": data, "more_body": more})

    def leave(self) -> None:
        self._incoming.put_nowait({"type": "http.disconnect"})

    @property
    def status(self) -> int | None:
        return self.sent[0]["status"] if self.sent else None


def holding() -> House:
    """Its jobs run until their event is set."""
    return House(FakeDispatcher(held=asyncio.Event(), started=asyncio.Event()))


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 10))


async def started(house: House) -> None:
    assert house.dispatcher.started is not None
    await house.dispatcher.started.wait()
    house.dispatcher.started.clear()


def test_the_job_of_a_client_that_left_is_withdrawn() -> None:
    async def test() -> None:
        house = holding()
        connection = Connection(house)
        connection.body(BODY)
        await started(house)
        connection.leave()
        await connection.task
        assert house.dispatcher.running == 0
        assert connection.status == 499

    run(test())


def test_a_route_without_a_body_watches_too() -> None:
    async def test() -> None:
        house = holding()
        connection = Connection(house, "/audio_query", b"text=a&speaker=0")
        connection.body(b"nobody reads this", more=True)
        connection.body(b"")
        await started(house)
        connection.leave()
        await connection.task
        assert house.dispatcher.running == 0

    run(test())


def test_leaving_while_a_large_body_is_decoded() -> None:
    async def test() -> None:
        dispatcher = FakeDispatcher(held=asyncio.Event(), started=asyncio.Event())
        house = House(dispatcher, limits=Limits(inline_bytes=100))
        connection = Connection(house)
        connection.body(BODY)
        await started(house)
        connection.leave()
        await connection.task
        assert len(dispatcher.jobs) == 1
        assert dispatcher.running == 0

    run(test())


def test_leaving_in_the_middle_of_the_body() -> None:
    async def test() -> None:
        house = House()
        connection = Connection(house)
        connection.body(BODY[:10], more=True)
        connection.leave()
        await connection.task
        assert house.dispatcher.jobs == []
        assert connection.status == 499

    run(test())


def test_a_server_that_stops_withdraws_as_well() -> None:
    async def test() -> None:
        house = holding()
        connection = Connection(house)
        connection.body(BODY)
        await started(house)
        connection.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await connection.task
        assert house.dispatcher.running == 0

    run(test())


def test_many_that_leave_and_one_that_stays() -> None:
    async def test() -> None:
        house = holding()
        assert house.dispatcher.held is not None
        connections = [Connection(house) for _ in range(50)]
        for number, connection in enumerate(connections):
            connection.body(BODY)
            if number % 2:
                connection.leave()  # with the last byte of its body
        await started(house)
        for connection in connections[1:]:
            connection.leave()
        await asyncio.wait([connection.task for connection in connections[1:]])
        assert house.dispatcher.running == 1
        house.dispatcher.held.set()
        await connections[0].task
        assert connections[0].status == 200
        assert house.dispatcher.running == 0

    run(test())


def test_a_refused_job_leaves_no_watcher_behind() -> None:
    async def test() -> None:
        house = House(FakeDispatcher(lambda job: QueueFull(1)))
        before = asyncio.all_tasks()
        connection = Connection(house)
        connection.body(BODY)
        await connection.task
        assert connection.status == 503
        assert asyncio.all_tasks() == before

    run(test())
