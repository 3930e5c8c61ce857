"""The words that Open JTalk finds in a text (NJD features), and what is done to them before they become labels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypedDict

from koegumi.text.katakana import katakana

_WORD = re.compile("[A-Za-z]+")
_HALF_WIDTH = {code + 0xFEE0: code for code in range(0x21, 0x7F)}
_PAUSES = ("、", "？")
_SMALL_KANA = frozenset("ァィゥェォャュョヮ")

# A phrase is cut at this many morae (one less is kept), so what follows in it need not be labelled.
MOST_MORAE = 49


class Feature(TypedDict):
    """One word. `pron` is its sound in katakana with ー, and ’ after a devoiced mora; 、 or ？ for a mark.
    `chain_flag` 1 continues the accent phrase of the word before."""

    string: str
    pos: str
    pos_group1: str
    pos_group2: str
    pos_group3: str
    ctype: str
    cform: str
    orig: str
    read: str
    pron: str
    acc: int
    mora_size: int
    chain_rule: str
    chain_flag: int


def read_english(features: Sequence[Feature]) -> list[Feature]:
    """English words that Open JTalk would spell are read, and the space between two English words is no pause."""
    words = [_read_english(feature) for feature in features]
    return [
        word
        for place, word in enumerate(words)
        if not (
            0 < place < len(words) - 1
            and (word["string"], word["pron"]) == ("　", "、")
            and _is_english(words[place - 1])
            and _is_english(words[place + 1])
        )
    ]


def _is_english(feature: Feature) -> bool:
    return _WORD.fullmatch(feature["string"].translate(_HALF_WIDTH)) is not None


def _read_english(feature: Feature) -> Feature:
    if feature["pos"] != "フィラー" or feature["chain_rule"] != "*" or not _is_english(feature):
        return feature
    reading = katakana(feature["string"].translate(_HALF_WIDTH))
    return {
        **feature,
        "pos": "名詞",
        "pos_group1": "固有名詞",
        "pos_group2": "一般",
        "pos_group3": "*",
        "ctype": "*",
        "cform": "*",
        "read": reading,
        "pron": reading,
        "acc": 1,
        "mora_size": sum(kana not in _SMALL_KANA for kana in reading),
        "chain_rule": "*",
        "chain_flag": -1,
    }


def chunks(features: Sequence[Feature]) -> Iterator[tuple[list[Feature], bool]]:
    """The features in chunks that can be labelled one by one, and whether a pause follows each.

    Labels are relative to an accent phrase in all that we read of them, and making them takes time that grows with
    the square of their number: 19 s for 2,700 letters at once. A chunk begins where an accent phrase surely does:
    not at a mark, not at a word that continues the phrase, nor at one that lengthens the vowel before it.
    """
    chunk: list[Feature] = []
    for feature in features:
        if _begins_phrase(feature) and chunk:
            yield _bounded(chunk), chunk[-1]["pron"] in _PAUSES
            chunk = []
        if chunk or feature["pron"] not in _PAUSES:  # a mark before any word says nothing, and is warned about
            chunk.append(feature)
    if chunk:
        yield _bounded(chunk), chunk[-1]["pron"] in _PAUSES


def _begins_phrase(feature: Feature) -> bool:
    return feature["chain_flag"] != 1 and not feature["pron"].startswith((*_PAUSES, "ー", "’"))


def _bounded(chunk: Sequence[Feature]) -> list[Feature]:
    """The chunk without the words that only lengthen a phrase past its cut: 2 s of work for 2,700 kanji."""
    kept: list[Feature] = []
    kana = 0
    for feature in chunk:
        is_mark = feature["pron"] in _PAUSES
        if is_mark:
            kana = 0
        elif kana > 2 * MOST_MORAE:  # a mora is at most two kana
            continue
        kana += len(feature["pron"].replace("’", ""))
        kept.append(feature)
    return kept
