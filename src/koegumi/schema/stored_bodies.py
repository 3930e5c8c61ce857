"""Bodies with what is kept on disk: a preset, and words of another user dictionary."""

from __future__ import annotations

from typing import Any

import msgspec
from pydantic import ValidationError

from koegumi.schema.echo import MAX_ERRORS
from koegumi.schema.reading import FEW, Decoded, Error, Refused, error, located
from koegumi.schema.stored import Preset
from koegumi.schema.words import UserDictWord

PRESET = "Preset"
# Its `value` is a map from UUIDs to the fields of `schema.words.UserDictWord`.
USER_DICT = "UserDict"
# The names of a word's fields alone are longer in JSON.
MIN_WORD_BYTES = 200


def read_preset(raw: Any, size: int) -> Decoded:
    preset = Preset.model_validate(raw, from_attributes=True)
    return Decoded(msgspec.msgpack.encode(preset.model_dump()))


def read_user_dict(raw: Any, size: int) -> Decoded:
    """Word by word, so that a body of wrong ones costs no more than the errors that are shown."""
    if not isinstance(raw, dict):
        raise Refused(error("dict_type", (), "Input should be a valid dictionary", raw))
    most = max(FEW, size // MIN_WORD_BYTES)
    if len(raw) > most:
        raise Refused(error("too_long", (), f"A body of {size} bytes should have at most {most} words", None))
    words: dict[str, dict[str, Any]] = {}
    errors: list[Error] = []
    for word_uuid, fields in raw.items():
        try:
            words[word_uuid] = UserDictWord.model_validate(fields, from_attributes=True).model_dump()
        except ValidationError as invalid:
            errors += located(invalid, word_uuid)
            if len(errors) >= MAX_ERRORS:
                break
    if errors:
        raise Refused(*errors)
    return Decoded(msgspec.msgpack.encode(words))
