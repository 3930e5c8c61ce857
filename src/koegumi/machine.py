"""What this machine gives us: cores and memory, as the kernel and its control groups allow."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

PROC, CGROUP = Path("/proc"), Path("/sys/fs/cgroup")


def usable_cores(proc: Path = PROC, cgroup: Path = CGROUP) -> int:
    """Whole cores that may be used at once: the affinity mask, cut by the control groups' quota; at least 1."""
    cores = float(_affinity())
    for folder in _groups(proc, cgroup, "cpu"):
        cores = min(cores, _quota(folder))
    return max(1, int(cores))


def usable_memory(proc: Path = PROC, cgroup: Path = CGROUP) -> int | None:
    """Bytes: the machine's memory, cut by the control groups' limits. None where neither can be read."""
    known = [_total_memory(proc)]
    for folder in _groups(proc, cgroup, "memory"):
        known += [_number(folder / name) for name in ("memory.max", "memory.limit_in_bytes")]
    return min((bytes_ for bytes_ in known if bytes_ is not None), default=None)


def _affinity() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _groups(proc: Path, cgroup: Path, controller: str) -> Iterator[Path]:
    """Our control groups and their parents, of version 2 and 1: the tightest limit of all of them holds."""
    try:
        lines = (proc / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        root = cgroup / controller if controllers else cgroup
        folder = root / path.lstrip("/")
        yield folder
        yield from (parent for parent in folder.parents if parent.is_relative_to(root))


def _quota(folder: Path) -> float:
    try:
        quota, period = (folder / "cpu.max").read_text().split()
        return float("inf") if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        pass
    quota_us, period_us = _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
    return quota_us / period_us if quota_us and period_us and quota_us > 0 else float("inf")


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):  # not there, or "max"
        return None


def _total_memory(proc: Path) -> int | None:
    try:
        fields = dict(line.split(":", 1) for line in (proc / "meminfo").read_text().splitlines())
        return int(fields["MemTotal"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None


def gpu_count(proc: Path = PROC) -> int:
    """NVIDIA GPUs that this process may use: CUDA_VISIBLE_DEVICES, else what the driver lists; 0 without one."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return len([name for name in visible.split(",") if name.strip() not in ("", "-1")])
    folder = proc / "driver" / "nvidia" / "gpus"
    return len(list(folder.iterdir())) if folder.is_dir() else 0
