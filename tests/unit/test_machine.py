"""Cores and memory as control groups of both versions allow."""

from __future__ import annotations

from pathlib import Path

import pytest

from koegumi import machine


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    proc, cgroup = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "self").mkdir(parents=True)
    (proc / "meminfo").write_text("MemTotal:       16000000 kB\nMemFree: 1 kB\n")
    monkeypatch.setattr(machine, "_affinity", lambda: 8)
    return proc, cgroup


def group(cgroup: Path, path: str, **files: str) -> None:
    folder = cgroup / path
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def test_without_groups_the_machine_counts(places: tuple[Path, Path]) -> None:
    assert machine.usable_cores(*places) == 8
    assert machine.usable_memory(*places) == 16_384_000_000


def test_the_tightest_group_of_version_2_holds(places: tuple[Path, Path]) -> None:
    proc, cgroup = places
    (proc / "self" / "cgroup").write_text("0::/outer/inner\n")
    group(cgroup, "outer", cpu__max="250000 100000\n", memory__max="4000000000\n")
    group(cgroup, "outer/inner", cpu__max="max 100000\n", memory__max="max\n")
    assert machine.usable_cores(*places) == 2
    assert machine.usable_memory(*places) == 4_000_000_000


def test_a_group_namespace_shows_its_root(places: tuple[Path, Path]) -> None:
    proc, cgroup = places
    (proc / "self" / "cgroup").write_text("0::/\n")
    group(cgroup, "", cpu__max="50000 100000\n", memory__max="2147483648\n")
    assert machine.usable_cores(*places) == 1
    assert machine.usable_memory(*places) == 2**31


def test_version_1(places: tuple[Path, Path]) -> None:
    proc, cgroup = places
    (proc / "self" / "cgroup").write_text("4:cpu,cpuacct:/box\n3:memory:/box\n")
    group(cgroup, "cpu/box", cpu__cfs_quota_us="300000\n", cpu__cfs_period_us="100000\n")
    group(cgroup, "memory/box", memory__limit_in_bytes="1000000000\n")
    assert machine.usable_cores(*places) == 3
    assert machine.usable_memory(*places) == 1_000_000_000


def test_version_1_without_a_limit(places: tuple[Path, Path]) -> None:
    proc, cgroup = places
    (proc / "self" / "cgroup").write_text("4:cpu,cpuacct:/\n")
    group(cgroup, "cpu", cpu__cfs_quota_us="-1\n", cpu__cfs_period_us="100000\n")
    assert machine.usable_cores(*places) == 8


@pytest.mark.parametrize(("visible", "count"), [("0,2", 2), ("", 0), ("-1", 0)])
def test_gpus_that_are_visible(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, visible: str, count: int
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert machine.gpu_count(places[0]) == count
