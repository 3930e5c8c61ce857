"""Whether all four models fit into memory at once."""

from __future__ import annotations

import subprocess
from pathlib import Path

from koegumi.voices.bark import coarse, semantic
from koegumi.voices.bark.models import SHAPE, weights_size
from koegumi.voices.bark.nodes import Precision
from koegumi.voices.bark.shape import Shape
from koegumi.voices.interface import Device

# Activations of the longest run (a prompt of 887, a window of 1024) over the size of a layer's hidden states.
_ACTIVATIONS = 40


def fits(folder: Path, device: Device, precision: Precision, width: int, memory: int | None) -> bool:
    """`memory` in bytes; None is half of what is free, and then False where that is not known."""
    budget = memory if memory is not None else _free(device) // 2
    return need(folder, precision, width) <= budget


def need(folder: Path, precision: Precision, width: int) -> int:
    """Bytes for weights, keys and values of full batches, and activations."""
    shape = Shape.load(folder / SHAPE)
    size = 2 if precision == "fp16" else 4
    cache = (
        2
        * size
        * width
        * (
            shape.semantic.layers * shape.semantic.hidden * semantic.room(shape, None)
            + shape.coarse.layers * shape.coarse.hidden * coarse.room(shape)
        )
    )
    return weights_size(folder, precision) + cache + _ACTIVATIONS * size * shape.fine.positions * shape.fine.hidden


def _free(device: Device) -> int:
    return _free_of_gpu() if device.kind == "cuda" else _free_of_host()


def _free_of_host() -> int:
    """What Linux says is available, or less where the control group allows less."""
    limits = []
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        limits += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
        group = Path("/sys/fs/cgroup")
        limits.append(int((group / "memory.max").read_text()) - int((group / "memory.current").read_text()))
    except (OSError, ValueError):  # another system, or no limit
        pass
    return min(limits, default=0)


def _free_of_gpu() -> int:
    command = ["nvidia-smi", "--query-gpu=memory.free", "--format=csv,noheader,nounits", "--id=0"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout  # noqa: S603
        return int(answer.split()[0]) * 2**20
    except (OSError, ValueError, IndexError, subprocess.SubprocessError):
        return 0
