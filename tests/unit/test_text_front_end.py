import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from koegumi.text.features import read_english
from koegumi.text.front_end import DICTIONARY_VARIABLE, DictionaryMissing, FrontEnd
from koegumi.text.kana import create_kana, parse_kana
from koegumi.text.labels import accent_phrases
from tests.unit.test_text_kana import numberless

CASES = json.loads((Path(__file__).parents[1] / "data" / "text_to_accent_phrases.json").read_text())["cases"]

# Reads a JSON list of texts, writes the kana notation of each.
SPEAK = """
import json, sys
from koegumi.text.front_end import FrontEnd
from koegumi.text.kana import create_kana
front_end = FrontEnd()
for text in json.load(sys.stdin):
    print(json.dumps(create_kana(front_end.accent_phrases(text))), flush=True)
"""


@pytest.fixture(scope="module")
def front_end() -> FrontEnd:
    return FrontEnd()


def spoken_elsewhere(texts: list[str]) -> list[str]:
    """The kana notation of each, from a process of its own, where native code may crash."""
    child = subprocess.run([sys.executable, "-c", SPEAK], input=json.dumps(texts), capture_output=True, text=True)
    answers = [json.loads(line) for line in child.stdout.splitlines()]
    assert child.returncode == 0, f"died with {child.returncode} on {texts[len(answers) : len(answers) + 1]}"
    return answers


@pytest.mark.parametrize(
    "case", [case for case in CASES if not case["uses_engine_default_dictionary"]], ids=lambda case: case["text"][:20]
)
def test_phrases_are_the_references(front_end: FrontEnd, case: dict[str, Any]) -> None:
    phrases = front_end.accent_phrases(case["text"])
    assert [numberless(phrase) for phrase in phrases] == case["accent_phrases"]
    assert create_kana(phrases) == case["kana"]
    spelled = case.get("accent_phrases_without_katakana_english")
    if spelled is not None:
        phrases = front_end.accent_phrases(case["text"], enable_katakana_english=False)
        assert [numberless(phrase) for phrase in phrases] == spelled


def test_a_character_name_is_read_by_the_rules_alone(front_end: FrontEnd) -> None:
    (case,) = [case for case in CASES if case["uses_engine_default_dictionary"]]
    phrases = front_end.accent_phrases(case["text"])
    assert [numberless(phrase) for phrase in phrases] == case["accent_phrases_without_engine_default_dictionary"]


def test_numbers_start_at_zero(front_end: FrontEnd) -> None:
    phrases = front_end.accent_phrases("雨、飴。")
    morae = [mora for phrase in phrases for mora in [*phrase.moras, phrase.pause_mora] if mora is not None]
    assert {(mora.consonant_length, mora.vowel_length, mora.pitch) for mora in morae} == {(None, 0, 0), (0, 0, 0)}
    assert all((mora.consonant is None) == (mora.consonant_length is None) for mora in morae)


@pytest.mark.parametrize(
    "text",
    ["", " ", "\n", " !", "?", "。。。", "……", "「」", '😊"', "👨‍👩‍👧‍👦", "🇯🇵", "――", "\0", "\ud83d", "？" * 300],
)
def test_nothing_to_say_is_no_phrase(front_end: FrontEnd, text: str) -> None:
    assert front_end.accent_phrases(text) == []


@pytest.mark.parametrize("text", ["172.16.0.1", "192.168.100.200", "v1.2.3", "「――は」"])
def test_every_accent_is_within_its_phrase(front_end: FrontEnd, text: str) -> None:
    phrases = front_end.accent_phrases(text)
    assert phrases
    assert all(1 <= phrase.accent <= len(phrase.moras) for phrase in phrases)


@pytest.mark.parametrize(
    "word",
    ["pneumonoultramicroscopicsilicovolcanoconiosis", "Honorificabilitudinitatibus", "Antidisestablishmentarianism"],
)
def test_long_english_words_are_read(front_end: FrontEnd, word: str) -> None:
    phrases = front_end.accent_phrases(word)
    assert phrases
    assert all(1 <= phrase.accent <= len(phrase.moras) <= 48 for phrase in phrases)


