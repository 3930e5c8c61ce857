"""Long texts in pieces: nothing is lost, everything fits, and cuts are where they hurt least."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from koegumi.schema.text_length import text_seconds
from koegumi.voices.bark.texts import MOST_CHARACTERS, MOST_SECONDS, sentences

ALPHABET = st.sampled_from("ab A,.;!?'\"\n)」。、！声♪[1]…　")


@given(st.text(ALPHABET, max_size=1200) | st.text(max_size=1200))
def test_nothing_is_lost_and_everything_fits(text: str) -> None:
    pieces = sentences(text)
    assert "".join("".join(pieces).split()) == "".join(text.split())
    for piece in pieces:
        assert piece.strip() == piece != ""
        assert len(piece) <= MOST_CHARACTERS
        assert text_seconds(piece) <= MOST_SECONDS


@pytest.mark.parametrize("text", ["Hello.", "[laughs] ♪ la la ♪", "3.14 is a number. So is 2.", "WHY not?!"])
def test_what_fits_is_left_alone(text: str) -> None:
    assert sentences(text) == [text]


@pytest.mark.parametrize(
    ("unit", "count"),
    [
        ("It costs 3.14 dollars, doesn't it? ", 20),
        ('He said: "No!" ', 30),
        ("これは長い文章です。", 20),
        ("「はい！」", 40),
        ("a line without a full stop\n", 20),
    ],
)
def test_a_long_text_is_cut_behind_sentences(unit: str, count: int) -> None:
    pieces = sentences(unit * count)
    assert len(pieces) > 1
    for piece in pieces:
        assert piece.replace(unit.strip(), "").strip() == ""


@pytest.mark.parametrize(("unit", "end"), [("one clause, ", ","), ("節です、", "、"), ("word ", "d")])
def test_a_long_sentence_is_cut_behind_clauses_or_words(unit: str, end: str) -> None:
    pieces = sentences(unit * 100)
    assert len(pieces) > 1
    assert all(piece.endswith(end) for piece in pieces)
