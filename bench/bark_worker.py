"""One measurement of Bark in a process of its own: `python -m bench.bark_worker JSON` prints a line of JSON.

Seconds are of the CPU (on a GPU: of the clock), memory is the most that was resident at any time.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bench.bark_naive import NaiveEngine, NaiveModels, write_products
from koegumi.voices.bark.batch import Batch
from koegumi.voices.bark.engine import Engine
from koegumi.voices.bark.models import Models, open_graph
from koegumi.voices.bark.rows import SAMPLING_RATE, Draw, Sampling, Sentence
from koegumi.voices.bark.semantic import SemanticSequence
from koegumi.voices.bark.speech import Speech, begin
from koegumi.voices.bark.stack import HIDDEN
from koegumi.voices.interface import Device
from tests.bark.speaking import Line, Listener

WORDS = np.arange(1000, 1024)  # a sentence: what the tokens are does not matter, and 256 are always fed
# As Suno's own code draws, but a sentence has the length that is asked for.
SAMPLING = Sampling(Draw(0.7), Draw(0.7), 0.5, None)


def main(task: dict[str, Any]) -> dict[str, Any]:
    works = {"nothing": nothing, "speak": speak, "steps": steps, "decode": decode, "products": products}
    return works[task["do"]](task)


def nothing(task: dict[str, Any]) -> dict[str, Any]:
    """A worker without a model."""
    return {"megabytes": peak()}


def speak(task: dict[str, Any]) -> dict[str, Any]:
    """`rows` sentences together, each of `tokens` semantic tokens, after a short one."""
    engine = _engine(task)
    engine.speak(Line(_sentences(1, 2)))
    rows = _sentences(task["rows"], task["tokens"])
    taken = _timed(task, partial(engine.speak, Line(rows)))
    for row in rows:
        if row.error is not None:
            raise row.error
    seconds = sum(len(row.wave) for row in rows if row.wave is not None) / SAMPLING_RATE
    return {"taken": taken, "megabytes": peak(), "seconds": seconds}


def steps(task: dict[str, Any]) -> dict[str, Any]:
    """Steps of the coarse model at a context, one of the fused and one of the naive graph in turn: seconds of each."""
    device, rows, context = _device(task), task["rows"], task["context"]
    folder = Path(task["folder"])
    fused = Models(folder / "fused", device, task["precision"], True, rows, None).use("coarse")
    naive = NaiveModels(folder / "naive", device, task["precision"], True, rows, None).use("coarse")
    naive._state = naive.nothing(rows, context)
    size = fused._stack.hidden
    hidden = np.random.default_rng(1).standard_normal((rows, 1, size), np.float32)
    for place in range(rows):  # so that its memory is the process's own
        fused.run(place, np.zeros((1, context, size), np.float32), np.array([context]))
    times: dict[str, list[float]] = {"fused": [], "naive": []}
    for number in range(task["count"]):
        lengths = np.full(rows, context + 1 + number)
        for name, model in (("fused", fused), ("naive", naive)):
            times[name].append(_timed(task, partial(model.run, 0, hidden, lengths)))
    return times


def decode(task: dict[str, Any]) -> dict[str, Any]:
    """Semantic tokens for each second, drawn as a sentence draws them, after the prompts: 1 row and 8 in turn."""
    models = Models(Path(task["folder"]) / "fused", _device(task), task["precision"], True, 8, None)
    causal = models.use("semantic")
    rates: dict[str, list[float]] = {"1": [], "8": []}
    for _ in range(task["count"]):
        for rows in (1, 8):
            batch = Batch(rows)
            for row in _sentences(rows, task["tokens"]):
                batch.add(SemanticSequence(begin(row, models.shape), models.shape, models.semantic_embeddings, None))
            for _ in range(rows):
                batch.step(causal)
            done: list[Speech] = []
            seconds = _timed(task, partial(_run_out, batch, causal, done))
            rates[str(rows)].append(sum(len(speech.semantic) - 1 for speech in done) / seconds)
    return rates


def products(task: dict[str, Any]) -> dict[str, Any]:
    """The products of one transformer's layers with their weights and nothing else: seconds for so many positions."""
    stack = Models(Path(task["folder"]) / "fused", _device(task), "fp32", True, 1, None).shape.fine
    with TemporaryDirectory() as folder:
        path = Path(folder) / "products.onnx"
        write_products(path, stack)
        session = open_graph(path, _device(task))
    taken = {}
    for positions in (1, stack.positions):
        hidden = {HIDDEN: np.ones((positions, stack.hidden), np.float32)}
        times = [_timed(task, partial(session.run, None, hidden)) for _ in range(task["count"] + 1)]
        taken[str(positions)] = median(times[1:])
    return taken


def _run_out(batch: Batch, causal: Any, done: list[Speech]) -> None:
    while len(batch):
        done.extend(batch.step(causal))


def peak() -> float:
    """MB; of this program alone, which `getrusage` is not after an exec."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def _device(task: dict[str, Any]) -> Device:
    return Device(task["device"], task["threads"])


def _engine(task: dict[str, Any]) -> Engine:
    kind, folder = (NaiveEngine, "naive") if task["naive"] else (Engine, "fused")
    path = Path(task["folder"]) / folder
    return kind(
        path,
        _device(task),
        task["precision"],
        task["offload"],
        task["rows"],
        most_tokens=task["tokens"],
        fine_window=task["fine_window"],
    )


def _sentences(rows: int, tokens: int) -> list[Listener]:
    return [Listener(Sentence(WORDS, None, SAMPLING, seed, tokens)) for seed in range(rows)]


def _timed(task: dict[str, Any], work: Callable[[], Any]) -> float:
    clock = time.process_time if task["device"] == "cpu" else time.perf_counter
    started = clock()
    work()
    return clock() - started


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
