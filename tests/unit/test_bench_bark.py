"""What the bench compares with says the same as what ships: otherwise their times would mean nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.bark_naive import NaiveEngine, write_naive
from koegumi.voices.bark.checkpoint import Checkpoint
from koegumi.voices.bark.engine import Engine
from koegumi.voices.bark.prepare import prepare
from koegumi.voices.bark.rows import Sentence
from koegumi.voices.bark.shape import read_shape
from koegumi.voices.interface import Device
from tests.bark.speaking import GREEDY, Listener, speak
from tests.bark.tiny import Tiny, write_tiny


def test_the_naive_graphs_give_the_same_sound(tmp_path: Path) -> None:
    source = write_tiny(tmp_path / "source", Tiny(seed=5))
    prepare(source, tmp_path / "fused", ("fp32",), lambda step: None)
    shutil.copytree(tmp_path / "fused", tmp_path / "naive")
    write_naive(Checkpoint(source), read_shape(source), tmp_path / "naive", "fp32")
    heard: list[NDArray[np.float32]] = []
    for kind, folder in ((Engine, "fused"), (NaiveEngine, "naive")):
        rows = [Listener(Sentence(np.arange(3 * n, 3 * n + 9), None, GREEDY, n, 40)) for n in range(3)]
        speak(kind(tmp_path / folder, Device(), "fp32", "resident", 3), rows)
        heard.append(np.stack([row.wave for row in rows if row.wave is not None]))
    assert heard[0].shape[1] > 0
    np.testing.assert_allclose(heard[0], heard[1], atol=1e-5)
