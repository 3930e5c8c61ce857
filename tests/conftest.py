"""Fixtures: servers with the tests' voices, shared where a test leaves them as they were."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before any test imports onnxruntime

from tests.harness import CAST, FAULTY, REFERENCE, Server, serving


@pytest.fixture(scope="session")
def cast(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Two workers with voices that need no model; for tests that break nothing. KOEGUMI_TEST_VOICE names a VVM whose
    voices play their parts."""
    voices = CAST
    if voice := os.environ.get("KOEGUMI_TEST_VOICE"):
        from tests.recast import recast

        voices = recast(Path(voice), tmp_path_factory.mktemp("recast") / "cast.vvm")
    with serving("--voices", voices, "--synthesis-workers", "2") as server:
        yield server


@pytest.fixture(scope="session")
def kokoro() -> Iterator[Server]:
    """The real voices, two workers."""
    with serving("--synthesis-workers", "2") as server:
        yield server


@pytest.fixture
def faulty(tmp_path: Path) -> Iterator[Server]:
    """One worker with the cast and the voices that break, its own for each test."""
    with serving(
        "--voices", CAST, FAULTY, "--synthesis-workers", "1", environment={"KOEGUMI_TEST_MARKS": str(tmp_path)}
    ) as server:
        yield server


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder of reference data that is not ours to copy."""
    if not (REFERENCE / "openapi.json").is_file():
        pytest.skip(f"no reference data in {REFERENCE}; KOEGUMI_REFERENCE_DATA names its folder")
    return REFERENCE


@pytest.fixture
def query() -> dict[str, Any]:
    """A small AudioQuery, new for each test: テ'ス_ト."""
    moras = [
        {"text": "テ", "consonant": "t", "consonant_length": 0.06, "vowel": "e", "vowel_length": 0.08, "pitch": 5.5},
        {"text": "ス", "consonant": "s", "consonant_length": 0.06, "vowel": "U", "vowel_length": 0.05, "pitch": 0.0},
        {"text": "ト", "consonant": "t", "consonant_length": 0.06, "vowel": "o", "vowel_length": 0.1, "pitch": 5.6},
    ]
    return {
        "accent_phrases": [{"moras": moras, "accent": 1, "pause_mora": None, "is_interrogative": False}],
        "speedScale": 1.0,
        "pitchScale": 0.0,
        "intonationScale": 1.0,
        "volumeScale": 1.0,
        "prePhonemeLength": 0.1,
        "postPhonemeLength": 0.1,
        "pauseLength": None,
        "pauseLengthScale": 1.0,
        "outputSamplingRate": 24000,
        "outputStereo": False,
        "kana": "テ'スト",
    }
