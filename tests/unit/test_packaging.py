"""What is built of this tree has the voice that is shipped, and finds it, away from the tree."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
VOICE = "koegumi/models/koegumi.vvm"


def _run(folder: Path, *arguments: str, **environment: str) -> str:
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, check=True, capture_output=True, text=True
    ).stdout


def test_a_wheel_of_the_source_archive_speaks_without_anything_else(tmp_path: Path) -> None:
    dist, site = tmp_path / "dist", tmp_path / "site"
    _run(ROOT, "hatchling", "build", "--target", "sdist", "--directory", str(dist))
    with tarfile.open(next(dist.glob("*.tar.gz"))) as archive:
        archive.extractall(tmp_path, filter="data")
    source = next(tmp_path.glob("koegumi-*"))
    _run(source, "hatchling", "build", "--target", "wheel", "--directory", str(dist))
    with zipfile.ZipFile(next(dist.glob("*.whl"))) as wheel:
        wheel.extractall(site)
    listed = _run(
        tmp_path,
        *("koegumi", "voices", "list", "--cache-dir", str(tmp_path / "cache")),
        PYTHONPATH=str(site),
        KOEGUMI_STATE_DIR=str(tmp_path / "state"),
        COLUMNS="1000",
    )
    talking = [line.split()[0] for line in listed.splitlines() if str(site / VOICE) in line and " talk " in line]
    assert talking == ["101", "102", "103", "104", "105"]
    assert (site / VOICE).read_bytes() == (ROOT / "models" / "koegumi.vvm").read_bytes()
