"""Presets from strangers: names stay inside the folder, tokens are tokens, no pickle is read; ids are for good."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from koegumi import cli
from koegumi.voices.bark import FAMILY
from koegumi.voices.bark.prepared import give_style_ids
from koegumi.voices.bark.presets import INDEX, PARTS, check_name, find_presets, load_preset, read_preset, write_preset
from koegumi.voices.interface import NotPrepared, Places
from tests.little_bark import write_model
from tests.little_bark import write_preset as write_files

BAD_NAMES = [
    "../../x",
    "/etc/passwd",
    "a/../b",
    "..",
    ".",
    "",
    "a//b",
    "a/",
    "v2/.hidden",
    "a\\b",
    "a b",
    "a\0b",
    "x" * 101,
]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_is_none(name: str) -> None:
    with pytest.raises(ValueError, match="is no name for a preset"):
        check_name(name)


def test_one_file_or_three_of_a_folder_or_of_its_index(tmp_path: Path) -> None:
    write_files(tmp_path, "v2/en_speaker_0", 0)
    write_files(tmp_path, "announcer", 1, as_one=True)
    (tmp_path / "speaker_embeddings").rename(tmp_path / "speaker_embeddings2")
    parts = {f"{part}_prompt": f"speaker_embeddings2/v2/en_speaker_0_{part}_prompt.npy" for part in PARTS}
    absent = {f"{part}_prompt": f"nowhere/{part}.npy" for part in PARTS}
    index: dict[str, Any] = {"repo_or_path": "suno/bark", "v2/en_speaker_0": parts, "v2/en_speaker_1": absent}
    (tmp_path / INDEX).write_text(json.dumps(index))
    assert [source.name for source in find_presets(tmp_path)] == ["v2/en_speaker_0"]
    (tmp_path / "speaker_embeddings2").rename(tmp_path / "speaker_embeddings")
    (tmp_path / INDEX).unlink()
    sources = find_presets(tmp_path)
    assert [source.name for source in sources] == ["announcer", "v2/en_speaker_0"]
    for source in sources:
        preset = read_preset(source)
        assert [preset.semantic.shape, preset.coarse.shape, preset.fine.shape] == [(12,), (2, 18), (8, 18)]
        write_preset(preset, tmp_path / "kept.npz")
        kept = load_preset(tmp_path / "kept.npz")
        assert all(np.array_equal(getattr(kept, part), getattr(preset, part)) for part in PARTS)


@pytest.mark.parametrize(
    ("name", "file"), [("../../x", "x.npy"), ("x", "../../x.npy"), ("x", "/etc/passwd"), ("x/../../y", "x.npy")]
)
def test_an_index_that_leads_out_is_refused(tmp_path: Path, name: str, file: str) -> None:
    (tmp_path / INDEX).write_text(json.dumps({name: {f"{part}_prompt": file for part in PARTS}}))
    with pytest.raises(ValueError, match=r"is no name for a preset|is not inside the model's folder"):
        find_presets(tmp_path)


def write_part(folder: Path, part: str, array: Any) -> None:
    np.save(folder / "speaker_embeddings" / f"x_{part}_prompt.npy", array, allow_pickle=True)


@pytest.mark.parametrize(
    ("part", "array"),
    [
        ("semantic", np.zeros((2, 3), np.int64)),
        ("semantic", np.array([10_000])),
        ("semantic", np.zeros(0, np.int64)),
        ("semantic", np.zeros(4, np.float32)),
        ("semantic", np.array([{"a": 1}])),
        ("coarse", np.full((2, 18), -1)),
        ("coarse", np.zeros((3, 18), np.int64)),
        ("fine", np.zeros((8, 17), np.int64)),
        ("fine", np.full((8, 18), 1024)),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value.dtype}{value.shape}",
)
def test_what_are_no_tokens_is_refused_by_the_preset_s_name(tmp_path: Path, part: str, array: Any) -> None:
    write_files(tmp_path, "x", 0)
    write_part(tmp_path, part, array)
    (source,) = find_presets(tmp_path)
    with pytest.raises(ValueError, match="the preset x "):
        read_preset(source)


def test_a_part_that_is_missing(tmp_path: Path) -> None:
    write_files(tmp_path, "x", 0)
    (tmp_path / "speaker_embeddings" / "x_fine_prompt.npy").unlink()
    with pytest.raises(ValueError, match=r"the preset x has no x_fine_prompt\.npy"):
        find_presets(tmp_path)


def test_ids_are_given_once_and_for_good(tmp_path: Path) -> None:
    assert give_style_ids(tmp_path, ["", "b", "c"]) == {"": 1000, "b": 1001, "c": 1002}
    assert give_style_ids(tmp_path, ["", "c"]) == {"": 1000, "c": 1002}
    assert give_style_ids(tmp_path, ["", "a", "c", "d"]) == {"": 1000, "a": 1003, "c": 1002, "d": 1004}
    assert give_style_ids(tmp_path, ["b"]) == {"b": 1001}
    (tmp_path / "style_ids.json").write_text('{"a": 1000, "b": 1000}')
    with pytest.raises(ValueError, match=r"style_ids\.json"):
        give_style_ids(tmp_path, ["a"])


def prepare(source: Path, cache: Path) -> int:
    with pytest.raises(SystemExit) as end:
        cli.main(["prepare", "--bark", str(source), "--cache-dir", str(cache)])
    return int(end.value.code or 0)


def styles(cache: Path) -> dict[str, int]:
    (speaker,) = FAMILY.find(Places(cache))
    return {style.name: style.id for style in speaker.styles}


def test_prepared_again_with_other_presets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, cache = write_model(tmp_path / "model", ("b",)), tmp_path / "cache"
    assert prepare(source, cache) == 0
    assert styles(cache) == {"no preset": 1000, "b": 1001}
    assert "Bark: writing" in capsys.readouterr().err
    assert prepare(source, cache) == 0
    assert capsys.readouterr().err == ""  # nothing to do
    write_files(source, "a", 3)
    assert prepare(source, cache) == 0
    assert styles(cache) == {"no preset": 1000, "a": 1002, "b": 1001}


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        ("config.json", None, "config.json"),
        ("config.json", "{", "config.json"),
        ("model.safetensors", None, "model.safetensors"),
        ("vocab.txt", None, "no tokenizer.json and no vocab.txt"),
        ("tokenizer.json", "{}", "is no tokenizer"),
        (INDEX, '{"../../x": {"semantic_prompt": "", "coarse_prompt": "", "fine_prompt": ""}}', "'../../x' is no name"),
        ("speaker_embeddings/b_fine_prompt.npy", "no array", "the preset b cannot be read"),
    ],
)
def test_a_folder_that_lacks_something_is_said_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str, content: str | None, sentence: str
) -> None:
    source, cache = write_model(tmp_path / "model", ("b",)), tmp_path / "cache"
    if content is None:
        (source / file).unlink()
    else:
        (source / file).write_text(content)
    assert prepare(source, cache) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("koegumi: bark cannot be prepared: ")
    assert sentence in said
    with pytest.raises(NotPrepared):
        FAMILY.find(Places(cache))
    assert [path.name for path in (cache / "bark").glob("new-*")] == []
