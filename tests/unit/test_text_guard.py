import itertools
import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from koegumi.text.front_end import FrontEnd
from koegumi.text.guard import Piece, full_width, pieces

KANA = frozenset(map(chr, [*range(0x3041, 0x3097), *range(0x30A1, 0x30F7), 0x30FC]))
LETTERS = frozenset(map(chr, [*range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B)]))

texts = st.lists(
    st.tuples(st.text(alphabet="えアッーｱﾞaWきゃ。、 \n\0漢1😀？", min_size=1, max_size=4), st.integers(1, 1200)),
    max_size=6,
).map(lambda parts: "".join(text * count for text, count in parts))


def longest_word(text: str) -> int:
    """The bytes of the longest word that fillers could be joined to: kana, and letters that stand alone."""
    longest = current = 0
    previous = ""
    for character in text:
        if character in KANA:
            current += 3
        elif character in LETTERS:
            current = (0 if previous in LETTERS else current) + 15
        else:
            current = 0
        longest = max(longest, current)
        previous = character
    return longest


@given(texts)
@example("え" * 343 + "w" + "え" * 343)
@example("w" * 3000 + "えw" * 400)
@example("え\n" * 400)
def test_every_piece_is_within_the_limits_and_nothing_is_lost(text: str) -> None:
    found = pieces(text)
    assert "".join(piece.text for piece in found) == full_width(text).replace("\n", "")
    for piece in found:
        assert len(piece.text.encode()) <= 8191
        assert longest_word(piece.text) <= 1023


@pytest.mark.parametrize(
    "text",
    [
        "あ" * 341,
        "w" * 2730,
        "漢" * 2730,
        "日本語の文。\n" * 455,
        "えw、" * 910,
        "wwえww" * 546,
        "😀" * 2047,
    ],
    ids=lambda text: text[:6],
)
def test_a_text_within_the_limits_goes_in_whole(text: str) -> None:
    assert len(pieces(text)) == 1


def test_a_long_text_is_cut_after_its_last_sentence_that_fits() -> None:
    sentence = "「今日は３．５度です。」"
    assert pieces(sentence * 300) == [Piece(sentence * 227, True), Piece(sentence * 73, True)]


def test_without_sentences_it_is_cut_at_a_weaker_mark_and_then_anywhere() -> None:
    words = "漢字、" * 1000
    assert [len(piece.text) for piece in pieces(words)] == [2730, 270]
    assert all(piece.pause for piece in pieces(words))
    assert pieces("漢" * 3000) == [Piece("漢" * 2730, False), Piece("漢" * 270, False)]


def test_a_run_of_kana_is_cut_where_a_mora_begins_or_at_a_newline() -> None:
    assert pieces("え" * 344) == [Piece("え" * 341, False), Piece("え" * 3, False)]
    assert [len(piece.text) for piece in pieces("ぎゃ" * 200)] == [340, 60]
    verse = "かきくけこ" * 4 + "\n"
    assert [len(piece.text) for piece in pieces(verse * 20)] == [340, 60]


def test_what_the_native_code_cannot_take_is_left_out() -> None:
    assert pieces("\0あ\ud800\x7f\tﾞ") == [Piece("あ", False)]
    assert pieces("") == pieces("\n\0\n") == []


def test_the_full_width_form_is_what_open_jtalk_makes_itself() -> None:
    open_jtalk = FrontEnd()._open_jtalk
    half_width_kana = [chr(code) for code in range(0xFF61, 0xFFA0)]
    voiced = ["".join(pair) for pair in itertools.product(half_width_kana, "ﾞﾟ")]
    for raw in [*string.printable, "\x7f", *half_width_kana, *voiced, "ａ", "é", "漢", "😀", "が"]:
        ours = full_width(raw).replace("\n", "")
        assert full_width(ours) == ours
        text = f"橋{raw}橋{raw}{raw}"
        guarded = full_width(text).replace("\n", "")
        assert open_jtalk.run_frontend(guarded) == open_jtalk.run_frontend(text), raw
