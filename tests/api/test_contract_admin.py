"""The admin's side: who may see it, and the queue explained."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import httpx
import pytest

from koegumi.api.keys import Keys
from koegumi.dispatch.statistics import JobStatistics
from tests.api.fake import FakeDispatcher, House

RUNNING = JobStatistics(7, "synthesis", "synthesis", 3, "10.0.0.9", False, 1.23456, 0.5, None, 1, None, "synthesis-1")
LONG = replace(RUNNING, stage="coarse", share=0.56789)
WAITING = JobStatistics(9, "synthesis", "synthesis", 2, "key-ab", True, 60.0, 4.0, 12.34567, 0, 0, None)


def ask(house: House, address: str | None, headers: dict[str, str]) -> int:
    """From that address."""

    async def ask() -> int:
        client: Any = (address, 1) if address else None
        transport = httpx.ASGITransport(house.app, client=client)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as session:
            return (await session.get("/admin/queue", headers=headers)).status_code

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("address", "headers", "open_", "locked"),
    [
        ("127.0.0.1", {}, 200, 401),
        ("127.8.0.1", {}, 200, 401),
        ("::1", {}, 200, 401),
        ("::ffff:127.0.0.1", {}, 200, 401),
        ("10.0.0.1", {}, 403, 401),
        ("::ffff:10.0.0.1", {}, 403, 401),
        ("2001:db8::1", {}, 403, 401),
        ("localhost", {}, 403, 401),
        (None, {}, 403, 401),
        ("127.0.0.1", {"X-Forwarded-For": ""}, 403, 401),
        ("127.0.0.1", {"x-forwarded-for": "127.0.0.1"}, 403, 401),
        ("127.0.0.1", {"Forwarded": "for=127.0.0.1"}, 403, 401),
        ("127.0.0.1", {"X-API-Key": "wrong"}, 200, 401),
        ("10.0.0.1", {"X-API-Key": "right"}, 403, 200),
        ("10.0.0.1", {"X-API-Key": "right", "X-Forwarded-For": "10.0.0.2"}, 403, 200),
    ],
    ids=repr,
)
def test_it_needs_a_key_or_where_there_is_none_this_machine(
    address: str | None, headers: dict[str, str], open_: int, locked: int
) -> None:
    assert ask(House(), address, headers) == open_
    assert ask(House(keys=Keys(["right"])), address, headers) == locked


def test_the_queue_is_explained_in_its_order() -> None:
    answer = House(FakeDispatcher(explained=[RUNNING, WAITING, LONG])).ask("GET", "/admin/queue")
    common = {"lane": "synthesis", "kind": "synthesis", "stage": None, "share": None}
    running, waiting, long = answer.json()
    assert long == running | {"stage": "coarse", "share": 0.568}
    assert [running, waiting] == [
        common
        | {"number": 7, "voice": 3, "client": "10.0.0.9", "batch": False, "cost": 1.235, "age": 0.5, "deadline": None}
        | {"attempts": 1, "position": None, "worker": "synthesis-1"},
        common
        | {"number": 9, "voice": 2, "client": "key-ab", "batch": True, "cost": 60.0, "age": 4.0, "deadline": 12.346}
        | {"attempts": 0, "position": 0, "worker": None},
    ]
