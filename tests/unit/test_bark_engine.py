"""Rows in continuous batches: each gives the tokens and the sound that it gives alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from koegumi.voices.bark.engine import Engine
from koegumi.voices.bark.prepare import prepare
from koegumi.voices.bark.rows import Draw, Preset, Sampling, Sentence
from koegumi.voices.bark.speech import TookTooLong
from koegumi.voices.interface import Cancelled, Device, VoiceError
from tests.bark.cases import CASES, KEPT, KEPT_STEP, write_checkpoints
from tests.bark.speaking import GREEDY, KeepingEngine, Line, Listener, made, random_preset, speak

EXPECTED = Path(__file__).parents[1] / "data" / "bark_expected.npz"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bark")
    names = {case.checkpoint for case in CASES if case.name in KEPT}
    write_checkpoints(folder, names)
    for name in names:
        prepare(folder / name, folder / f"{name}-prepared", ["fp32", "fp16", "int8"], lambda step: None)
    return folder


def open_engine(folder: Path, checkpoint: str = "endless", **options: Any) -> Engine:
    settings: dict[str, Any] = {"precision": "fp32", "offload": "resident", "width": 8, **options}
    return KeepingEngine(folder / f"{checkpoint}-prepared", Device(), **settings)


def mixed_rows() -> list[Listener]:
    """Presets, lengths, seeds and settings all different."""
    rows = []
    for number in range(8):
        preset = random_preset(number, 20 + 9 * number, 30 + 14 * number, 90, 32) if number % 3 else None
        draw = Draw(0.5 + number / 10, None if number % 2 else 20, 0.9 if number % 4 == 1 else None)
        sampling = Sampling(draw, draw, 0.4 if number % 2 else None, None)
        text = np.arange(number, 3 * number + 1) % 90
        rows.append(Listener(Sentence(text, preset, sampling, seed=number, most_tokens=8 + 8 * number)))
    return rows


def alone(engine: Engine, row: Listener) -> Listener:
    again = Listener(row.sentence)
    speak(engine, [again])
    return again


def check_alone(engine: Engine, rows: Sequence[Listener]) -> None:
    for row in rows:
        again = alone(engine, row)
        assert made(row) == made(again)
        assert row.wave is not None and again.wave is not None
        np.testing.assert_allclose(row.wave, again.wave, rtol=0, atol=1e-5)


@pytest.mark.parametrize("offload", ["resident", "stage"])
@pytest.mark.parametrize("name", KEPT)
def test_tokens_are_those_of_transformers(folder: Path, name: str, offload: str) -> None:
    case = next(case for case in CASES if case.name == name)
    greedy = Sampling(Draw(None), Draw(None), None, case.min_eos_p)
    rows = [Listener(Sentence(np.array(row), case.voice(), greedy)) for row in case.rows]
    speak(open_engine(folder, case.checkpoint, offload=offload), rows)
    with np.load(EXPECTED) as expected:
        for number, row in enumerate(rows):
            semantic, coarse, fine = made(row)
            assert row.wave is not None
            assert expected[f"{name}.{number}.semantic"].tolist()[: len(semantic)] == semantic
            assert expected[f"{name}.{number}.coarse"].tolist() == coarse
            assert expected[f"{name}.{number}.fine"].tolist() == fine
            np.testing.assert_allclose(row.wave[::KEPT_STEP], expected[f"{name}.{number}.wave"], rtol=0, atol=1e-5)


def test_a_row_among_eight_is_as_it_is_alone(folder: Path) -> None:
    engine, rows = open_engine(folder), mixed_rows()
    speak(engine, rows)
    assert len({len(made(row)[0]) for row in rows}) > 4
    check_alone(engine, rows)


@pytest.mark.parametrize("together", [1, 2])
def test_short_windows_change_the_details_of_short_sentences_only(folder: Path, together: int) -> None:
    """What the fine model fills in; and a row is still as it is alone, beside rows of other lengths."""
    rows, again = mixed_rows(), mixed_rows()
    speak(open_engine(folder), rows)
    engine = open_engine(folder, fine_window="short")
    engine._fine._together = together
    speak(engine, again)
    window = engine._models.shape.fine_numbers.window
    lengths = set()
    for full, short in zip(rows, again, strict=True):
        (semantic, coarse, codes), changed = made(full), made(short)
        assert changed[:2] == (semantic, coarse) and changed[2][:2] == codes[:2]
        assert full.wave is not None and short.wave is not None and len(full.wave) == len(short.wave)
        preset = full.sentence.preset
        length = len(codes[0]) + (min(32, preset.fine.shape[1]) if preset else 0)
        lengths.add(length >= window)
        assert (changed[2] == codes) == (length >= window)
    assert lengths == {True, False}
    check_alone(engine, again)


@pytest.mark.parametrize("offload", ["resident", "stage"])
def test_rows_join_while_others_speak(folder: Path, offload: str) -> None:
    """Three places for eight rows, five of which come later, at different times."""
    engine, rows = open_engine(folder, width=3, offload=offload), mixed_rows()
    later = [(3 + 6 * number, row) for number, row in enumerate(rows[3:])]
    speak(engine, rows[:3], later)
    check_alone(engine, rows)


def test_where_rows_cannot_move_places_stay_empty(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("koegumi.voices.bark.buffers.HostBuffer.move", lambda *_: False)
    engine, rows = open_engine(folder, width=4), mixed_rows()
    speak(engine, rows)
    check_alone(engine, rows)


def test_one_that_leaves_or_fails_leaves_the_others_as_they_are(folder: Path) -> None:
    engine, rows = open_engine(folder), mixed_rows()
    checks = iter(range(10**6))

    def leave() -> None:
        if next(checks) > 6:
            raise Cancelled

    def fail() -> None:
        if next(checks) > 30:
            raise OSError("gone")

    rows[2].on_check, rows[5].on_check = leave, fail
    engine.speak(Line(rows))
    assert rows[2].wave is None and rows[2].error is None
    assert isinstance(rows[5].error, OSError) and rows[5].wave is None
    check_alone(engine, [row for number, row in enumerate(rows) if number not in (2, 5)])


def test_limits_of_tokens_and_time(folder: Path) -> None:
    engine = open_engine(folder, most_tokens=12)
    rows = [Listener(Sentence(np.arange(3), sampling=GREEDY, most_tokens=most)) for most in (None, 5, 0)]
    late = Listener(Sentence(np.arange(3), sampling=GREEDY, most_seconds=0.0))
    engine.speak(Line([*rows, late]))
    assert [len(made(row)[0]) for row in rows] == [12, 5, 0]
    assert rows[2].wave is not None and len(rows[2].wave) == 0
    assert isinstance(late.error, TookTooLong)


def test_seeds_decide(folder: Path) -> None:
    engine = open_engine(folder)
    rows = [Listener(Sentence(np.arange(3), seed=seed, most_tokens=20)) for seed in (1, 1, 2)]
    speak(engine, rows)
    assert made(rows[0]) == made(rows[1]) != made(rows[2])


def test_progress_goes_through_the_stages(folder: Path) -> None:
    row = Listener(Sentence(np.arange(3), sampling=GREEDY))
    speak(open_engine(folder), [row])
    assert list(dict.fromkeys(stage for stage, _ in row.told)) == ["semantic", "coarse", "fine", "codec"]
    for stage in ("semantic", "coarse", "fine", "codec"):
        shares = [share for told, share in row.told if told == stage]
        assert shares == sorted(shares) and shares[-1] == 1.0


@pytest.mark.parametrize(
    "sentence",
    [
        Sentence(np.array([9999])),
        Sentence(np.array([-1])),
        Sentence(np.arange(3), Preset(np.array([90]), np.zeros((2, 4), np.int64), np.zeros((8, 4), np.int64))),
        Sentence(np.arange(3), Preset(np.array([1]), np.zeros((3, 4), np.int64), np.zeros((8, 4), np.int64))),
        Sentence(np.arange(3), Preset(np.array([1]), np.zeros((2, 4), np.int64), np.full((8, 4), 32))),
    ],
)
def test_what_the_models_do_not_know_is_refused(folder: Path, sentence: Sentence) -> None:
    bad, good = Listener(sentence), Listener(Sentence(np.arange(3), sampling=GREEDY, most_tokens=3))
    open_engine(folder).speak(Line([bad, good]))
    assert isinstance(bad.error, VoiceError) and good.wave is not None


def test_eight_bits_speak_too(folder: Path) -> None:
    rows = mixed_rows()
    speak(open_engine(folder, precision="int8", offload="stage"), rows)
    assert all(row.wave is not None and np.isfinite(row.wave).all() and len(row.wave) for row in rows)


def test_half_precision_makes_the_same_tokens(folder: Path) -> None:
    """The graphs for CUDA also run on a CPU, slowly: what they compute is checked here."""
    found = []
    for precision in ("fp32", "fp16"):
        rows = [Listener(Sentence(np.arange(3) + number, sampling=GREEDY)) for number in range(3)]
        speak(open_engine(folder, "plain", precision=precision), rows)
        found.append([made(row)[0] for row in rows])
    assert found[0] == found[1] and max(map(len, found[0])) > 20


def test_auto_keeps_all_where_they_fit(folder: Path) -> None:
    assert open_engine(folder, offload="auto", memory=10**9).offload == "resident"
    assert open_engine(folder, offload="auto", memory=10**5).offload == "stage"
