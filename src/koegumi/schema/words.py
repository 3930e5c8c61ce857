"""A word of the user dictionary, with every rule for its fields; the messages are the reference's.

Beside its rules stand the limits of the native code: Open JTalk copies each field of a word into 1,024 bytes without
looking, and its reading once more with a mark of 3 bytes behind every mora that it devoices.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from koegumi.schema.models import NULL_UNSAID, Model

MIN_PRIORITY, MAX_PRIORITY = 0, 10
DEFAULT_CONTEXT_ID = 1348
NATIVE_BYTES = 1023
_DEVOICED_BYTES = 3

_FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
# Spaces, and voicing marks that stand alone, which Open JTalk drops.
_SILENT = " 　ﾞﾟ"
_SMALL = frozenset("ァィゥェォャュョヮッ")
# Two kana that are one mora, by their second; every other kana is a mora by itself.
_FIRST_KANA = {
    "ァ": "クグツフヴ",
    "ィ": "ウキギクグスズツテデニヒビピフミリヴ",
    "ゥ": "トド",
    "ェ": "イウキギクグシジチツデニヒビピフミリヴ",
    "ォ": "ウクグツフヴ",
    "ャ": "キギシジチテデニヒビピミリヴ",
    "ュ": "キギシジチテデニヒビピミリヴ",
    "ョ": "キギシジチテデニヒビピミリヴ",
    "ヮ": "クグ",
}
_TWO_KANA = re.compile("|".join(f"[{first}]{second}" for second, first in _FIRST_KANA.items()))


class WordTypes(StrEnum):
    """What part of speech a word is."""

    PROPER_NOUN = "PROPER_NOUN"
    COMMON_NOUN = "COMMON_NOUN"
    VERB = "VERB"
    ADJECTIVE = "ADJECTIVE"
    SUFFIX = "SUFFIX"


def count_morae(pronunciation: str) -> int:
    """How many morae this katakana is."""
    return len(pronunciation) - len(_TWO_KANA.findall(pronunciation))


def _one_line(text: str) -> str:
    """Nothing that would end a line or the text; the compiler's file has a line for each word."""
    if "\n" in text or "\r" in text:
        raise ValueError("ユーザー辞書データ内に改行が含まれています。")
    if "\0" in text:
        raise ValueError("ユーザー辞書データ内にnull文字が含まれています。")
    return text


def _one_field(text: str) -> str:
    """Nothing that would end a field or quote one."""
    if "," in text:
        raise ValueError("ユーザー辞書データ内にコンマが含まれています。")
    if '"' in text:
        raise ValueError("ユーザー辞書データ内にダブルクォーテーションが含まれています。")
    return _short(text)


def _short(text: str) -> str:
    # A space becomes a full-width one on its way.
    size = len(text.replace(" ", "　").encode())
    if size > NATIVE_BYTES:
        raise ValueError(f"ユーザー辞書データが長すぎます({size}バイト)。 expect: <= {NATIVE_BYTES}")
    return text


def _surface(text: str) -> str:
    surface = _short(text.translate(_FULL_WIDTH))
    if not surface.strip(_SILENT) or any(ord(letter) < 0x20 or ord(letter) == 0x7F for letter in surface):
        raise ValueError("表層形が空か、制御文字を含んでいます。")
    return surface


def _pronunciation(kana: str) -> str:
    if not re.fullmatch("[ァ-ヴー]+", kana):
        raise ValueError("発音は有効なカタカナでなくてはいけません。")
    for place, (before, letter) in enumerate(zip(" " + kana, kana, strict=False)):
        if before in _SMALL and letter in _SMALL and (letter != "ッ" or before == "ッ"):
            raise ValueError("無効な発音です。(捨て仮名の連続)")
        if letter == "ヮ" and place > 0 and before not in "クグ":
            raise ValueError("無効な発音です。(「くゎ」「ぐゎ」以外の「ゎ」の使用)")
    size = len(kana.encode()) + _DEVOICED_BYTES * count_morae(kana)
    if size > NATIVE_BYTES:
        raise ValueError(f"発音が長すぎます({size}バイト)。 expect: <= {NATIVE_BYTES}")
    return kana


Line = Annotated[str, AfterValidator(_one_line)]
FieldText = Annotated[Line, AfterValidator(_one_field)]
Surface = Annotated[Line, AfterValidator(_surface)]
Pronunciation = Annotated[FieldText, AfterValidator(_pronunciation)]


class UserDictWord(Model):
    """A word as the dictionary's compiler needs it."""

    surface: Surface = Field(description="How it is written; ASCII becomes full-width.")
    priority: int = Field(ge=MIN_PRIORITY, le=MAX_PRIORITY, description="10 wins over nearly every other word.")
    context_id: int = Field(default=DEFAULT_CONTEXT_ID, description="MeCab's context id.")
    part_of_speech: FieldText = Field(description="Its part of speech.")
    part_of_speech_detail_1: FieldText = Field(description="Its part of speech, more closely.")
    part_of_speech_detail_2: FieldText = Field(description="Its part of speech, more closely still.")
    part_of_speech_detail_3: FieldText = Field(description="Its part of speech, as closely as can be.")
    inflectional_type: FieldText = Field(description="How it is inflected.")
    inflectional_form: FieldText = Field(description="Which inflected form it is.")
    stem: FieldText = Field(description="Its plain form.")
    yomi: FieldText = Field(description="Its reading.")
    pronunciation: Pronunciation = Field(description="Its sound, in katakana.")
    accent_type: int = Field(description="The mora, from 1, after which the pitch falls; 0 for none.")
    mora_count: Annotated[int | None, NULL_UNSAID] = Field(
        default=None, description="How many morae it has; counted where it is not given."
    )
    accent_associative_rule: FieldText = Field(description="How its accent joins others.")

    @model_validator(mode="after")
    def _count(self) -> UserDictWord:
        if self.mora_count is None:
            self.mora_count = count_morae(self.pronunciation)
        elif not 0 <= self.mora_count <= len(self.pronunciation):
            raise ValueError(
                f"誤ったモーラ数です({self.mora_count})。 expect: 0 <= mora_count <= {len(self.pronunciation)}"
            )
        if not 0 <= self.accent_type <= self.mora_count:
            raise ValueError(
                f"誤ったアクセント型です({self.accent_type})。 expect: 0 <= accent_type <= {self.mora_count}"
            )
        return self
