"""ONNX Runtime sessions: providers and options, and the proof that a device is really used.

`get_available_providers` proves nothing: it lists CUDA without a driver, and a session that asks for CUDA alone comes
back on the CPU. So a session's own providers and the placement of its nodes are asked.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Iterable
from pathlib import Path

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # the import itself would write it

import onnxruntime as ort

from koegumi.voices.interface import Device

CUDA = "CUDAExecutionProvider"
CPU = "CPUExecutionProvider"
# Enough for the longest piece of any family; a GPU with less fails at the warm-up and not under load.
DEFAULT_GPU_MEMORY = 8 * 2**30

Provider = str | tuple[str, dict[str, str]]


class DeviceNotUsed(RuntimeError):  # noqa: N818 - reads as a sentence where it is raised
    """A device was asked for and is not really used; the message is a sentence that says why."""


def session_options(device: Device) -> ort.SessionOptions:
    """Explicit thread counts also keep ONNX Runtime from setting affinity, which fails under cpusets."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = device.threads
    options.inter_op_num_threads = 1
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    if device.kind != "cpu":  # where it proves something: it makes opening a large graph take half as long again
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    return options


def providers(device: Device) -> list[Provider]:
    """In order of preference; their libraries are loaded. CUDA_VISIBLE_DEVICES picks the GPU, which is number 0 here.

    KOEGUMI_GPU_MEMORY limits its memory, in bytes.
    """
    if device.kind == "cpu":
        return [CPU]
    if device.kind != "cuda":
        raise DeviceNotUsed(f"The device {device.kind!r} is not known: there are cpu and cuda.")
    ort.preload_dlls()  # CUDA and cuDNN as wheels bring them; what is missing is said on standard output
    options = {
        "device_id": "0",
        # The default, EXHAUSTIVE, tunes anew for every new length.
        "cudnn_conv_algo_search": "HEURISTIC",
        "arena_extend_strategy": "kSameAsRequested",
        "gpu_mem_limit": os.environ.get("KOEGUMI_GPU_MEMORY") or str(DEFAULT_GPU_MEMORY),
    }
    return [(CUDA, options), CPU]


def open_session(model: Path | bytes, device: Device) -> ort.InferenceSession:
    """A session that really uses the device, its convolutions included; raises DeviceNotUsed."""
    session = ort.InferenceSession(os.fspath(model), session_options(device), providers=providers(device))
    require_device(session, device)
    return session


def pack(source: Path, target: Path) -> None:
    """Write the model as this ONNX Runtime would lay it out in memory on this CPU, weights beside it.

    Processes that open it map those weights and share them: measured, a query worker and two synthesis workers of
    Kokoro take 678 MB together instead of 795, and load in half the time. The sound is the same to the bit.
    """
    options = session_options(Device())
    options.optimized_model_filepath = os.fspath(target)
    for entry, value in (
        ("session.optimized_model_external_initializers_file_name", f"{target.name}.weights"),
        ("session.optimized_model_external_initializers_min_size_in_bytes", "1024"),
        ("session.save_external_prepacked_constant_initializers", "1"),
    ):
        options.add_session_config_entry(entry, value)
    ort.InferenceSession(os.fspath(source), options, providers=[CPU])


def packing_key() -> str:
    """Where packed models are good: this version of ONNX Runtime, and CPUs with the same features as this one."""
    features = platform.machine()
    if sys.platform == "linux":
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        features += next((line for line in lines if line.lower().startswith(("flags", "features"))), "")
    return f"{ort.__version__}-{hashlib.sha256(features.encode()).hexdigest()[:12]}"


def require_device(session: ort.InferenceSession, device: Device) -> None:
    """Raise DeviceNotUsed unless the session uses the device: it is its first provider, and all of its convolutions
    are placed on it."""
    wanted = CPU if device.kind == "cpu" else CUDA
    first = session.get_providers()[0]
    if first != wanted:
        raise DeviceNotUsed(
            f"The device {device.kind} was asked for, but ONNX Runtime fell back to {first}: "
            "is there a GPU with its driver, and are CUDA and cuDNN installed?"
        )
    if device.kind == "cpu":
        return
    elsewhere = convolution_providers(session) - {wanted}
    if elsewhere:
        raise DeviceNotUsed(
            f"The device {device.kind} was asked for, but convolutions run on {', '.join(sorted(elsewhere))}."
        )


def convolution_providers(session: ort.InferenceSession) -> set[str]:
    """The providers that run convolutions of this session. Only for sessions made with the
    `session_options` of another device than the CPU."""
    return {
        subgraph.ep_name
        for subgraph in session.get_provider_graph_assignment_info()
        if _has_convolution(node.op_type for node in subgraph.get_nodes())
    }


def _has_convolution(op_types: Iterable[str]) -> bool:
    return any("Conv" in op_type for op_type in op_types)
