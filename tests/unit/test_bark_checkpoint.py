"""Checkpoints as they lie on disks: both formats, shards, old names; and those that are broken or mean harm."""

from __future__ import annotations

import collections
import io
import json
import os
import pickle
import stat
import sys
import types
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from koegumi.voices.bark.checkpoint import Checkpoint, MissingTensors
from koegumi.voices.bark.prepare import is_prepared, prepare
from koegumi.voices.bark.shape import Shape, read_shape
from tests.bark.tiny import Tiny, tensors, write_safetensors, write_tiny

TINY = Tiny(layers=1, hidden=16)


def quiet(step: str) -> None:
    pass


class _Storage:
    def __init__(self, key: str, kind: type, count: int) -> None:
        self.key, self.kind, self.count = key, kind, count


class _Pickler(pickle.Pickler):
    def persistent_id(self, value: Any) -> Any:
        return ("storage", value.kind, value.key, "cpu", value.count) if isinstance(value, _Storage) else None


def write_bin(path: Path, values: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """As torch.save lays it out; the names it calls are stood in for while it is written."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    storage = type("FloatStorage", (), {"__module__": "torch"})

    def rebuild(*parts: Any) -> Any: ...

    rebuild.__module__, rebuild.__qualname__, rebuild.__name__ = (
        utils.__name__,
        "_rebuild_tensor_v2",
        "_rebuild_tensor_v2",
    )
    torch.FloatStorage, utils._rebuild_tensor_v2 = storage, rebuild  # type: ignore[attr-defined]

    class Tensor:
        def __init__(self, key: str, value: Any) -> None:
            self.parts: tuple[Any, ...] = (
                _Storage(key, storage, value.size),
                0,
                value.shape,
                _strides(value.shape),
                False,
                {},
            )

        def __reduce__(self) -> Any:
            return rebuild, self.parts

    with monkeypatch.context() as patch, zipfile.ZipFile(path, "w") as archive:
        patch.setitem(sys.modules, "torch", torch)
        patch.setitem(sys.modules, "torch._utils", utils)
        text = io.BytesIO()
        state = collections.OrderedDict((name, Tensor(str(n), value)) for n, (name, value) in enumerate(values.items()))
        _Pickler(text, protocol=2).dump(state)
        archive.writestr("pytorch_model/data.pkl", text.getvalue())
        for number, value in enumerate(values.values()):
            archive.writestr(f"pytorch_model/data/{number}", np.ascontiguousarray(value).tobytes())


def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(np.prod(shape[axis + 1 :])) for axis in range(len(shape)))


def test_both_formats_and_shards_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = dict(tensors(TINY))
    whole, pickled, shards = (tmp_path / name for name in ("whole", "pickled", "shards"))
    for folder in (whole, pickled, shards):
        folder.mkdir()
    write_safetensors(whole / "model.safetensors", values)
    write_bin(pickled / "pytorch_model.bin", values, monkeypatch)
    names = list(values)
    for number, part in enumerate((names[::2], names[1::2])):
        write_safetensors(shards / f"part-{number}.safetensors", {name: values[name] for name in part})
    index = {name: f"part-{number % 2}.safetensors" for number, name in enumerate(names)}
    (shards / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    for folder in (whole, pickled, shards):
        checkpoint = Checkpoint(folder)
        for name, value in values.items():
            np.testing.assert_array_equal(checkpoint.get(name), value)


def test_a_pickle_that_calls_something_else_is_not_read(tmp_path: Path) -> None:
    class Harm:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "harm"),)

    with zipfile.ZipFile(tmp_path / "pytorch_model.bin", "w") as archive:
        archive.writestr("pytorch_model/data.pkl", pickle.dumps({"x": Harm()}))
    with pytest.raises(ValueError, match=r"mkdir"):
        Checkpoint(tmp_path)
    assert not (tmp_path / "harm").exists()


def test_a_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    write_safetensors(file, dict(tensors(TINY)))
    whole = file.read_bytes()
    for length in (0, 5, 100, len(whole) - 1):
        file.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"cut off"):
            Checkpoint(tmp_path)


def test_an_index_that_names_other_folders_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "../other.safetensors"}}))
    with pytest.raises(ValueError, match="outside"):
        Checkpoint(tmp_path)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    source = write_tiny(tmp_path / "source", TINY)
    values = dict(tensors(TINY))
    del values["coarse_acoustics.layers.0.mlp.in_proj.weight"]
    write_safetensors(source / "model.safetensors", values)
    with pytest.raises(MissingTensors, match=r"coarse_acoustics\.layers\.0\.mlp\.in_proj\.weight"):
        prepare(source, tmp_path / "target", ["fp32"], quiet)
    (source / "model.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"pytorch_model\.bin"):
        prepare(source, tmp_path / "target", ["fp32"], quiet)
    assert list(tmp_path.iterdir()) == [source]
    (source / "config.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"config\.json"):
        prepare(source, tmp_path / "target", ["fp32"], quiet)


def test_prepared_files_are_whole_and_readable_and_more_precisions_are_added(tmp_path: Path) -> None:
    source, target = write_tiny(tmp_path / "source", TINY), tmp_path / "target"
    mask = os.umask(0o022)
    try:
        prepare(source, target, ["fp32"], quiet)
        assert is_prepared(target, ["fp32"]) and not is_prepared(target, ["fp32", "int8"])
        prepare(source, target, ["fp32", "int8", "fp16"], quiet)
    finally:
        os.umask(mask)
    assert is_prepared(target, ["fp32", "int8", "fp16"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source", "target"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in target.iterdir()} == {0o644}
    assert Shape.load(target / "bark.json") == read_shape(source)


def test_without_generation_config_bark_s_own_numbers_hold(tmp_path: Path) -> None:
    source = write_tiny(tmp_path, TINY)
    (source / "generation_config.json").unlink()
    shape = read_shape(source)
    assert shape.semantic_numbers.most_tokens == 768 and shape.semantic.hidden == 16
    assert shape.ratio == pytest.approx(3.006, abs=1e-4) and shape.hop == 320


def test_another_codec_is_refused(tmp_path: Path) -> None:
    source = write_tiny(tmp_path, TINY)
    config = json.loads((source / "config.json").read_text())
    config["codec_config"]["norm_type"] = "time_group_norm"
    (source / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="norm_type"):
        read_shape(source)
