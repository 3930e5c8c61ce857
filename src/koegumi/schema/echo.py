"""What an answer of 422 may repeat of its request: always JSON, never much.

A body may hold what is no JSON again (NaN, half of a surrogate pair) or what is too deep or too large to repeat.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

MAX_ERRORS = 100
MAX_DEPTH = 16
TOO_DEEP = "..."
INT64 = range(-(2**63), 2**63)


def safe(value: object, depth: int = MAX_DEPTH) -> Any:
    """The value with everything replaced that JSON or msgpack could not carry."""
    match value:
        case None | bool():
            return value
        case int():
            return value if value in INT64 else _digits(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case str():
            return value if value.isascii() else value.encode("utf-8", "replace").decode()
        case dict() if depth:
            return {safe(str(key)): safe(item, depth - 1) for key, item in value.items()}
        case list() | tuple() if depth:
            return [safe(item, depth - 1) for item in value]
        case dict() | list() | tuple():
            return TOO_DEEP
        case bytes():
            return value.decode("utf-8", "replace")
        case _:
            return safe(str(value))


def _digits(value: int) -> str:
    return hex(value) if value.bit_length() > 4096 else str(value)


def safe_errors(errors: Iterable[Mapping[str, Any]], with_input: bool = True) -> list[dict[str, Any]]:
    """pydantic's errors as FastAPI shows them; the first MAX_ERRORS, without the input where that is large."""
    keys = ("type", "loc", "msg", "input", "ctx") if with_input else ("type", "loc", "msg", "ctx")
    first = (error for error, _ in zip(errors, range(MAX_ERRORS), strict=False))
    return [{key: safe(error[key]) for key in keys if key in error} for error in first]
