"""Preparing: whole or not at all, once among processes; and the decoder without integer products."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper

from koegumi.voices.interface import Device, NotPrepared, Places
from koegumi.voices.kokoro import FAMILY, graph, prepare
from koegumi.voices.kokoro.packages import Packages
from koegumi.voices.kokoro.prepared import Prepared, find_prepared
from koegumi.voices.sessions import session_options


@pytest.fixture
def packages(tmp_path: Path) -> Packages:
    parts = [tmp_path / f"part{number}" for number in range(3)]
    for part in parts:
        part.write_bytes(part.name.encode() * 1000)
    whole = b"".join(part.read_bytes() for part in parts)
    return Packages(tmp_path / "vocab", tmp_path / "voices", hashlib.sha256(whole).hexdigest(), tuple(parts))


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "cache")


class Builder:
    """Stands for the long work; counts how often it is done."""

    def __init__(self) -> None:
        self.built = 0

    def __call__(self, packages: Packages, folder: Path, name: str, progress: object) -> None:
        self.built += 1
        (folder / name).mkdir()
        Prepared(folder / name).decoder("cpu").touch()


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch, packages: Packages) -> Builder:
    builder = Builder()
    monkeypatch.setattr(prepare, "find_packages", lambda: packages)
    monkeypatch.setattr(prepare, "_build", builder)
    monkeypatch.setattr(prepare, "pack", lambda source, target: target.touch())
    return builder


def quiet(step: str) -> None:
    """No bar."""


def test_parts_are_joined_in_order_and_checked(packages: Packages, tmp_path: Path) -> None:
    target = tmp_path / "model"
    packages.join(target)
    assert target.read_bytes() == b"part0" * 1000 + b"part1" * 1000 + b"part2" * 1000
    packages.parts[1].write_bytes(b"broken")
    with pytest.raises(ValueError, match="hash"):
        packages.join(target)


def test_what_is_not_prepared_says_how_to(places: Places) -> None:
    with pytest.raises(NotPrepared, match="run `koegumi prepare`"):
        FAMILY.find(places)


def test_the_work_is_done_once(places: Places, builder: Builder) -> None:
    threads = [threading.Thread(target=prepare.prepare, args=(places, "cpu", quiet)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    prepare.prepare(places, "cpu", quiet)
    assert builder.built == 1
    assert find_prepared(places).decoder("cpu").is_file()


def test_what_is_done_needs_no_write(places: Places, builder: Builder) -> None:
    prepare.prepare(places, "cpu", quiet)
    (places.cache_dir / "kokoro" / "lock").unlink()
    prepare.prepare(places, "cpu", quiet)
    assert not (places.cache_dir / "kokoro" / "lock").exists()


def test_what_a_killed_process_left_is_swept(places: Places, builder: Builder) -> None:
    left = places.cache_dir / "kokoro" / "new-abc"
    left.mkdir(parents=True)
    prepare.prepare(places, "cpu", quiet)
    assert not left.exists()


def test_a_wrong_model_leaves_nothing_to_find(
    monkeypatch: pytest.MonkeyPatch, packages: Packages, places: Places
) -> None:
    monkeypatch.setattr(prepare, "find_packages", lambda: packages)
    packages.parts[0].write_bytes(b"broken")
    with pytest.raises(ValueError, match="hash"):
        prepare.prepare(places, "cpu", quiet)
    with pytest.raises(NotPrepared):
        find_prepared(places)


def quantised_model(path: Path) -> None:
    """A convolution with a bias and a product without, quantised as in Kokoro's decoder."""
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["xq", "xs", "xz"]),
        helper.make_node("ConvInteger", ["xq", "cw", "xz", "cz"], ["ci"], name="conv", kernel_shape=[3], pads=[1, 1]),
        helper.make_node("Mul", ["xs", "cs"], ["cscale"]),
        helper.make_node("Div", ["bias", "cscale"], ["b1"]),
        helper.make_node("Floor", ["b1"], ["b2"]),
        helper.make_node("Cast", ["b2"], ["b3"], to=TensorProto.INT32),
        helper.make_node("Reshape", ["b3", "shape"], ["b4"]),
        helper.make_node("Add", ["ci", "b4"], ["cb"]),
        helper.make_node("Cast", ["cb"], ["cf"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["cf", "cscale"], ["h"]),
        helper.make_node("DynamicQuantizeLinear", ["h"], ["hq", "hs", "hz"]),
        helper.make_node("MatMulInteger", ["hq", "mw", "hz", "mz"], ["mi"], name="product"),
        helper.make_node("Cast", ["mi"], ["mf"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["hs", "ms"], ["mscale"]),
        helper.make_node("Mul", ["mf", "mscale"], ["y"]),
    ]
    random = np.random.default_rng(3)
    values: dict[str, NDArray[Any]] = {
        "cw": random.integers(0, 255, (4, 2, 3)).astype(np.uint8),
        "cz": np.array(120, np.uint8),
        "cs": np.array(0.01, np.float32),
        "bias": random.normal(size=4).astype(np.float32),
        "shape": np.array([1, -1, 1], np.int64),
        "mw": random.integers(-127, 127, (16, 5)).astype(np.int8),
        "mz": np.array(0, np.int8),
        "ms": np.array(0.02, np.float32),
    }
    model = helper.make_graph(
        nodes,
        "quantised",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 5])],
        [onnx.numpy_helper.from_array(value, name) for name, value in values.items()],
    )
    onnx.save(helper.make_model(model, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)


def test_the_float_decoder_computes_the_same_without_integers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(graph._PARTS, "decoder", (["x"], ["y"]))
    integer, floating = tmp_path / "integer.onnx", tmp_path / "float.onnx"
    quantised_model(integer)
    graph.write_float_decoder(integer, floating)
    assert [node.op_type for node in onnx.load(floating).graph.node] == ["Conv", "MatMul"]
    x = np.random.default_rng(4).normal(size=(1, 2, 16)).astype(np.float32)
    one, other = (
        ort.InferenceSession(path, session_options(Device()), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
        for path in (integer, floating)
    )
    assert np.abs(one - other).max() < 0.02 * np.abs(one).max()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["float.onnx", "integer.onnx"]
