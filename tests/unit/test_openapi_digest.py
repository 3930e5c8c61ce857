"""All of the reference's API is in our document: paths, parameters, types, defaults, bodies, answers. Ours may add."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.api.fake import House
from tests.make_openapi_digest import DIGEST, digest

THEIRS: dict[str, Any] = json.loads(DIGEST.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def ours() -> dict[str, Any]:
    return digest(House().app.openapi())


def test_the_digest_is_whole() -> None:
    assert len(THEIRS["operations"]) == 43
    assert len({operation.split()[1] for operation in THEIRS["operations"]}) == 41
    assert len(THEIRS["schemas"]) == 35


def test_no_operation_is_missing(ours: dict[str, Any]) -> None:
    assert set(THEIRS["operations"]) - set(ours["operations"]) == set()


@pytest.mark.parametrize("operation", THEIRS["operations"])
def test_operations(ours: dict[str, Any], operation: str) -> None:
    check(ours["operations"][operation], THEIRS["operations"][operation], operation)


@pytest.mark.parametrize("name", THEIRS["schemas"])
def test_schemas(ours: dict[str, Any], name: str) -> None:
    check(ours["schemas"][name], THEIRS["schemas"][name], name)


def check(ours: Any, theirs: Any, where: str) -> None:
    """Every key of theirs is in ours with what it holds; lists hold no more."""
    if isinstance(theirs, dict):
        assert isinstance(ours, dict), where
        for key, value in theirs.items():
            assert key in ours, f"{where}: {key}"
            check(ours[key], value, f"{where}: {key}")
    elif isinstance(theirs, list) and theirs and isinstance(theirs[0], dict):
        assert len(ours) == len(theirs), where
        for mine, value in zip(ours, theirs, strict=True):
            check(mine, value, where)
    elif isinstance(theirs, list):
        assert set(ours) == set(theirs), where
    else:
        assert ours == theirs, where


def test_what_ours_adds_to_an_operation_is_optional(ours: dict[str, Any]) -> None:
    for name, operation in THEIRS["operations"].items():
        mine = ours["operations"][name]
        for parameter in set(mine["parameters"]) - set(operation["parameters"]):
            assert not mine["parameters"][parameter]["required"], f"{name}: {parameter}"
        assert (mine["requestBody"] is None) == (operation["requestBody"] is None), name


def test_the_check_sees_a_difference(ours: dict[str, Any]) -> None:
    for change in ({"required": False}, {"schema": {"type": "integer", "default": 1}}):
        theirs = THEIRS["operations"]["POST /synthesis"]["parameters"]["query speaker"] | change
        with pytest.raises(AssertionError):
            check(ours["operations"]["POST /synthesis"]["parameters"]["query speaker"], theirs, "")
