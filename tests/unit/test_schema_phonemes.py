"""The phonemes that HTTP accepts are those of the front end, of the models and of the reference's table."""

from __future__ import annotations

import json
from pathlib import Path

from koegumi.schema.phonemes import CONSONANTS, PHONEMES, VOWELS
from koegumi.schema.plain import UNVOICED
from koegumi.text import moras

TABLE = json.loads((Path(__file__).parents[1] / "data" / "mora_table.json").read_text(encoding="utf-8"))["moras"]


def test_every_mora_of_the_table_can_be_sent_back() -> None:
    assert {mora["consonant"] for mora in TABLE} - {None} == CONSONANTS
    assert {mora["vowel"] for mora in TABLE} | UNVOICED == VOWELS


def test_the_front_end_makes_no_others() -> None:
    assert {consonant for consonant, _ in moras.KANA_OF} - {None} == CONSONANTS
    assert {vowel for _, vowel in moras.KANA_OF} | set(moras.VOICED) <= VOWELS


def test_every_phoneme_of_the_models_is_known() -> None:
    assert {*PHONEMES, "sil"} == CONSONANTS | VOWELS
    assert not CONSONANTS & VOWELS
