"""Files come back as they were written, and no text breaks out of its field."""

from __future__ import annotations

import string
import uuid
from typing import TypeVar

import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from koegumi.schema.stored import CorsPolicyMode, Preset, Setting
from koegumi.schema.words import UserDictWord, WordTypes
from koegumi.state import presets, setting, user_dict
from koegumi.state.files import Format

T = TypeVar("T")

KANA = "".join(map(chr, range(ord("ァ"), ord("ヴ") + 1))) + "ー"
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
# What formats stumble over; all of Unicode takes long to draw from.
TEXTS = st.text(string.printable + "\0\x7f\x85\xa0é犬ｱ　\u2028\ufeff\ufffe\uffff\U0001f600", max_size=12)


@st.composite
def words(draw: st.DrawFn) -> UserDictWord | None:
    """A word as a client may ask for it; None where that is refused."""
    try:
        made = user_dict.new_word(
            draw(TEXTS),
            draw(st.text(alphabet=KANA, min_size=1, max_size=8)),
            draw(st.integers(0, 3)),
            draw(st.sampled_from(WordTypes)),
            draw(st.integers(0, 10)),
        )
        return UserDictWord.model_validate(made.model_dump() | {"yomi": draw(TEXTS), "stem": draw(TEXTS)})
    except ValidationError:
        return None


@given(st.lists(words(), max_size=5))
def test_words_come_back_and_have_a_row_of_15_fields_each(drawn: list[UserDictWord | None]) -> None:
    kept = {str(uuid.uuid4()): word for word in drawn if word is not None}
    assert user_dict.FORMAT.parse(user_dict.FORMAT.render(kept)) == (kept, None)
    lines = user_dict.rows(kept).decode().split("\n")[:-1]
    assert len(lines) == len(kept)
    for line in lines:
        assert len(line.split(",")) == 15
        assert '"' not in line


PRESETS = st.lists(
    st.builds(
        Preset,
        id=st.integers(-(2**31), 2**31 - 1),
        name=TEXTS,
        speaker_uuid=TEXTS,
        style_id=st.integers(0, 2**31 - 1),
        speedScale=NUMBERS,
        pitchScale=NUMBERS,
        intonationScale=NUMBERS,
        volumeScale=NUMBERS,
        prePhonemeLength=NUMBERS,
        postPhonemeLength=NUMBERS,
        pauseLength=st.none() | NUMBERS,
        pauseLengthScale=NUMBERS,
    ),
    unique_by=lambda preset: preset.id,
    max_size=5,
)


@given(PRESETS)
def test_presets_come_back(listed: list[Preset]) -> None:
    data = presets.FORMAT.render(listed)
    assert presets.FORMAT.parse(data) == (listed, None)
    assert isinstance(yaml.safe_load(data), list)


@given(PRESETS, st.integers(-2, 3) | st.just(2**31 - 1))
def test_a_preset_that_is_added_has_an_id_of_its_own(listed: list[Preset], number: int) -> None:
    preset = Preset.model_validate(
        dict.fromkeys(Preset.model_fields, 0) | {"id": number, "name": "new", "speaker_uuid": "", "pauseLength": None}
    )
    after, given_id = presets.added(listed, preset)
    assert len({each.id for each in after}) == len(listed) + 1
    assert after[-1].id == given_id >= 0
    assert given_id == number or number < 0 or number in {each.id for each in listed}


@given(st.sampled_from(CorsPolicyMode), st.none() | TEXTS)
def test_settings_come_back(mode: CorsPolicyMode, allowed: str | None) -> None:
    kept = Setting(cors_policy_mode=mode, allow_origin=allowed)
    assert setting.FORMAT.parse(setting.FORMAT.render(kept)) == (kept, None)


def settled(format_: Format[T], data: bytes) -> bool:
    value = format_.parse(data).value
    return format_.parse(format_.render(value)) == (value, None)


@given(st.binary(max_size=99) | st.text("[]{}:-,\n \"'&*!|>%@`#?~0aé", max_size=40).map(str.encode))
def test_any_file_is_read_or_complained_about(data: bytes) -> None:
    assert settled(user_dict.FORMAT, data)
    assert settled(presets.FORMAT, data)
    assert settled(setting.FORMAT, data)
