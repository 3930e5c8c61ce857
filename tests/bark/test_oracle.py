"""Ours against transformers' BarkModel, live: tokens equal under greedy decoding, sound to 1e-5."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from koegumi.voices.bark import sampling
from koegumi.voices.bark.prepare import prepare
from koegumi.voices.bark.rows import Draw, Sampling, Sentence
from koegumi.voices.interface import Device
from tests.bark.cases import CASES, CHECKPOINTS, KEPT, KEPT_STEP, PROCESSORS, Case, ask_peer, write_checkpoints
from tests.bark.speaking import KeepingEngine, Listener, made, speak

pytestmark = pytest.mark.bark
ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-bark" / "bin" / "python"
EXPECTED = ROOT / "tests" / "data" / "bark_expected.npz"
LOGITS = np.random.default_rng(0).standard_normal((6, 12096), dtype=np.float32) * 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("oracle")
    write_checkpoints(folder, set(CHECKPOINTS))
    for name in CHECKPOINTS:
        prepare(folder / name, folder / f"{name}-prepared", ["fp32"], lambda step: None)
    ask_peer(PYTHON, folder, CASES, LOGITS)
    return folder


def speak_case(folder: Path, case: Case) -> list[Listener]:
    """All rows of the case in one batch."""
    engine = KeepingEngine(folder / f"{case.checkpoint}-prepared", Device(), "fp32", "resident")
    greedy = Sampling(Draw(None), Draw(None), None, case.min_eos_p)
    rows = [
        Listener(Sentence(np.array(row, np.int64), case.voice(), greedy, most_tokens=case.most_tokens))
        for row in case.rows
    ]
    speak(engine, rows)
    return rows


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_tokens_are_equal_and_sound_is_close(folder: Path, case: Case) -> None:
    with np.load(folder / f"{case.name}.npz") as theirs:
        for number, row in enumerate(speak_case(folder, case)):
            check_row(theirs, number, row)


def check_row(theirs: Mapping[str, NDArray[Any]], number: int, row: Listener) -> None:
    semantic, coarse, fine = made(row)
    assert row.wave is not None
    alone = theirs[f"{number}.semantic"].tolist()
    assert semantic and alone[: len(semantic)] == semantic and len(alone) - len(semantic) in (0, 1)
    assert theirs["batch.semantic"][number].tolist()[: len(semantic)] == semantic
    assert theirs[f"{number}.coarse"].tolist() == coarse
    assert theirs["batch.coarse"][number].tolist()[: len(coarse)] == coarse
    assert theirs[f"{number}.fine"].tolist() == fine
    wave = theirs[f"{number}.wave"]
    assert wave.shape == row.wave.shape and np.abs(wave).max() > 0.01
    np.testing.assert_allclose(row.wave, wave, rtol=0, atol=1e-5)
    if len(coarse) == theirs["batch.coarse"].shape[1]:  # the longest row, which no padding stands behind
        assert theirs["batch.fine"][number].tolist() == fine


def test_cases_are_what_they_are_called(folder: Path) -> None:
    lengths = {}
    for case in CASES:
        with np.load(folder / f"{case.name}.npz") as theirs:
            lengths[case.name] = [len(theirs[f"{number}.fine"][0]) for number in range(len(case.rows))]
    assert len(set(lengths["four-ragged"])) > 2 and len(set(lengths["full-ragged"])) > 1
    assert lengths["full-longest"] == [1154]
    assert max(lengths["three-end-early"]) < max(lengths["four-ragged"])


@pytest.mark.parametrize("number", range(len(PROCESSORS)))
def test_processed_probabilities_are_equal(folder: Path, number: int) -> None:
    setting: Any = PROCESSORS[number]
    draw = Draw(setting["temperature"], setting["top_k"], setting["top_p"])
    with np.load(folder / "processors.npz") as theirs:
        for logits, expected in zip(LOGITS, theirs[str(number)], strict=True):
            if setting["stage"] == "semantic":
                allowed = slice(0, 10001)
                if sampling.ends(logits[allowed], 10000, setting["min_eos_p"]):
                    ours = np.eye(1, 10001, 10000, dtype=np.float32)[0]
                else:
                    ours = sampling.probabilities(logits[allowed], draw)
            else:
                allowed = slice(11024, 12096) if setting["step"] else slice(10000, 11024)
                ours = sampling.probabilities(logits[allowed], draw)
            np.testing.assert_allclose(ours, expected[allowed], rtol=0, atol=1e-6)
            assert expected.sum() == pytest.approx(ours.sum(), abs=1e-5)


def test_what_is_kept_for_those_without_torch_is_what_transformers_makes(
    folder: Path, request: pytest.FixtureRequest
) -> None:
    """`--keep-bark` writes it anew."""
    found: dict[str, NDArray[Any]] = {}
    for name in KEPT:
        with np.load(folder / f"{name}.npz") as theirs:
            for key, value in theirs.items():
                if not key.startswith("batch."):
                    found[f"{name}.{key}"] = value[::KEPT_STEP] if key.endswith("wave") else value
    if request.config.getoption("--keep-bark"):
        np.savez_compressed(EXPECTED, allow_pickle=False, **found)
    with np.load(EXPECTED) as kept:
        assert set(kept) == set(found)
        for key, value in found.items():
            np.testing.assert_allclose(kept[key], value, rtol=0, atol=1e-5 if key.endswith("wave") else 0)
