"""The house keeps its plan: arrows between rooms point one way, files stay small, one ONNX Runtime is installed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "koegumi"
FILES = sorted(SOURCE.rglob("*.py"))

# Which rooms a room may import. `pool` knows workers through frames alone.
ALLOWED = {
    "schema": set[str](),
    "wire": {"schema"},
    "audio": {"schema"},
    "text": {"schema"},
    "voices": {"schema", "text", "audio"},
    "worker": {"schema", "wire", "voices", "text", "audio", "telemetry"},
    "pool": {"schema", "wire"},
    "dispatch": {"schema", "wire", "pool"},
    "state": {"schema"},
    "api": {"schema", "wire", "pool", "dispatch", "state", "voices", "telemetry"},
}
# The interface says what the front may know of a voice; models belong to workers.
VOICES_IN_THE_FRONT = {"koegumi.voices.catalog", "koegumi.voices.interface"}
HEAVY = {"onnxruntime", "pyopenjtalk", "kanalizer", "soxr", "soundfile"}


def imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def room(file: Path) -> str:
    parts = file.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else ""


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_arrows_point_one_way(file: Path) -> None:
    here = room(file)
    if here not in ALLOWED:
        return
    for name in imports(file):
        if name.startswith("koegumi."):
            there = name.split(".")[1]
            assert there == here or there in ALLOWED[here], f"{here} must not import {name}"


@pytest.mark.parametrize("here", ["api", "dispatch", "pool", "schema", "state", "wire"])
def test_the_front_loads_no_model(here: str) -> None:
    for file in (SOURCE / here).rglob("*.py"):
        for name in imports(file):
            assert name.split(".")[0] not in HEAVY, f"{file.name} imports {name}"
            if name.startswith("koegumi.voices."):
                assert name in VOICES_IN_THE_FRONT, f"{file.name} imports {name}"


def test_pydantic_stays_in_the_front() -> None:
    for here in ("wire", "worker", "voices", "text", "audio", "dispatch", "pool"):
        for file in (SOURCE / here).rglob("*.py"):
            assert not any(name.split(".")[0] == "pydantic" for name in imports(file)), file


def test_no_file_is_longer_than_400_lines() -> None:
    for folder in (SOURCE, SOURCE.parents[1] / "tests", SOURCE.parents[1] / "bench"):
        for file in folder.rglob("*.py"):
            assert len(file.read_text(encoding="utf-8").splitlines()) <= 400, file


def test_exactly_one_onnxruntime_is_installed() -> None:
    installed = {str(distribution.name).lower() for distribution in metadata.distributions()}
    assert len({name for name in installed if name in ("onnxruntime", "onnxruntime-gpu")}) == 1


def test_the_locks_are_complete_and_every_package_has_its_licence_listed() -> None:
    root = SOURCE.parents[1]
    listed = (root / "THIRD_PARTY.md").read_text(encoding="utf-8").lower()
    for line in (root / "requirements" / "runtime.lock").read_text(encoding="utf-8").splitlines():
        name, _, rest = line.partition("==")
        assert rest, f"{line} is not pinned"
        assert name in listed, f"{name} is not in THIRD_PARTY.md"


def test_no_lock_names_a_host() -> None:
    locks = [path for path in (SOURCE.parents[1] / "requirements").rglob("*") if path.is_file()]
    assert len(locks) > 8
    for lock in locks:
        assert "://" not in lock.read_text(encoding="utf-8"), lock
