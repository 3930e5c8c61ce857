"""Eight AudioQueries in one /multi_synthesis, on one worker and on two.

`make bench-multi` prints the medians of interleaved rounds; with `--check` it fails where two workers take more than
0.65 times as long as one.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from statistics import median

import httpx

from bench.client import Query, ask, connect
from bench.report import table, this_machine
from bench.texts import SENTENCES
from tests.harness import serving

ROUNDS = 5
LIMIT = 0.65


async def seconds(client: httpx.AsyncClient, queries: list[Query]) -> float:
    started = time.perf_counter()
    answer = await client.post("/multi_synthesis", params={"speaker": 1}, json=queries)
    answer.raise_for_status()
    return time.perf_counter() - started


async def run() -> tuple[list[float], list[float]]:
    one: list[float] = []
    two: list[float] = []
    with serving("--synthesis-workers", "1") as single, serving("--synthesis-workers", "2") as double:
        async with connect(single.url) as alone, connect(double.url) as together:
            queries = [await ask(alone, text) for text in SENTENCES]
            for _ in range(ROUNDS):
                one.append(await seconds(alone, queries))
                two.append(await seconds(together, queries))
    return one, two


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    one, two = asyncio.run(run())
    ratio = median(second / first for first, second in zip(one, two, strict=True))
    print(f"{this_machine()}; medians of {ROUNDS} interleaved rounds\n")
    head = ["8 queries in one /multi_synthesis", "seconds"]
    print(table(head, [["1 worker", median(one)], ["2 workers", median(two)], ["ratio within a round", ratio]]))
    if check and ratio > LIMIT:
        sys.exit(f"too slow: {ratio:.2f}, at most {LIMIT}")


if __name__ == "__main__":
    main()
