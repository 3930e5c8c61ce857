"""Every recorded request, over real HTTP, and what the reference answered: status, type and JSON.

Where its answer is an accident, or where we do better on purpose, ours stands in docs/compatibility.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.harness import TESTS, Server

CASES: list[dict[str, Any]] = json.loads((TESTS / "data" / "http_error_cases.json").read_text(encoding="utf-8"))[
    "cases"
]

# Accidents (500) that are clear answers here: the status, and a part of the JSON.
BETTER: dict[str, tuple[int, str]] = {
    "sampling rate 0": (422, "outputSamplingRate"),
    "unknown core version, song (no handler: 500)": (422, "バージョン 4.0.4 のコアが見つかりません。"),
    "empty kana (500 in the engine)": (400, "1番目のアクセント句が空白です"),
    "no queries (500 in the engine)": (422, "at least 1 item"),
    "dict: import with a bad uuid (500 in the engine)": (422, "zz"),
    "dict: import with a part of speech of no known context id (500 in the engine)": (422, "context id 1"),
}
# By choice.
CHOSEN: dict[str, tuple[int, str]] = {"head not allowed": (200, "")}


@pytest.fixture(scope="module")
def client(cast: Server) -> Iterator[httpx.Client]:
    with cast.client() as client:
        yield client


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_recorded_answer(client: httpx.Client, case: dict[str, Any]) -> None:
    sent = {key: case[key] for key in ("params", "json", "data", "headers") if key in case}
    answer = client.request(case["method"], case["path"], **sent)
    assert answer.headers["content-type"] == case["content_type"]
    ours = BETTER.get(case["name"]) or CHOSEN.get(case["name"])
    if ours is not None:
        status, part = ours
        assert answer.status_code == status
        assert part in answer.text
        return
    assert answer.status_code == case["status"], answer.text
    if "body" in case:
        assert without_pydantic_s_words(answer.json()) == without_pydantic_s_words(case["body"])
    if "access_control_allow_origin" in case:
        assert answer.headers.get("access-control-allow-origin") == case["access_control_allow_origin"]


def without_pydantic_s_words(body: Any) -> Any:
    """Texts that quote pydantic change with its version from ` [type=` on."""
    if isinstance(body, dict) and isinstance(body.get("detail"), str):
        return body["detail"].partition(" [type=")[0]
    return body


def test_every_accident_of_the_reference_has_an_answer_here() -> None:
    accidents = {case["name"] for case in CASES if case["status"] == 500}
    assert accidents == set(BETTER)
