"""What a request may say beside its AudioQuery, for the voices that know it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query
from fastapi.exceptions import RequestValidationError
from pydantic.json_schema import SkipJsonSchema

from koegumi.voices.catalog import Entry

_Float = float | SkipJsonSchema[None]
_Integer = int | SkipJsonSchema[None]


async def _given(
    temperature: Annotated[
        _Float, Query(ge=0, le=2, description="Only for voices that draw what they say (Bark): 0 draws the likeliest.")
    ] = None,
    top_k: Annotated[
        _Integer, Query(ge=1, le=100_000, description="Only for such voices: draws from so many of the likeliest.")
    ] = None,
    top_p: Annotated[
        _Float,
        Query(gt=0, le=1, description="Only for such voices: draws from the likeliest that are so likely together."),
    ] = None,
    min_eos_p: Annotated[
        _Float,
        Query(gt=0, le=1, description="Only for such voices: how likely the end has to be for a sentence to end."),
    ] = None,
    seed: Annotated[
        _Integer, Query(ge=0, lt=2**63, description="Only for such voices: the same seed gives the same sound.")
    ] = None,
) -> dict[str, int | float]:
    given = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "min_eos_p": min_eos_p, "seed": seed}
    return {name: value for name, value in given.items() if value is not None}


Extras = Annotated[dict[str, int | float], Depends(_given)]


def check_extras(entry: Entry, extras: dict[str, int | float]) -> None:
    """Answers 422 by an exception where the voice knows one of them not."""
    errors = [
        {
            "type": "unsupported_parameter",
            "loc": ["query", name],
            "msg": f"This voice knows no {name}",
            "input": value,
        }
        for name, value in extras.items()
        if name not in entry.speaker.extras
    ]
    if errors:
        raise RequestValidationError(errors)
