"""JSON bodies to checked plain values: one pure function, run by the front for small bodies and by a worker for large.

It answers every body, whatever its bytes, and bounds what it holds: how much speech, how much sound, how many errors.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
from pydantic import TypeAdapter, ValidationError

from koegumi.schema.echo import safe_errors
from koegumi.schema.models import AccentPhrase, AudioQuery, Mora
from koegumi.schema.phonemes import SILENT

# Half an hour; at 48 kHz in stereo, or less of it where there are more samples in a second.
MAX_SECONDS = 1800.0
MAX_SAMPLES = 1800 * 48_000 * 2
# Half an hour of hasty speech. Phrases count as well: there may be millions in a body that speaks nothing.
MAX_MORAS = 20_000
UPSPEAK_SECONDS = 0.15
# No phrase and no mora is shorter in JSON, so more of them than this allows are wrong.
MIN_BYTES_EACH = 20
# Below this many elements every one has its own errors, right or wrong.
FEW = 100
# The input of errors is repeated from bodies up to this size.
MAX_ECHO_BYTES = 16_384

AUDIO_QUERY = "AudioQuery"
ACCENT_PHRASES = "AccentPhrases"
# As AccentPhrases, for those who read the accent too.
ACCENTED_PHRASES = "AccentedPhrases"

_QUERY = TypeAdapter(AudioQuery)
_PHRASES = TypeAdapter(list[AccentPhrase])

Error = dict[str, Any]
Location = tuple[str | int, ...]


class Decoded(msgspec.Struct):
    """A body that was read. Without `errors`, `value` is msgpack of the `schema.plain` struct, ready as msgspec.Raw,
    `seconds` the length of an AudioQuery's sound and `moras` how many there are. `errors` are FastAPI's, JSON-safe."""

    value: bytes = b""
    seconds: float = 0.0
    moras: int = 0
    errors: list[Error] | None = None


def decode(model: str, body: bytes) -> Decoded:
    """Read a body as AudioQuery, AccentPhrases or AccentedPhrases; other models raise KeyError."""
    read = _READERS[model]
    try:
        return read(_json(body), len(body))
    except _Refused as refused:
        return Decoded(errors=safe_errors(refused.errors, len(body) <= MAX_ECHO_BYTES))
    except ValidationError as error:
        return Decoded(errors=safe_errors(_at_body(error), len(body) <= MAX_ECHO_BYTES))
    except UnicodeEncodeError:
        return Decoded(errors=[_error("string_unicode", (), "Half of a surrogate pair stands alone", None)])


class _Refused(Exception):  # noqa: N818 - reads as a sentence where it is raised
    def __init__(self, *errors: Error) -> None:
        self.errors = errors


def _json(body: bytes) -> Any:
    try:
        value = json.loads(body) if body.strip() else None
    except json.JSONDecodeError as error:
        raise _Refused(_not_json(error.pos, error.msg)) from None
    except UnicodeDecodeError as error:
        raise _Refused(_not_json(error.start, "Not UTF-8")) from None
    except RecursionError:
        raise _Refused(_not_json(0, "Nested too deep")) from None
    except ValueError:  # an integer of thousands of digits
        raise _Refused(_not_json(0, "Number too long")) from None
    if value is None:
        raise _Refused(_error("missing", (), "Field required", None))
    return value


def _not_json(position: int, message: str) -> Error:
    return _error("json_invalid", (position,), "JSON decode error", {}) | {"ctx": {"error": message}}


def _error(kind: str, location: Location, message: str, value: object) -> Error:
    return {"type": kind, "loc": ("body", *location), "msg": message, "input": value}


def _at_body(error: ValidationError) -> Iterator[Error]:
    for detail in error.errors(include_url=False):
        yield {**detail, "loc": ("body", *detail["loc"])}


def _audio_query(raw: Any, size: int) -> Decoded:
    field: Location = ("accent_phrases",)
    if isinstance(raw, dict):
        _check_count(raw.get("accent_phrases"), size, field)
    query = _QUERY.validate_python(raw, from_attributes=True)
    _check_phrases(query.accent_phrases, field, complete=True, accented=False)
    seconds = sound_seconds(query)
    _check_sound(query, seconds)
    return Decoded(msgspec.msgpack.encode(_QUERY.dump_python(query)), seconds, _count(query.accent_phrases))


def _accent_phrases(raw: Any, size: int, accented: bool) -> Decoded:
    _check_count(raw, size, ())
    phrases = _PHRASES.validate_python(raw, from_attributes=True)
    _check_phrases(phrases, (), complete=False, accented=accented)
    return Decoded(msgspec.msgpack.encode(_PHRASES.dump_python(phrases)), 0.0, _count(phrases))


def _check_count(phrases: Any, size: int, location: Location) -> None:
    """Before anything is built: each wrong element would become an error that is much larger than itself."""
    if not isinstance(phrases, list):
        return
    moras = (phrase.get("moras") for phrase in phrases if isinstance(phrase, dict))
    count = len(phrases) + sum(len(each) for each in moras if isinstance(each, list))
    most = min(MAX_MORAS, max(FEW, size // MIN_BYTES_EACH))
    if count > most:
        message = f"A body of {size} bytes should have at most {most} accent phrases and morae, not {count}"
        raise _Refused(_error("too_long", location, message, None))


def _check_phrases(phrases: Sequence[AccentPhrase], at: Location, complete: bool, accented: bool) -> None:
    """What one field says of another. `complete`: every consonant has its length."""
    errors: list[Error] = []
    for number, phrase in enumerate(phrases):
        for index, mora in enumerate(phrase.moras):
            if error := _mora_error(mora, complete):
                errors.append(_within(error, *at, number, "moras", index))
        if phrase.pause_mora is not None and (error := _mora_error(phrase.pause_mora, complete)):
            errors.append(_within(error, *at, number, "pause_mora"))
        if accented and not 1 <= phrase.accent <= len(phrase.moras):
            message = f"Input should be a mora of the phrase, from 1 to {len(phrase.moras)}"
            errors.append(_error("accent_out_of_range", (*at, number, "accent"), message, phrase.accent))
    if errors:
        raise _Refused(*errors)


def _mora_error(mora: Mora, complete: bool) -> Error | None:
    if mora.consonant is None:
        if mora.consonant_length is not None:
            message = "There should be no length without a consonant"
            return _error("length_without_consonant", ("consonant_length",), message, mora.consonant_length)
    elif mora.vowel in SILENT:
        return _error("consonant_in_silence", ("consonant",), "A silence should have no consonant", mora.consonant)
    elif complete and mora.consonant_length is None:
        return _error("missing", ("consonant_length",), "A consonant should have a length", None)
    return None


def _within(error: Error, *outer: str | int) -> Error:
    return error | {"loc": ("body", *outer, *error["loc"][1:])}


def _check_sound(query: AudioQuery, seconds: float) -> None:
    samples = seconds * query.outputSamplingRate * (2 if query.outputStereo else 1)
    if seconds > MAX_SECONDS or samples > MAX_SAMPLES:
        message = (
            f"The sound should be at most {MAX_SECONDS:.0f} s and {MAX_SAMPLES} samples long; "
            f"this is {seconds:.6g} s and {samples:.6g} samples"
        )
        raise _Refused(_error("sound_too_long", (), message, None))


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
}
