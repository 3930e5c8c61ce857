"""Asynchronous clients for the benchmarks. Times are seconds on this machine's monotonic clock."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

Query = dict[str, Any]


@dataclass(frozen=True)
class Spoken:
    """One answer: when it was asked for, how long it took, how much sound it was."""

    latency: float
    sound: float
    queue_time: float


@asynccontextmanager
async def connect(url: str, connections: int = 64) -> AsyncIterator[httpx.AsyncClient]:
    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
    async with httpx.AsyncClient(base_url=url, timeout=None, trust_env=False, verify=False, limits=limits) as client:
        yield client


async def ask(client: httpx.AsyncClient, text: str, speaker: int = 1) -> Query:
    answer = await client.post("/audio_query", params={"text": text, "speaker": speaker})
    answer.raise_for_status()
    query: Query = answer.json()
    return query


async def speak(client: httpx.AsyncClient, query: Query, speaker: int = 1, since: float | None = None) -> Spoken:
    """`since` is the scheduled time of an open-loop request; latency counts from there."""
    started = time.perf_counter() if since is None else since
    answer = await client.post("/synthesis", params={"speaker": speaker}, json=query)
    answer.raise_for_status()
    sound = (len(answer.content) - 44) / 2 / query["outputSamplingRate"]
    return Spoken(time.perf_counter() - started, sound, float(answer.headers["x-koegumi-queue-time"]))


async def one_after_another(client: httpx.AsyncClient, queries: Sequence[Query]) -> tuple[float, list[Spoken]]:
    started = time.perf_counter()
    spoken = [await speak(client, query) for query in queries]
    return time.perf_counter() - started, spoken


async def at_once(client: httpx.AsyncClient, queries: Sequence[Query]) -> tuple[float, list[Spoken]]:
    started = time.perf_counter()
    spoken = await asyncio.gather(*(speak(client, query) for query in queries))
    return time.perf_counter() - started, list(spoken)


async def closed_loop(
    client: httpx.AsyncClient, queries: Sequence[Query], clients: int, requests: int
) -> tuple[float, list[Spoken]]:
    """`clients` that each ask again as soon as they are answered, until `requests` were made."""
    turns = iter(range(requests))
    spoken: list[Spoken] = []

    async def loop() -> None:
        for turn in turns:
            spoken.append(await speak(client, queries[turn % len(queries)]))

    started = time.perf_counter()
    await asyncio.gather(*(loop() for _ in range(clients)))
    return time.perf_counter() - started, spoken


async def open_loop(client: httpx.AsyncClient, queries: Sequence[Query], times: Sequence[float]) -> list[Spoken]:
    """One request at each of `times` (seconds from now), whether or not the ones before are answered."""
    origin = time.perf_counter()

    async def at(moment: float, query: Query) -> Spoken:
        await asyncio.sleep(max(0.0, origin + moment - time.perf_counter()))
        return await speak(client, query, since=origin + moment)

    return list(await asyncio.gather(*(at(moment, queries[i % len(queries)]) for i, moment in enumerate(times))))