@pytest.mark.parametrize(("one", "other"), [("８７", "87"), ("１２３円", "123円"), ("３．１４", "3.14"), ("ｶﾞ", "ガ")])
def test_width_does_not_matter(front_end: FrontEnd, one: str, other: str) -> None:
    assert front_end.accent_phrases(one) == front_end.accent_phrases(other)


def test_a_question_is_the_same_in_text_and_notation(front_end: FrontEnd) -> None:
    assert front_end.accent_phrases("ですか？") == parse_kana("デ'_スカ？")


def test_what_killed_the_native_code_is_spoken() -> None:
    query = json.dumps({"accent_phrases": [{"moras": [{"text": "コ", "consonant": "k", "pitch": 5.6}]}] * 150})
    sentence = "今日は良い天気ですね。"
    texts = ["え" * 344, "ア" * 2734, "？" * 2735, sentence * 249, query, "え\n" * 400, "ｳﾞ" * 400, "ぎゃ" * 400]
    texts += ["ア" * 2700, "一wえ" * 1000, "😀" * 3000, "w" * 20_000, "漢" * 20_000]
    answers = spoken_elsewhere([sentence, *texts])
    for text, answer in zip(texts, answers[1:], strict=True):
        assert bool(answer) == (text[0] not in "？😀"), text[:10]
    assert answers[4] == "、".join([answers[0]] * 249)


def test_no_random_text_kills_the_native_code() -> None:
    pools = [
        "えアッヴゎゐぁー",
        "ぎゃぢゅヴャ",
        "wW一二第i",
        "ｱｶﾞﾊﾟｰﾞ",
        "、。？！…　",
        "漢字橋端々",
        "0123,.-",
        "😀\u200d\u3099\ufe0f",
    ]
    pools += [
        "😀\u200d\u3099\ufe0f",
        "\0\n\t\r \x7f",
        "éдκ한①\ufeff\U0010ffff\ud800",
        "{\"a': \\~`}",
        "ですますしきくーう？",
    ]
    choose = random.Random(20)
    texts = []
    for _ in range(60):
        pool = "".join(choose.sample(pools, choose.randint(1, 3)))
        unit = "".join(choose.choices(pool, k=choose.choice([1, 2, 3, 50, 400])))
        texts.append((unit * choose.choice([1, 5, 345, 3000]))[: choose.choice([50, 700, 6000, 20_000])])
    assert len(spoken_elsewhere(texts)) == len(texts)


def test_pieces_are_joined_as_one_text_would_be() -> None:
    words = "漢字" * 20
    for end in "。、":
        once, whole = spoken_elsewhere([words + end, (words + end) * 80])
        assert whole == "、".join([once] * 80)


def test_no_pause_is_made_where_a_text_had_no_mark() -> None:
    assert "、" not in spoken_elsewhere(["漢字" * 2000])[0]


@pytest.mark.parametrize("text", [case["text"] for case in CASES], ids=lambda text: text[:20])
def test_labels_made_in_chunks_say_the_same(front_end: FrontEnd, text: str) -> None:
    open_jtalk = front_end._open_jtalk
    whole = open_jtalk.make_label(read_english(open_jtalk.run_frontend(text)))
    assert front_end.accent_phrases(text) == accent_phrases(whole)


def test_a_missing_dictionary_is_named_and_not_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch() -> None:
        raise AssertionError("tried to download")

    monkeypatch.setattr("pyopenjtalk._extract_dic", fetch)
    with pytest.raises(DictionaryMissing, match=str(tmp_path)):
        FrontEnd(tmp_path)
    monkeypatch.setenv(DICTIONARY_VARIABLE, str(tmp_path))
    with pytest.raises(DictionaryMissing, match=DICTIONARY_VARIABLE):
        FrontEnd()
