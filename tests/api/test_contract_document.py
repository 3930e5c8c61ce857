"""Our OpenAPI document and the reference's: the same names, places, defaults and schemas. Descriptions are our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.api.fake import House

STAGE = {
    "/accent_phrases",
    "/audio_query",
    "/initialize_speaker",
    "/is_initialized_speaker",
    "/mora_data",
    "/mora_length",
    "/mora_pitch",
    "/speaker_info",
    "/speakers",
    "/supported_devices",
    "/synthesis",
    "/version",
}
# What we say in our own words, and the limits of values, which the reference has not.
OURS = {"description", "summary", "tags", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
# What voices that speak a text as it is have beside it.
ADDED_PARAMETERS = {"temperature", "top_k", "top_p", "min_eos_p", "seed"}
ADDED_PROPERTIES = {"unsupported_query_fields", "synthesis_parameters"}

Document = dict[str, Any]


@pytest.fixture(scope="module")
def document() -> Document:
    answer: Document = House().ask("GET", "/openapi.json").json()
    return answer


def stripped(value: Any) -> Any:
    """Without what is ours; schemas' properties may be called as they like. Parameters in one order."""
    if isinstance(value, list):
        items = [stripped(item) for item in value if not is_added(item)]
        return sorted(items, key=lambda item: str(item["name"])) if value and "in" in value[0] else items
    if isinstance(value, dict):
        return {
            key: _properties(item) if key == "properties" else stripped(item)
            for key, item in value.items()
            if key not in OURS
        }
    return value


def _properties(properties: dict[str, Any]) -> dict[str, Any]:
    return {name: stripped(inner) for name, inner in properties.items() if name not in ADDED_PROPERTIES}


def is_added(item: Any) -> bool:
    """A parameter of ours; it has to be optional."""
    added = isinstance(item, dict) and item.get("in") == "query" and item["name"] in ADDED_PARAMETERS
    return added and not item["required"]


def test_the_routes_of_this_stage_are_there(document: Document) -> None:
    assert set(document["paths"]) >= STAGE


def test_operations_are_the_reference_s(document: Document, reference: Path) -> None:
    theirs = json.loads((reference / "openapi.json").read_text(encoding="utf-8"))["paths"]
    for path, operations in document["paths"].items():
        assert stripped(operations) == stripped(theirs[path]), path


def test_schemas_are_the_reference_s(document: Document, reference: Path) -> None:
    theirs = json.loads((reference / "openapi.json").read_text(encoding="utf-8"))["components"]["schemas"]
    for name, schema in document["components"]["schemas"].items():
        assert stripped(schema) == stripped(theirs[name]), name
