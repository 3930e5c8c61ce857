"""Words: what is refused and in which words, their file, their rows, importing."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from pydantic import ValidationError

from koegumi.schema.words import UserDictWord, WordTypes, count_morae
from koegumi.state.user_dict import (
    FORMAT,
    KINDS,
    BadWord,
    WordNotFound,
    added,
    check,
    cost_of,
    imported,
    new_word,
    priority_of,
    removed,
    replaced,
    rows,
)

KEY = "a11196ad-caa8-4f4e-8eb3-3d2261c798fd"


def word(surface: str = "テスト", pronunciation: str = "テスト", accent: int = 1, **changes: Any) -> UserDictWord:
    made = new_word(surface, pronunciation, accent, changes.pop("word_type", None), changes.pop("priority", None))
    return made.model_copy(update=changes)


def test_what_a_word_becomes() -> None:
    made = new_word("C++ とは", "シープラ", 0, None, None)
    assert made.model_dump() == {
        "surface": "Ｃ＋＋ とは",
        "priority": 5,
        "context_id": 1348,
        "part_of_speech": "名詞",
        "part_of_speech_detail_1": "固有名詞",
        "part_of_speech_detail_2": "一般",
        "part_of_speech_detail_3": "*",
        "inflectional_type": "*",
        "inflectional_form": "*",
        "stem": "*",
        "yomi": "シープラ",
        "pronunciation": "シープラ",
        "accent_type": 0,
        "mora_count": 4,
        "accent_associative_rule": "*",
    }


def test_all_of_ascii_becomes_full_width() -> None:
    ascii_ = "".join(map(chr, range(0x21, 0x7F)))
    assert new_word(ascii_, "ア", 1, None, None).surface == "".join(chr(code + 0xFEE0) for code in range(0x21, 0x7F))


@pytest.mark.parametrize(
    ("kana", "morae"),
    [
        ("キャット", 3),
        ("ー", 1),
        ("ヴァイオリン", 5),
        ("クヮ", 1),
        ("トゥ", 1),
        ("ウゥ", 2),
        ("ヂャ", 2),
        ("ファッション", 4),
    ],
)
def test_morae(kana: str, morae: int) -> None:
    assert count_morae(kana) == morae


@pytest.mark.parametrize("kana", ["ヮ", "ヮア", "クヮ", "グヮ", "キャッ", "ッア", "ヴ", "ー", "ァ"])
def test_unusual_kana_that_may_be(kana: str) -> None:
    assert word(pronunciation=kana, accent=0).pronunciation == kana


@pytest.mark.parametrize(
    ("kana", "message"),
    [
        ("ッッ", "捨て仮名の連続"),
        ("ッャ", "捨て仮名の連続"),
        ("ャャ", "捨て仮名の連続"),
        ("アヮ", "「くゎ」「ぐゎ」以外の「ゎ」の使用"),
        ("", "有効なカタカナ"),
        ("テス ト", "有効なカタカナ"),
        ("テスト\n", "改行"),
        ("ヵ゛", "有効なカタカナ"),
    ],
)
def test_kana_that_may_not_be(kana: str, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        word(pronunciation=kana, accent=0)


@pytest.mark.parametrize("surface", ["", " ", "　", "ﾞ", "a\tb", "a\x7f", "a\nb", "a\rb", "a\0b"])
def test_surfaces_that_may_not_be(surface: str) -> None:
    with pytest.raises(ValidationError):
        word(surface)


@pytest.mark.parametrize(("field", "text"), [(f, t) for f in ("yomi", "stem") for t in ("a,b", 'a"b', "a\nb", "a\0b")])
def test_no_field_can_become_two(field: str, text: str) -> None:
    with pytest.raises(ValidationError):
        UserDictWord.model_validate(word().model_dump() | {field: text})


def test_the_native_code_has_1023_bytes_for_a_field() -> None:
    assert word("あ" * 341)
    with pytest.raises(ValidationError, match="長すぎます"):
        word("あ" * 342)
    with pytest.raises(ValidationError, match="長すぎます"):
        word("あ" * 340 + "  ")  # two full-width spaces, in the end
    with pytest.raises(ValidationError, match="長すぎます"):
        UserDictWord.model_validate(word().model_dump() | {"stem": "x" * 1024})


def test_the_reading_must_fit_with_every_mora_devoiced() -> None:
    assert word(pronunciation="シ" * 170)
    with pytest.raises(ValidationError, match="長すぎます"):
        word(pronunciation="シ" * 171)


@pytest.mark.parametrize(("accent", "morae"), [(-1, None), (4, None), (10**30, None), (3, 2), (0, -1), (1, 4)])
def test_accents_stay_within_the_word(accent: int, morae: int | None) -> None:
    with pytest.raises(ValidationError, match="誤った"):
        UserDictWord.model_validate(word().model_dump() | {"accent_type": accent, "mora_count": morae})


@pytest.mark.parametrize("word_type", WordTypes)
def test_priorities_come_back_from_costs(word_type: WordTypes) -> None:
    for priority in range(11):
        made = word(word_type=word_type, priority=priority)
        assert priority_of(made.context_id, cost_of(made)) == priority
        assert list(KINDS[word_type].costs) == sorted(KINDS[word_type].costs)


@pytest.mark.parametrize(("cost", "priority"), [(-32768, 10), (8600, 5), (8700, 4), (8671, 5), (8672, 4), (99999, 0)])
def test_any_cost_has_its_nearest_priority(cost: int, priority: int) -> None:
    assert priority_of(1348, cost) == priority


def test_a_row_is_mecab_s() -> None:
    made = word("C++", "シープラ", 2, word_type=WordTypes.VERB, priority=10)
    assert rows({KEY: made}).decode() == ("Ｃ＋＋,642,642,3100,動詞,自立,*,*,*,*,*,シープラ,シープラ,2/4,*\n")


def test_the_file_is_the_reference_s() -> None:
    data = FORMAT.render({KEY: word(priority=8)})
    (fields,) = json.loads(data).values()
    assert "priority" not in fields
    assert (fields["cost"], fields["context_id"], fields["mora_count"]) == (4768, 1348, 3)
    assert FORMAT.parse(data) == ({KEY: word(priority=8)}, None)


def test_a_file_of_old_has_no_context_id_and_no_mora_count() -> None:
    (fields,) = json.loads(FORMAT.render({KEY: word()})).values()
    del fields["context_id"], fields["mora_count"]
    assert FORMAT.parse(json.dumps({KEY: fields}).encode()).value == {KEY: word()}


@pytest.mark.parametrize(
    "change",
    [
        {"context_id": 5},
        {"cost": "cheap"},
        {"cost": None},
        {"pronunciation": "abc"},
        {"part_of_speech": "動詞"},
        {"surface": "a\nb"},
        {"accent_type": 9},
    ],
)
def test_one_bad_word_costs_no_other(change: dict[str, Any]) -> None:
    other = str(uuid.uuid4())
    raw = json.loads(FORMAT.render({KEY: word(), other: word("犬")}))
    raw[KEY] |= change
    parsed = FORMAT.parse(json.dumps(raw).encode())
    assert parsed.value == {other: word("犬")}
    assert parsed.complaint is not None
    assert KEY in parsed.complaint


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"a": 1}', b"\xff", b'{"a": {', b"[" * 9999])
def test_files_that_are_none(data: bytes) -> None:
    parsed = FORMAT.parse(data)
    assert parsed.value == {}
    assert parsed.complaint


def test_adding_replacing_removing() -> None:
    words, key = added({KEY: word()}, word("犬"))
    assert set(words) == {KEY, key}
    assert replaced(words, key, word("猫"))[key].surface == "猫"
    assert set(removed(words, key)) == {KEY}
    with pytest.raises(WordNotFound):
        replaced(words, "nope", word())
    with pytest.raises(WordNotFound):
        removed(words, "nope")


def test_importing() -> None:
    other = str(uuid.uuid4())
    ours, theirs = {KEY: word("犬")}, {KEY: word("猫"), other: word("鳥")}
    assert {key: each.surface for key, each in imported(ours, theirs, True).items()} == {KEY: "猫", other: "鳥"}
    assert {key: each.surface for key, each in imported(ours, theirs, False).items()} == {KEY: "犬", other: "鳥"}


@pytest.mark.parametrize("rule", ["*", "C1", "C5"])
def test_words_that_may_be_imported(rule: str) -> None:
    check(KEY, word(accent_associative_rule=rule))
    check(KEY.upper(), word(word_type=WordTypes.VERB))


@pytest.mark.parametrize(
    ("key", "made"),
    [
        ("zz", word()),
        ("{" * 50 + KEY, word()),
        (KEY, word(context_id=1)),
        (KEY, word(context_id=642)),
        (KEY, word(part_of_speech_detail_3="一般")),
        (KEY, word(accent_associative_rule="C6")),
        (KEY, word(word_type=WordTypes.VERB, accent_associative_rule="C1")),
    ],
)
def test_words_that_may_not(key: str, made: UserDictWord) -> None:
    with pytest.raises(BadWord):
        check(key, made)
