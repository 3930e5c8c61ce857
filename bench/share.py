"""How much of what bare processes give a crew gives, and of what one worker gives: the ratios alone, in two minutes.

`make bench-share`; with `--check` it fails below 0.9 and 1.6.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from contextlib import ExitStack
from statistics import median

from bench.bare import BareProcess
from bench.client import ask, connect, speak
from bench.concurrency import Crew, measure_bare, measure_rate, sound
from bench.report import OUT, table, this_machine
from bench.texts import SENTENCES
from tests.harness import serving

ROUNDS = 5


async def run() -> tuple[Crew, Crew, list[float]]:
    one, two = Crew("1 worker", 1, 1), Crew("2 workers", 2, 1)
    bare: list[float] = []
    OUT.mkdir(exist_ok=True)
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(*crew.arguments)) for crew in (one, two)]
        async with connect(servers[0].url) as client:
            queries = [await ask(client, text) for text in SENTENCES]
            seconds_of_sound = sound([await speak(client, query) for query in queries])
        file = OUT / "queries.json"
        file.write_text(json.dumps(queries, ensure_ascii=False), encoding="utf-8")
        processes = [stack.enter_context(BareProcess(file, 1)) for _ in range(2)]
        for _ in range(ROUNDS):
            await measure_rate(one, servers[0], queries)
            await measure_rate(two, servers[1], queries)
            bare.append(measure_bare(processes, queries, seconds_of_sound))
    return one, two, bare


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    one, two, bare = asyncio.run(run())
    of_bare = median(rate / ceiling for rate, ceiling in zip(two.rate, bare, strict=True))
    of_one = median(rate / single for rate, single in zip(two.rate, one.rate, strict=True))
    print(f"{this_machine()}; medians of {ROUNDS} interleaved rounds\n")
    rows: list[list[str | float]] = [
        ["1 worker, sound s/s", median(one.rate)],
        ["2 workers, sound s/s", median(two.rate)],
        ["2 bare processes, sound s/s", median(bare)],
        ["2 workers / 2 bare processes, within a round", of_bare],
        ["2 workers / 1 worker, within a round", of_one],
    ]
    print(table(["what", "median"], rows))
    if check and (of_bare < 0.9 or of_one < 1.6):
        sys.exit("too slow")


if __name__ == "__main__":
    main()
