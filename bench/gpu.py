"""The GPU half: the same syntheses on the CPU's crew and on one, two and four workers of one GPU.

Run by bench/gpu.sh. A server that does not really use the GPU fails its start with the reason, so every row is true.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

from bench.client import ask, connect
from bench.concurrency import Crew, crew_table, measure
from bench.report import this_machine
from bench.texts import SENTENCES
from koegumi import machine
from tests.harness import serving

ROUNDS = 3


def crews() -> list[Crew]:
    cores = machine.usable_cores()
    return [
        Crew(f"CPU, {cores} workers x 1 thread", cores, 1),
        *(Crew(f"GPU, {workers} workers", workers, 1, "cuda:0") for workers in (1, 2, 4)),
    ]


async def run() -> None:
    all_crews = crews()
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(*crew.arguments)) for crew in all_crews]
        async with connect(servers[0].url) as client:
            queries = [await ask(client, text) for text in SENTENCES]
        for _ in range(ROUNDS):
            for crew, server in zip(all_crews, servers, strict=True):
                await measure(crew, server, queries)
    print(f"{this_machine()}; medians of {ROUNDS} interleaved rounds\n")
    print(crew_table(all_crews))


if __name__ == "__main__":
    asyncio.run(run())
