"""The reference's OpenAPI document without its words: `python -m tests.make_openapi_digest` writes
tests/data/openapi_digest.json from the reference data, and the test of the digest makes ours with the same function."""

from __future__ import annotations

import json
from typing import Any

from tests.harness import REFERENCE, TESTS

DIGEST = TESTS / "data" / "openapi_digest.json"
# Words, and what only words depend on.
WORDS = {"description", "summary", "tags", "title"}


def digest(document: dict[str, Any]) -> dict[str, Any]:
    """Operations by `METHOD path`, schemas by name."""
    operations = {
        f"{method.upper()} {path}": _operation(operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    schemas = {name: _bare(schema) for name, schema in document["components"]["schemas"].items()}
    return {"openapi": document["openapi"], "operations": operations, "schemas": schemas}


def _operation(operation: dict[str, Any]) -> dict[str, Any]:
    parameters = {
        f"{parameter['in']} {parameter['name']}": {
            "required": parameter.get("required", False),
            "schema": _bare(parameter["schema"]),
        }
        for parameter in operation.get("parameters", [])
    }
    return {
        "operationId": operation["operationId"],
        "parameters": parameters,
        "requestBody": _bare(operation.get("requestBody")),
        "responses": {status: _bare(answer.get("content")) for status, answer in operation["responses"].items()},
    }


def _bare(value: Any) -> Any:
    """Without words; but a schema's properties may be called as they like."""
    if isinstance(value, list):
        return [_bare(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: {name: _bare(inner) for name, inner in item.items()} if key == "properties" else _bare(item)
        for key, item in value.items()
        if key not in WORDS
    }


if __name__ == "__main__":
    reference = json.loads((REFERENCE / "openapi.json").read_text(encoding="utf-8"))
    DIGEST.write_text(json.dumps(digest(reference), indent=1, sort_keys=True) + "\n", encoding="utf-8")
