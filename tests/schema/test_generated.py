"""Cases that schemathesis generates from our own OpenAPI document: no 500, and the server answers afterwards."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.harness import CAST, TESTS, serving

pytestmark = pytest.mark.schema

PROGRAM = TESTS.parent / ".venv-clients" / "schemathesis" / "bin" / "st"
CASES = int(os.environ.get("KOEGUMI_SCHEMA_CASES", "5000"))
SEED = os.environ.get("KOEGUMI_SCHEMA_SEED", "1")
# By itself the phase that walks through every parameter makes 3,300 cases; a few do without it.
COVERAGE = 3000
OPERATIONS = 43  # of the reference; all of ours are tested
# Many operations have no parameters, so that one case is all of them.
CASES_OF_AN_OPERATION = max(10, (CASES - (COVERAGE if CASES > COVERAGE else 0)) // 25)


def test_no_generated_case_gets_a_500(query: dict[str, Any], tmp_path: Path) -> None:
    options: dict[str, object] = {
        "checks": "not_a_server_error",
        "phases": "coverage,fuzzing" if CASES > COVERAGE else "fuzzing",
        "max-examples": CASES_OF_AN_OPERATION,
        "seed": SEED,
        "request-timeout": 60,
        "suppress-health-check": "all",
        "generation-database": "none",
        "warnings": "off",
        "report-json-path": tmp_path / "report.json",
    }
    with serving("--voices", CAST, "--synthesis-workers", "1", "--enable_cancellable_synthesis") as server:
        done = subprocess.run(
            [
                *(PROGRAM, "run", f"{server.url}/openapi.json", "--no-color", "--continue-on-failure"),
                *(f"--{name}={value}" for name, value in options.items()),
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=900,
        )
        assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
        report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
        print(report["test_cases"])
        operations = report["operations"]
        assert operations["tested"] == operations["total"] >= OPERATIONS
        assert (report["errors"], report["failures"]) == ([], [])
        assert report["test_cases"]["generated"] >= CASES
        answered = [line["status"] for line in server.log.events("request")]
        assert len(answered) >= CASES and max(answered) < 500
        assert 200 in answered and 422 in answered
        assert not server.log.events("worker ended")
        with server.client() as client:
            assert client.post("/audio_query", params={"text": "はい", "speaker": 0}).status_code == 200
            assert client.post("/synthesis", params={"speaker": 0}, json=query).status_code == 200
