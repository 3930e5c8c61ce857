"""Morae to tokens, and the pieces they are rendered in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from koegumi.schema.phonemes import CONSONANTS, VOWELS
from koegumi.schema.plain import AccentPhrase, Mora
from koegumi.voices.interface import VoiceError
from koegumi.voices.kokoro.pieces import MAX_MORAS, MAX_SECONDS, pieces
from koegumi.voices.kokoro.tokens import MAX_TOKENS, tokenize
from koegumi.voices.timeline import Timeline, flatten, seconds
from tests.unit.kokoro_morae import TABLE, mora, spoken

# The part of Kokoro's vocabulary that Japanese uses, in the order of its ids.
CHARACTERS = ",. ʣʥʦʨᵝabcdehijkmnoprstuvwzçɕɡɨɯŋɲɴɸɾʔːʲβ"
VOCABULARY = {character: number for number, character in enumerate(CHARACTERS, start=1)}
NAMES = {number: character for character, number in VOCABULARY.items()}


def text_of(timeline: Timeline) -> str:
    (piece,) = pieces(timeline)
    ids = tokenize(timeline, piece, VOCABULARY).ids
    assert (ids[0], ids[-1]) == (0, 0)
    return "".join(NAMES[number] for number in ids[1:-1])


@pytest.mark.parametrize(
    ("kana", "tokens"),
    [
        ("コ ン ニ チ ワ", "koɲɲiʨiβa."),
        ("キョ オ", "kʲoː."),
        ("ハ シ オ / ワ タ ル", "haɕio βataɾɯ."),
        ("ハ イ 、 / ソ オ", "hai, soː."),
        ("ガ ッ コ オ", "ɡaʔkoː."),
        ("シ ン ブ ン ト / サ ン", "ɕimbɯnto saɴ."),
        ("ギ ン コ ウ", "ɡʲiŋkoɯ."),
        ("デ _ス", "desɨ."),
        ("ヒ / フ ヂ ヅ", "çi ɸɯʥizɨ."),
        ("クァ ティ トゥ ツィ ヴァ", "kᵝatʲitɯʦʲiva."),
        ("ア ア ア ア", "aːaː."),
        ("ア / ア", "a a."),
        ("キ キュ シュ チュ ニュ リュ", "kʲikʲɨɕɨʨɨɲɨɾʲɨ."),
    ],
)
def test_tokens(kana: str, tokens: str) -> None:
    assert text_of(spoken(kana)) == tokens


def test_every_mora_of_the_table_has_tokens() -> None:
    for row in TABLE:
        assert len(text_of(spoken(row["kana"]))) in (2, 3, 4)


def test_every_pair_of_phonemes_has_tokens() -> None:
    """Clients write morae that no text gives."""
    for consonant in sorted(CONSONANTS):
        for vowel in sorted(VOWELS - {"pau", "sil"}):
            assert text_of(flatten([AccentPhrase([Mora("?", consonant, 0.1, vowel, 0.1, 5.0)], 1)]))


def test_spans_cover_consonant_vowel_and_the_space_behind() -> None:
    timeline = spoken("キャ / ア 、 / ン")
    (piece,) = pieces(timeline)
    tokens = tokenize(timeline, piece, VOCABULARY)
    assert [[(s.mora, s.start, s.vowel, s.stop) for s in group] for group in tokens.groups] == [
        [(0, 1, 3, 5), (1, 5, 5, 6)],
        [(3, 8, 8, 9)],
    ]


def test_pieces_break_at_pauses_first() -> None:
    timeline = spoken(" / ".join(["カ ナ カ ナ カ ナ カ 、"] * 12))
    assert [len(piece) for piece in pieces(timeline)] == [8, 4]


def test_a_long_run_breaks_behind_a_phrase() -> None:
    timeline = spoken(" / ".join(["カ ナ カ ナ カ ナ カ"] * 12))
    assert pieces(timeline) == [(range(56),), (range(56, 84),)]


def test_one_endless_phrase_breaks_anywhere() -> None:
    timeline = spoken(" ".join(["ア"] * 130))
    assert pieces(timeline) == [(range(60),), (range(60, 120),), (range(120, 130),)]


def test_lengths_break_a_piece_only_where_it_would_not_fit() -> None:
    moras = [mora("カ", 4.0) for _ in range(6)]
    assert pieces(flatten([AccentPhrase(moras, 1)])) == [(range(3),), (range(3, 6),)]


def test_a_mora_that_no_piece_can_hold_is_refused() -> None:
    with pytest.raises(VoiceError, match=r"60\.0 s is too long"):
        pieces(flatten([AccentPhrase([mora("ア", 60.0)], 1)]))


def test_a_pause_may_have_any_length() -> None:
    timeline = flatten([AccentPhrase([mora("ア")], 1, mora("、", 1000.0)), AccentPhrase([mora("イ")], 1)])
    assert pieces(timeline) == [(range(1), range(2, 3))]


KANA = [row["kana"] for row in TABLE]
PHRASE = st.builds(
    AccentPhrase,
    st.lists(st.builds(mora, st.sampled_from(KANA), st.floats(0, 6)), min_size=1, max_size=90),
    st.just(1),
    st.none() | st.builds(mora, st.just("、"), st.floats(0, 60)),
)


@given(st.lists(PHRASE, max_size=8))
def test_pieces_hold_every_mora_once_and_fit_the_model(phrases: list[AccentPhrase]) -> None:
    timeline = flatten(phrases)
    parts = pieces(timeline)
    rendered = [index for piece in parts for group in piece for index in group]
    assert rendered == [index for index, m in enumerate(timeline.moras) if m.vowel != "pau"]
    for piece in parts:
        moras = [timeline.moras[index] for group in piece for index in group]
        assert len(moras) <= MAX_MORAS
        assert sum(map(seconds, moras)) <= MAX_SECONDS + 1e-6
        assert len(tokenize(timeline, piece, VOCABULARY).ids) <= MAX_TOKENS
