import json
from pathlib import Path

from koegumi.text.moras import CONSONANTS, KANA_OF, PHONEMES_OF, VOWELS, mora_at

TABLE = json.loads((Path(__file__).parents[1] / "data" / "mora_table.json").read_text())["moras"]
# The reference's phonemes, in the order of their ids.
PHONEMES = "pau A E I N O U a b by ch cl d dy e f g gw gy h hy i j k kw ky m my n ny o p py r ry s sh".split()
PHONEMES += "t ts ty u v w y z".split()


def test_the_table_is_the_references() -> None:
    assert {row["kana"]: (row["consonant"], row["vowel"]) for row in TABLE} == PHONEMES_OF
    assert {(row["consonant"], row["vowel"]): row["kana"] for row in TABLE if row["canonical"]} == KANA_OF


def test_every_phoneme_of_the_models_is_known() -> None:
    assert {*PHONEMES, "sil"} == CONSONANTS | VOWELS
    assert not CONSONANTS & VOWELS


def test_the_longest_mora_wins() -> None:
    assert mora_at("アキャア", 1) == "キャ"
    assert mora_at("アキ", 1) == "キ"
    assert mora_at("ア", 1) is None
    assert mora_at("あ", 0) is None
