"""Figures for people: percentiles, Markdown tables, and what machine they come from."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from pathlib import Path

import onnxruntime

from koegumi import machine

OUT = Path(__file__).parent / "out"


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least `percent` of all do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


def table(head: Sequence[str], rows: Sequence[Sequence[str | float]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for row in rows:
        cells = [cell if isinstance(cell, str) else f"{cell:.2f}" for cell in row]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def this_machine() -> str:
    return (
        f"{machine.usable_cores()} cores of {_processor()}, {(machine.usable_memory() or 0) / 1e9:.0f} GB, "
        f"Python {platform.python_version()}, ONNX Runtime {onnxruntime.__version__}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()
