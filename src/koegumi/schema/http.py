"""JSON bodies to checked plain values: one pure function, run by the front for small bodies and by a worker for large.

It answers every body, whatever its bytes, and bounds what it holds: how much speech, how much sound, how many errors.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any

import msgspec
from pydantic import Field, TypeAdapter, ValidationError

from koegumi.schema.echo import safe_errors
from koegumi.schema.models import AccentPhrase, AudioQuery, Mora
from koegumi.schema.phonemes import SILENT
from koegumi.schema.plain import CheckedQuery
from koegumi.schema.reading import FEW, Decoded, Error, Location, Refused, check_sound, error, located
from koegumi.schema.song import (
    FRAME_AUDIO_QUERY,
    SCORE,
    SCORE_AND_FRAMES,
    read_frames,
    read_score,
    read_score_and_frames,
)
from koegumi.schema.stored_bodies import PRESET, USER_DICT, read_preset, read_user_dict

# Half an hour of hasty speech. Phrases count as well: there may be millions in a body that speaks nothing.
MAX_MORAS = 20_000
MAX_MORAS_OF_ALL = 100_000
UPSPEAK_SECONDS = 0.15
# No phrase and no mora is shorter in JSON, so more of them than this allows are wrong.
MIN_BYTES_EACH = 20
# As much of an AudioQuery.
MIN_QUERY_BYTES = 120
MAX_QUERIES = 10_000
# Each is answered at length.
MAX_STYLE_IDS = 1_000
# The input of errors is repeated from bodies up to this size.
MAX_ECHO_BYTES = 16_384

AUDIO_QUERY = "AudioQuery"
ACCENT_PHRASES = "AccentPhrases"
# As AccentPhrases, for those who read the accent too.
ACCENTED_PHRASES = "AccentedPhrases"
# Several, at least one: their `value` is a list of `schema.plain.CheckedQuery`.
AUDIO_QUERIES = "AudioQueries"
# A list of integers.
STYLE_IDS = "StyleIds"
# A list of strings.
STRINGS = "Strings"

_QUERY = TypeAdapter(AudioQuery)
_QUERIES = TypeAdapter(Annotated[list[AudioQuery], Field(min_length=1)])
_PHRASES = TypeAdapter(list[AccentPhrase])
_STYLE_IDS = TypeAdapter(list[Annotated[int, Field(ge=-(2**63), lt=2**63)]])
_STRINGS = TypeAdapter(list[str])


def decode(model: str, body: bytes) -> Decoded:
    """Read a body as one of the models named here or in `schema.song`; others raise KeyError."""
    read = _READERS[model]
    try:
        return read(_json(body), len(body))
    except Refused as refused:
        return Decoded(errors=safe_errors(refused.errors, len(body) <= MAX_ECHO_BYTES))
    except ValidationError as invalid:
        return Decoded(errors=safe_errors(located(invalid), len(body) <= MAX_ECHO_BYTES))
    except UnicodeEncodeError:
        return Decoded(errors=[error("string_unicode", (), "Half of a surrogate pair stands alone", None)])


def _json(body: bytes) -> Any:
    try:
        value = json.loads(body) if body.strip() else None
    except json.JSONDecodeError as broken:
        raise Refused(_not_json(broken.pos, broken.msg)) from None
    except UnicodeDecodeError as broken:
        raise Refused(_not_json(broken.start, "Not UTF-8")) from None
    except RecursionError:
        raise Refused(_not_json(0, "Nested too deep")) from None
    except ValueError:  # an integer of thousands of digits
        raise Refused(_not_json(0, "Number too long")) from None
    if value is None:
        raise Refused(error("missing", (), "Field required", None))
    return value


def _not_json(position: int, message: str) -> Error:
    return error("json_invalid", (position,), "JSON decode error", {}) | {"ctx": {"error": message}}


def _audio_query(raw: Any, size: int) -> Decoded:
    _check_count(_phrases_count(raw), size, MAX_MORAS, ("accent_phrases",))
    query = _QUERY.validate_python(raw, from_attributes=True)
    seconds = _checked_seconds(query, ())
    check_sound(seconds, _samples_a_second(query))
    return Decoded(msgspec.msgpack.encode(_QUERY.dump_python(query)), seconds, _count(query.accent_phrases))


def _audio_queries(raw: Any, size: int) -> Decoded:
    """Bounded as one query is: all of their sounds are in memory at once."""
    if isinstance(raw, list):
        _check_length(raw, min(MAX_QUERIES, max(FEW, size // MIN_QUERY_BYTES)), "AudioQueries")
        _check_count(sum(map(_phrases_count, raw)), size, MAX_MORAS_OF_ALL, ())
    checked: list[CheckedQuery] = []
    samples = 0.0
    for number, query in enumerate(_QUERIES.validate_python(raw, from_attributes=True)):
        seconds = _checked_seconds(query, (number,))
        samples += seconds * _samples_a_second(query)
        check_sound(seconds, samples / seconds if seconds else 0.0, (number,))
        value = msgspec.Raw(msgspec.msgpack.encode(_QUERY.dump_python(query)))
        checked.append(CheckedQuery(value, seconds, query.outputSamplingRate))
    return Decoded(msgspec.msgpack.encode(checked), sum(query.seconds for query in checked))


def _checked_seconds(query: AudioQuery, at: Location) -> float:
    _check_phrases(query.accent_phrases, (*at, "accent_phrases"), complete=True, accented=False)
    return sound_seconds(query)


def _samples_a_second(query: AudioQuery) -> int:
    return query.outputSamplingRate * (2 if query.outputStereo else 1)


def _accent_phrases(raw: Any, size: int, accented: bool) -> Decoded:
    if isinstance(raw, list):
        _check_count(_moras_count(raw), size, MAX_MORAS, ())
    phrases = _PHRASES.validate_python(raw, from_attributes=True)
    _check_phrases(phrases, (), complete=False, accented=accented)
    return Decoded(msgspec.msgpack.encode(_PHRASES.dump_python(phrases)), 0.0, _count(phrases))


def _plain_list(raw: Any, size: int, adapter: TypeAdapter[Any]) -> Decoded:
    """Of integers or strings."""
    if isinstance(raw, list):
        if adapter is _STYLE_IDS:
            _check_length(raw, MAX_STYLE_IDS, "style ids")
        else:
            _check_length([item for item in raw if not isinstance(item, str)], FEW, "wrong elements")
    return Decoded(msgspec.msgpack.encode(adapter.validate_python(raw)))


def _check_length(values: list[Any], most: int, what: str) -> None:
    if len(values) > most:
        raise Refused(error("too_long", (), f"There should be at most {most} {what}, not {len(values)}", None))


def _phrases_count(raw: Any) -> int:
    phrases = raw.get("accent_phrases") if isinstance(raw, dict) else None
    return _moras_count(phrases) if isinstance(phrases, list) else 0


def _moras_count(phrases: list[Any]) -> int:
    moras = (phrase.get("moras") for phrase in phrases if isinstance(phrase, dict))
    return len(phrases) + sum(len(each) for each in moras if isinstance(each, list))


def _check_count(count: int, size: int, limit: int, location: Location) -> None:
    """Before anything is built: each wrong element would become an error that is much larger than itself."""
    most = min(limit, max(FEW, size // MIN_BYTES_EACH))
    if count > most:
        message = f"A body of {size} bytes should have at most {most} accent phrases and morae, not {count}"
        raise Refused(error("too_long", location, message, None))


def _check_phrases(phrases: Sequence[AccentPhrase], at: Location, complete: bool, accented: bool) -> None:
    """What one field says of another. `complete`: every consonant has its length."""
    errors: list[Error] = []
    for number, phrase in enumerate(phrases):
        for index, mora in enumerate(phrase.moras):
            if found := _mora_error(mora, complete):
                errors.append(_within(found, *at, number, "moras", index))
        if phrase.pause_mora is not None and (found := _mora_error(phrase.pause_mora, complete)):
            errors.append(_within(found, *at, number, "pause_mora"))
        if accented and not 1 <= phrase.accent <= len(phrase.moras):
            message = f"Input should be a mora of the phrase, from 1 to {len(phrase.moras)}"
            errors.append(error("accent_out_of_range", (*at, number, "accent"), message, phrase.accent))
    if errors:
        raise Refused(*errors)


def _mora_error(mora: Mora, complete: bool) -> Error | None:
    if mora.consonant is None:
        if mora.consonant_length is not None:
            message = "There should be no length without a consonant"
            return error("length_without_consonant", ("consonant_length",), message, mora.consonant_length)
    elif mora.vowel in SILENT:
        return error("consonant_in_silence", ("consonant",), "A silence should have no consonant", mora.consonant)
    elif complete and mora.consonant_length is None:
        return error("missing", ("consonant_length",), "A consonant should have a length", None)
    return None


def _within(inner: Error, *outer: str | int) -> Error:
    return inner | {"loc": ("body", *outer, *inner["loc"][1:])}


def sound_seconds(query: AudioQuery) -> float:
    """How long its sound is, with silences and with the upspeak that its questions may get."""
    seconds = query.prePhonemeLength + query.postPhonemeLength
    for phrase in query.accent_phrases:
        for mora in phrase.moras:
            seconds += _seconds(mora, query)
        if phrase.pause_mora is not None:
            seconds += _seconds(phrase.pause_mora, query)
        if phrase.is_interrogative:
            seconds += UPSPEAK_SECONDS
    return seconds / query.speedScale


def _seconds(mora: Mora, query: AudioQuery) -> float:
    vowel = mora.vowel_length
    if mora.vowel == "pau":
        vowel = (vowel if query.pauseLength is None else query.pauseLength) * query.pauseLengthScale
    return vowel + (mora.consonant_length or 0.0)


def _count(phrases: Sequence[AccentPhrase]) -> int:
    return sum(len(phrase.moras) for phrase in phrases)


_READERS: dict[str, Callable[[Any, int], Decoded]] = {
    AUDIO_QUERY: _audio_query,
    ACCENT_PHRASES: partial(_accent_phrases, accented=False),
    ACCENTED_PHRASES: partial(_accent_phrases, accented=True),
    AUDIO_QUERIES: _audio_queries,
    STYLE_IDS: partial(_plain_list, adapter=_STYLE_IDS),
    STRINGS: partial(_plain_list, adapter=_STRINGS),
    SCORE: read_score,
    FRAME_AUDIO_QUERY: read_frames,
    SCORE_AND_FRAMES: read_score_and_frames,
    PRESET: read_preset,
    USER_DICT: read_user_dict,
}
