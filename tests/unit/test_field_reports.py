"""docs/field-reports.md has every report of the kinds it is about, and only tests that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.harness import TESTS

KINDS = {
    "kana notation",
    "user dictionary",
    "presets",
    "unknown speaker/ids",
    "client compatibility",
    "audio query value ranges",
    "empty/whitespace/symbol/emoji-only text",
    "CORS/security",
}
TABLE = {
    line[2:6]: line.split(" | ")[2]
    for line in (TESTS.parent / "docs" / "field-reports.md").read_text(encoding="utf-8").splitlines()
    if re.match(r"\| C\d{3} \|", line)
}
NAMED = [tuple(name.split("::")) for cell in TABLE.values() for name in re.findall(r"`(tests/[^`]+)`", cell)]


def test_every_report_of_these_kinds_is_in_the_table(reference: Path) -> None:
    reports = json.loads((reference / "field_reports.json").read_text(encoding="utf-8"))
    assert {report["kind"] for report in reports} >= KINDS
    assert {report["id"] for report in reports if report["kind"] in KINDS} == set(TABLE)


def test_every_report_has_a_test_or_a_reason_why_not() -> None:
    assert [report for report, cell in TABLE.items() if "`tests/" not in cell and "not here" not in cell] == []


def test_every_test_of_the_table_exists() -> None:
    assert len(NAMED) > 40
    for path, function in NAMED:
        source = (TESTS.parent / path).read_text(encoding="utf-8")
        assert f"\ndef {function}(" in source, f"{path}::{function}"
