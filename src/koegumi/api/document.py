"""What FastAPI cannot know for the document, as our routes read their bodies themselves."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


def add_model(schemas: dict[str, Any], model: type[BaseModel]) -> None:
    """The model and what it is made of, as FastAPI would write them: without defaults of null."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    for name, part in {**schema.pop("$defs", {}), model.__name__: schema}.items():
        for field in part.get("properties", {}).values():
            if "default" in field and field["default"] is None:
                del field["default"]
        schemas.setdefault(name, part)
