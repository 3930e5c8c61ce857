"""What a busy server feels like: every synthesis worker busy, 16 requests waiting, and somebody asks.

`make bench-latency` prints the percentiles of /version and of /audio_query (20 characters); with `--check` it fails
where p99 is over 25 ms and 250 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from contextlib import suppress

import httpx

from bench.client import Query, ask, connect, speak
from bench.report import percentile, table, this_machine
from bench.texts import SENTENCES, TWENTY
from koegumi import machine
from tests.harness import serving

WAITING = 16
VERSION_LIMIT, QUERY_LIMIT = 0.025, 0.250


async def keep_busy(client: httpx.AsyncClient, query: Query) -> None:
    """A client that asks again as soon as it is answered."""
    while True:
        await speak(client, query)


async def waiting(client: httpx.AsyncClient) -> int:
    lines = (await client.get("/metrics")).text.splitlines()
    return int(next(float(line.split()[1]) for line in lines if line.startswith('koegumi_queue_jobs{lane="synthesis"')))


async def times(client: httpx.AsyncClient, method: str, path: str, count: int, **params: str | int) -> list[float]:
    taken = []
    for _ in range(count):
        started = time.perf_counter()
        answer = await client.request(method, path, params=params)
        taken.append(time.perf_counter() - started)
        answer.raise_for_status()
    return taken


async def run() -> list[tuple[str, list[float], float]]:
    workers = machine.usable_cores()
    with serving("--synthesis-workers", str(workers)) as server:
        async with connect(server.url) as crowd, connect(server.url) as client:
            query = await ask(client, "".join(SENTENCES[:3]))
            busy = [asyncio.create_task(keep_busy(crowd, query)) for _ in range(workers + WAITING)]
            while await waiting(client) < WAITING:  # noqa: ASYNC110 - it is another process that we wait for
                await asyncio.sleep(0.1)
            lengths = [await waiting(client)]
            version = await times(client, "GET", "/version", 1000)
            lengths.append(await waiting(client))
            asked = await times(client, "POST", "/audio_query", 300, text=TWENTY, speaker=1)
            lengths.append(await waiting(client))
            for task in busy:
                task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*busy)
    print(f"{this_machine()}; {workers} workers busy, waiting at start, middle and end: {lengths}\n")
    return [
        ("GET /version", version, VERSION_LIMIT),
        (f"POST /audio_query, {len(TWENTY)} characters", asked, QUERY_LIMIT),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    results = asyncio.run(run())
    rows = [
        [name, str(len(taken)), *(f"{1000 * percentile(taken, percent):.1f}" for percent in (50, 95, 99))]
        for name, taken, _ in results
    ]
    print(table(["call", "count", "p50 ms", "p95 ms", "p99 ms"], rows))
    slow = [name for name, taken, limit in results if percentile(taken, 99) > limit]
    if check and slow:
        sys.exit(f"too slow: {', '.join(slow)}")


if __name__ == "__main__":
    main()
