"""Providers and options by their values, and the proof that a device is used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from koegumi.voices import sessions
from koegumi.voices.interface import Device
from koegumi.voices.sessions import DeviceNotUsed


@pytest.fixture
def convolution(tmp_path: Path) -> Path:
    """A model of one convolution."""
    node = helper.make_node("Conv", ["x", "w"], ["y"], kernel_shape=[3])
    graph = helper.make_graph(
        [node],
        "convolution",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, "n"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, "m"])],
        [helper.make_tensor("w", TensorProto.FLOAT, [1, 1, 3], [1.0, 2.0, 3.0])],
    )
    path = tmp_path / "convolution.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    return path


def test_options_name_every_thread_and_never_spin() -> None:
    options = sessions.session_options(Device(threads=3))
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (3, 1)
    assert options.execution_mode == ort.ExecutionMode.ORT_SEQUENTIAL
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"
    assert options.get_session_config_entry("session.inter_op.allow_spinning") == "0"


def test_cuda_searches_by_heuristic_and_keeps_to_a_memory_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KOEGUMI_GPU_MEMORY", raising=False)
    options = {
        "device_id": "0",
        "cudnn_conv_algo_search": "HEURISTIC",
        "arena_extend_strategy": "kSameAsRequested",
        "gpu_mem_limit": str(8 * 2**30),
    }
    assert sessions.providers(Device("cuda")) == [("CUDAExecutionProvider", options), "CPUExecutionProvider"]
    monkeypatch.setenv("KOEGUMI_GPU_MEMORY", "3000000000")
    options["gpu_mem_limit"] = "3000000000"
    assert sessions.providers(Device("cuda"))[0] == ("CUDAExecutionProvider", options)


def test_the_cpu_is_asked_for_alone() -> None:
    assert sessions.providers(Device("cpu")) == ["CPUExecutionProvider"]


def test_an_unknown_device_is_refused() -> None:
    with pytest.raises(DeviceNotUsed, match="'tpu' is not known"):
        sessions.providers(Device("tpu"))


def test_convolutions_on_the_cpu_are_seen_there(convolution: Path) -> None:
    options = sessions.session_options(Device("cuda"))
    session = ort.InferenceSession(convolution, options, providers=["CPUExecutionProvider"])
    assert sessions.convolution_providers(session) == {"CPUExecutionProvider"}


def test_a_device_that_is_not_first_is_a_sentence(convolution: Path) -> None:
    session = sessions.open_session(convolution, Device("cpu", 1))
    with pytest.raises(DeviceNotUsed, match=r"cuda was asked for, but .* fell back to CPUExecutionProvider"):
        sessions.require_device(session, Device("cuda"))


class _HalfPlaced:
    """A session whose first provider is CUDA while a convolution was left to the CPU, as ConvInteger would be."""

    class _Subgraph:
        ep_name = "CPUExecutionProvider"

        class _Node:
            op_type = "ConvInteger"

        def get_nodes(self) -> list[object]:
            return [self._Node()]

    def get_providers(self) -> list[str]:
        return ["CUDAExecutionProvider", "CPUExecutionProvider"]

    def get_provider_graph_assignment_info(self) -> list[object]:
        return [self._Subgraph()]


def test_convolutions_left_to_the_cpu_are_a_sentence() -> None:
    with pytest.raises(DeviceNotUsed, match="convolutions run on CPUExecutionProvider"):
        sessions.require_device(_HalfPlaced(), Device("cuda"))


def test_a_packed_model_is_the_same_model(convolution: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed.onnx"
    sessions.pack(convolution, packed)
    x = np.arange(10, dtype=np.float32).reshape(1, 1, 10)
    one, other = (
        sessions.open_session(path, Device()).run(None, {"x": x})[0].tobytes() for path in (convolution, packed)
    )
    assert one == other


def test_a_packing_key_names_the_runtime_and_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    key = sessions.packing_key()
    assert key == sessions.packing_key()
    assert key.startswith(f"{ort.__version__}-")
    monkeypatch.setattr("platform.machine", lambda: "abacus")
    assert sessions.packing_key() != key
