"""Voices that speak a text as it is: what their AudioQueries hold, and how long they will speak."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import msgspec
from fastapi.exceptions import RequestValidationError
from starlette.responses import Response

from koegumi.api.front import Front
from koegumi.api.styles import check_core
from koegumi.schema.plain import AudioQuery, CheckedQuery
from koegumi.schema.reading import Error, Location, Refused, check_sound, error
from koegumi.schema.text_length import text_seconds
from koegumi.voices.catalog import Entry
from koegumi.voices.interface import Capability

_FIELDS = {field.encode_name: field for field in msgspec.structs.fields(AudioQuery)}


def text_query(
    front: Front, style_id: int, core_version: str | None, text: str, values: Mapping[str, float | None]
) -> Response | None:
    """The AudioQuery of such a voice, with values by the names of `schema.plain`; None for all other voices.

    Raises UnknownCore and UnknownStyle.
    """
    check_core(core_version)
    if not _speaks_text(front.catalog.style(style_id)):
        return None
    query = msgspec.structs.replace(AudioQuery(accent_phrases=[], kana=text), **values)
    return Response(msgspec.json.encode(query), media_type="application/json")


def sound_seconds(entry: Entry, encoded: bytes | msgspec.Raw, checked: float, at: Location = ()) -> float:
    """The seconds of the sound of a query (msgpack, at `at` in the body): `checked`, as its reader counted them, or an
    estimate for a voice that speaks text. Answers 422 by an exception where such a voice cannot honour a field."""
    if not _speaks_text(entry):
        return checked
    query = msgspec.msgpack.decode(encoded, type=AudioQuery)
    errors = [
        _not_neutral(name, query, at) for name in entry.speaker.unsupported_fields if not _is_neutral(name, query)
    ]
    if errors:
        raise RequestValidationError(errors)
    seconds = checked + text_seconds(query.kana or "")
    _check_sound(seconds, query.output_sampling_rate * (2 if query.output_stereo else 1), at)
    return seconds


def all_sound_seconds(entry: Entry, queries: Sequence[CheckedQuery]) -> list[float]:
    """The same for several, whose sounds are in memory together."""
    seconds = [sound_seconds(entry, query.value, query.seconds, (number,)) for number, query in enumerate(queries)]
    if _speaks_text(entry):
        _check_sound(sum(seconds), max(2 * query.sampling_rate for query in queries), ())
    return seconds


def _check_sound(seconds: float, samples_a_second: int, at: Location) -> None:
    try:
        check_sound(seconds, samples_a_second, at)
    except Refused as refused:
        raise RequestValidationError(refused.errors) from None


def _speaks_text(entry: Entry) -> bool:
    return Capability.TALK_TEXT in entry.speaker.capabilities


def _neutral(name: str) -> object:
    default = _FIELDS[name].default
    return [] if default is msgspec.NODEFAULT else default


def _is_neutral(name: str, query: AudioQuery) -> bool:
    return bool(getattr(query, _FIELDS[name].name) == _neutral(name))


def _not_neutral(name: str, query: AudioQuery, at: Location) -> Error:
    value = getattr(query, _FIELDS[name].name)
    message = f"This voice speaks the text of `kana` as it is: {name} should be {json.dumps(_neutral(name))}"
    return error("unsupported_field", (*at, name), message, None if isinstance(value, list) else value)
