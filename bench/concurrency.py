"""The question's experiment: four syntheses one after another and four at once, over different crews.

`make bench-concurrency` prints the tables of the README and writes bench/out/concurrency.png. With `--check` it fails
where two workers give less than they must; with `--short` it does one round of everything.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from statistics import median

from bench.bare import BareProcess
from bench.client import Query, Spoken, ask, at_once, closed_loop, connect, one_after_another, open_loop, speak
from bench.plot import draw
from bench.report import OUT, percentile, table, this_machine
from bench.texts import SENTENCES
from koegumi import machine
from tests.harness import Server, serving

FOUR = 4


@dataclass
class Crew:
    """A server's shape, and seconds by round."""

    label: str
    workers: int
    threads: int
    device: str = "cpu"
    one: list[float] = field(default_factory=list)
    pair: list[float] = field(default_factory=list)
    in_turn: list[float] = field(default_factory=list)
    at_once: list[float] = field(default_factory=list)
    rate: list[float] = field(default_factory=list)

    @property
    def arguments(self) -> list[str]:
        counts = ["--synthesis-workers", str(self.workers), "--threads", str(self.threads)]
        return [*counts, "--device", self.device]


def crews(cores: int) -> list[Crew]:
    return [
        Crew(f"(a) 1 worker x {cores} threads", 1, cores),
        Crew("(b) 1 worker x 1 thread", 1, 1),
        Crew(f"(c) {cores} workers x 1 thread", cores, 1),
    ]


async def measure(crew: Crew, server: Server, queries: list[Query]) -> None:
    """One round: one alone, two at once, four in turn, four at once, and the rate."""
    async with connect(server.url) as client:
        four = queries[:FOUR]
        crew.one.append((await speak(client, four[0])).latency)
        crew.pair.append((await at_once(client, [four[0], four[0]]))[0])
        crew.in_turn.append((await one_after_another(client, four))[0])
        crew.at_once.append((await at_once(client, four))[0])
    await measure_rate(crew, server, queries)


async def measure_rate(crew: Crew, server: Server, queries: list[Query]) -> None:
    """Seconds of sound a second. Long enough that the end, when one worker has nothing left to do, weighs little."""
    async with connect(server.url) as client:
        seconds, spoken = await closed_loop(client, queries, 2 * crew.workers, 3 * len(queries))
        crew.rate.append(sound(spoken) / seconds)


def measure_bare(processes: list[BareProcess], queries: list[Query], seconds_of_sound: float) -> float:
    """Seconds of sound a second of all bare processes together."""
    for process in processes:
        process.go(len(queries))
    return sum(seconds_of_sound / process.seconds() for process in processes)


def sound(spoken: list[Spoken]) -> float:
    return sum(answer.sound for answer in spoken)


async def load(server: Server, queries: list[Query], rate: float, short: bool) -> str:
    """The closed loops, then the open loop at 70 % of what the closed ones reached."""
    rows: list[list[str | float]] = []
    async with connect(server.url) as client:
        for clients in (1, 2, 4, 8, 16):
            requests = max(8 if short else 16, 2 * clients)
            seconds, spoken = await closed_loop(client, queries, clients, requests)
            latencies = [answer.latency for answer in spoken]
            percentiles = [percentile(latencies, percent) for percent in (50, 95, 99)]
            rows.append([f"{clients} client{'s' * (clients > 1)}, closed loop", sound(spoken) / seconds, *percentiles])
        mean = sound([await speak(client, query) for query in queries]) / len(queries)
        times = arrivals(0.7 * rate / mean, 10.0 if short else 40.0)
        spoken = await open_loop(client, queries, times)
        latencies = [answer.latency for answer in spoken]
        percentiles = [percentile(latencies, percent) for percent in (50, 95, 99)]
        rows.append([f"open loop at 70 %, {len(spoken)} requests", sound(spoken) / times[-1], *percentiles])
    return table(["load", "sound s/s", "p50 s", "p95 s", "p99 s"], rows)


def arrivals(rate: float, seconds: float) -> list[float]:
    """Poisson arrivals, the same in every run."""
    chance = random.Random(1)
    moments = [chance.expovariate(rate)]
    while moments[-1] < seconds:
        moments.append(moments[-1] + chance.expovariate(rate))
    return moments


def verdicts(one: Crew, many: Crew, bare: list[float]) -> dict[str, tuple[float, bool]]:
    """What two workers must give, each a median over rounds of ratios within a round."""
    of_bare = median(rate / ceiling for rate, ceiling in zip(many.rate, bare, strict=True))
    of_one = median(mine / single for mine, single in zip(many.rate, one.rate, strict=True))
    pair = median(two / alone for two, alone in zip(many.pair, many.one, strict=True))
    return {
        "share of the bare processes' rate (at least 0.9)": (of_bare, of_bare >= 0.9),
        "times the rate of one worker (at least 1.6)": (of_one, of_one >= 1.6),
        "two at once / one alone (at most 1.3)": (pair, pair <= 1.3),
    }


async def run(rounds: int, short: bool) -> dict[str, tuple[float, bool]]:
    all_crews = crews(machine.usable_cores())
    OUT.mkdir(exist_ok=True)
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(*crew.arguments)) for crew in all_crews]
        async with connect(servers[0].url) as client:
            queries = [await ask(client, text) for text in SENTENCES]
            seconds_of_sound = sound([await speak(client, query) for query in queries])
        file = OUT / "queries.json"
        file.write_text(json.dumps(queries, ensure_ascii=False), encoding="utf-8")
        processes = [stack.enter_context(BareProcess(file, 1)) for _ in range(all_crews[-1].workers)]
        bare: list[float] = []
        for _ in range(rounds):
            for crew, server in zip(all_crews, servers, strict=True):
                await measure(crew, server, queries)
            bare.append(measure_bare(processes, queries, seconds_of_sound))
        print(f"{this_machine()}; medians of {rounds} interleaved rounds\n")
        print(crew_table(all_crews, bare) + "\n")
        results = verdicts(all_crews[1], all_crews[2], bare)
        print(table(["ratio within a round", "median"], [[name, value] for name, (value, _) in results.items()]) + "\n")
        print(await load(servers[-1], queries, median(all_crews[-1].rate), short))
    draw(all_crews, OUT / "concurrency.png")
    return results


def crew_table(all_crews: list[Crew], bare: list[float] | None = None) -> str:
    head = ["crew", "one s", "two at once s", "four in turn s", "four at once s", "sound s/s"]
    rows: list[list[str | float]] = [
        [crew.label, *map(median, (crew.one, crew.pair, crew.in_turn, crew.at_once, crew.rate))] for crew in all_crews
    ]
    if bare:
        rows.append([f"{all_crews[-1].workers} bare processes, no server", "", "", "", "", median(bare)])
    return table(head, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    results = asyncio.run(run(rounds=1 if options.short else 5, short=options.short))
    if options.check and not all(good for _, good in results.values()):
        sys.exit("too slow: " + ", ".join(name for name, (_, good) in results.items() if not good))


if __name__ == "__main__":
    main()
