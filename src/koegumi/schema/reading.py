"""What every reader of a JSON body has: what it answers, how it refuses, and how much it takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from pydantic import ValidationError

# Half an hour; at 48 kHz in stereo, or less of it where there are more samples in a second.
MAX_SECONDS = 1800.0
MAX_SAMPLES = 1800 * 48_000 * 2
# Below this many elements every one has its own errors, right or wrong.
FEW = 100

Error = dict[str, Any]
Location = tuple[str | int, ...]


class Decoded(msgspec.Struct):
    """A body that was read. Without `errors`, `value` is msgpack of the plain struct, ready as msgspec.Raw, `seconds`
    the length of its sound and `moras` how many there are. `errors` are FastAPI's, JSON-safe."""

    value: bytes = b""
    seconds: float = 0.0
    moras: int = 0
    errors: list[Error] | None = None


class Refused(Exception):  # noqa: N818 - reads as a sentence where it is raised
    def __init__(self, *errors: Error) -> None:
        self.errors = errors


def error(kind: str, location: Location, message: str, value: object) -> Error:
    return {"type": kind, "loc": ("body", *location), "msg": message, "input": value}


def located(invalid: ValidationError, *outer: str) -> Iterator[Error]:
    """pydantic's errors, of a value that stands at `outer` in the body."""
    for detail in invalid.errors(include_url=False):
        yield {**detail, "loc": ("body", *outer, *detail["loc"])}


def check_sound(seconds: float, samples_a_second: float, at: Location = ()) -> None:
    """`samples_a_second` of all channels together."""
    samples = seconds * samples_a_second
    if seconds > MAX_SECONDS or samples > MAX_SAMPLES:
        message = (
            f"The sound should be at most {MAX_SECONDS:.0f} s and {MAX_SAMPLES} samples long; "
            f"this is {seconds:.6g} s and {samples:.6g} samples"
        )
        raise Refused(error("sound_too_long", at, message, None))
