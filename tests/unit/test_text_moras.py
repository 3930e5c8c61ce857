import json
from pathlib import Path

from koegumi.text.moras import KANA_OF, PHONEMES_OF, mora_at

TABLE = json.loads((Path(__file__).parents[1] / "data" / "mora_table.json").read_text())["moras"]


def test_the_table_is_the_references() -> None:
    assert {row["kana"]: (row["consonant"], row["vowel"]) for row in TABLE} == PHONEMES_OF
    assert {(row["consonant"], row["vowel"]): row["kana"] for row in TABLE if row["canonical"]} == KANA_OF


def test_the_longest_mora_wins() -> None:
    assert mora_at("アキャア", 1) == "キャ"
    assert mora_at("アキ", 1) == "キ"
    assert mora_at("ア", 1) is None
    assert mora_at("あ", 0) is None
