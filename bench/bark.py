"""The tables of Hugging Face's article on Bark, with our optimisations: `make bench-bark`.

Latency is CPU seconds for one batch (on a GPU: seconds of the clock) of sentences with a fixed number of semantic
tokens; memory is a worker's most less that of a worker without a model (on a GPU: of the GPU's). Every figure is of a
process of its own; rounds are interleaved, and medians shown. The weights are random: time does not depend on them.
transformers is measured where its environment is (`make test-bark` makes it). `--check` fails where the small shape on
the CPU is slower or larger than it has to be.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bench import bark_model, bark_plot
from bench.bark_run import Runner
from bench.report import OUT, table, this_machine

SHORT, LONG = 64, 200  # semantic tokens: 1.28 s and 4 s of sound


@dataclass
class Row:
    """One line of a table: what is measured, and what was."""

    label: str
    naive: bool = False
    precision: str = "fp32"
    offload: str = "resident"
    fine_window: str = "full"
    peer: bool = False
    seconds: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)

    @property
    def latency(self) -> float:
        return median(self.seconds)

    @property
    def memory(self) -> float:
        return median(self.megabytes)

    def measure(self, runner: Runner, rows: int, tokens: int) -> None:
        what = {
            "naive": self.naive,
            "precision": self.precision,
            "offload": self.offload,
            "fine_window": self.fine_window,
        }
        result = (
            runner.peer("speak", rows=rows, tokens=tokens)
            if self.peer
            else runner.ours("speak", rows=rows, tokens=tokens, **what)
        )
        self.seconds.append(result["taken"])
        self.megabytes.append(result["megabytes"])
        print(f"  {rows} x {tokens}, {self.label}: {self.seconds[-1]:.1f} s, {self.megabytes[-1]:.0f} MB", flush=True)


def single_rows(runner: Runner) -> list[Row]:
    """The article's optimisations, one after another."""
    if runner.device == "cuda":
        return [
            Row("naive graph, fp32", naive=True),
            Row("naive graph, fp16", naive=True, precision="fp16"),
            Row("fused attention, fp16", precision="fp16"),
            Row("fused attention, fp16, offload", precision="fp16", offload="stage"),
        ]
    rows = [
        Row("naive graph", naive=True),
        Row("fused attention"),
        Row("fused attention, offload", offload="stage"),
        Row("fused attention, int8", precision="int8"),
        Row("fused attention, int8, offload", precision="int8", offload="stage"),
        Row("fused attention, short windows", fine_window="short"),
        Row("fused attention, int8, short windows", precision="int8", fine_window="short"),
    ]
    return [Row("transformers", peer=True), *rows] if runner.has_peer else rows


def batch_rows(runner: Runner) -> list[Row]:
    if runner.device == "cuda":
        return single_rows(runner)
    return [
        Row("fused attention"),
        Row("fused attention, int8", precision="int8"),
        Row("fused attention, offload", offload="stage"),
        Row("fused attention, int8, offload", precision="int8", offload="stage"),
    ]


def run(rows: list[Row], runner: Runner, batch: int, tokens: int, rounds: int) -> list[Row]:
    for _ in range(rounds):
        for row in rows:
            row.measure(runner, batch, tokens)
    return rows


def show(title: str, rows: list[Row], batch: int) -> None:
    first = rows[0]
    lines = [
        [
            row.label,
            f"{row.latency:.2f}",
            f"{row.memory:.0f}",
            *([f"{batch / row.latency:.3f}"] if batch > 1 else []),
            f"{100 * (row.latency / first.latency - 1):+.0f} %",
            f"{100 * (row.memory / first.memory - 1):+.0f} %",
        ]
        for row in rows
    ]
    throughput = ["sentences/s"] if batch > 1 else []
    print(f"\n{title}\n")
    print(table(["", "latency, s", "memory, MB", *throughput, "latency", "memory"], lines), flush=True)


class Limits:
    """What has to be, and whether it is."""

    def __init__(self) -> None:
        self.missed = 0

    def least(self, what: str, value: float, limit: float) -> None:
        self.missed += value < limit
        print(f"{'ok ' if value >= limit else 'NOT'} {what}: {value:.2f} (at least {limit:.2f})")


def small_on_cpu(runner: Runner, single: list[Row], rounds: int) -> Limits:
    """The figures that have limits."""
    by_label = {row.label: row for row in single}
    fused = by_label["fused attention"]
    long = run(
        [Row("resident"), Row("stage", offload="stage"), Row("int8, stage", precision="int8", offload="stage")],
        runner,
        1,
        LONG,
        rounds,
    )
    show(f"One sentence of {LONG} tokens (4 s)", long, 1)
    steps = runner.ours("steps", precision="fp32", rows=8, context=512, count=21)
    rates = runner.ours("decode", precision="fp32", tokens=SHORT, count=rounds)
    print()
    limits = Limits()
    limits.least(
        "a step at batch 8 and context 512, naive / fused", median(steps["naive"]) / median(steps["fused"]), 1.25
    )
    if "transformers" in by_label:
        theirs = by_label["transformers"].latency
        for label, least in (("fused attention", 2.5), ("fused attention, int8", 5)):
            for name in (label, f"{label}, short windows"):
                limits.least(f"transformers / {name}", theirs / by_label[name].latency, least)
    resident, stage, smallest = long
    limits.least("memory that one model at a time saves", 1 - stage.memory / resident.memory, 0.6)
    limits.least("time of resident / time of stage", resident.latency / stage.latency, 1 / 1.15)
    limits.least("memory that int8 with stage saves", 1 - smallest.memory / resident.memory, 0.8)
    limits.least("tokens a second, batch 8 / batch 1", median(rates["8"]) / median(rates["1"]), 3)
    products = runner.ours("products", count=5)
    alone, window = products["1"], max(products.values())
    least = 6 * window + (SHORT + 3 * SHORT) * alone
    print(
        f"the products with the weights alone: {1000 * alone:.1f} ms for a token, {window:.2f} s for a window of the "
        f"fine model, and so {least:.1f} s of the {fused.latency:.1f} s of one sentence"
    )
    print(f"tokens a second: {median(rates['1']):.0f} alone, {median(rates['8']):.0f} in a batch of 8")
    return limits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=list(bark_model.SHAPES), default="small")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--folder", type=Path, default=OUT / "bark", help="where the models are made, several GB")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--tokens", type=int, default=SHORT)
    parser.add_argument("--rounds", type=int, default=3, help="of one sentence; a batch has one round")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    runner = Runner(given.folder, given.shape, given.device, given.threads)
    print(f"{this_machine()}; {given.shape} shape, {given.device}, {given.threads} thread(s); {runner.about()}\n")
    tables: dict[int, list[Row]] = {}
    for batch in given.batches:
        rows = single_rows(runner) if batch == 1 else batch_rows(runner)
        tables[batch] = run(rows, runner, batch, given.tokens, given.rounds if batch == 1 else 1)
        show(f"{batch} x {given.tokens} semantic tokens", tables[batch], batch)
    name = f"bark-{given.shape}-{given.device}.png"
    bark_plot.draw([(f"{batch} at once", rows) for batch, rows in tables.items()], OUT / name)
    print(f"\n{name} is in {OUT}; attention: {', '.join(sorted(runner.kernels)) or 'the only one of the CPU'}")
    if given.shape == "small" and given.device == "cpu" and 1 in tables and given.check:
        sys.exit(1 if small_on_cpu(runner, tables[1], given.rounds).missed else 0)


if __name__ == "__main__":
    main()
