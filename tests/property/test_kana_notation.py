from hypothesis import given
from hypothesis import strategies as st

from koegumi.text.kana import KanaError, create_kana, parse_kana
from koegumi.text.moras import DEVOICED, PHONEMES_OF


@st.composite
def morae(draw: st.DrawFn) -> str:
    kana = draw(st.sampled_from(sorted(PHONEMES_OF)))
    can_be_devoiced = PHONEMES_OF[kana][1] in DEVOICED
    return "_" + kana if can_be_devoiced and draw(st.booleans()) else kana


@st.composite
def phrases(draw: st.DrawFn) -> str:
    written = draw(st.lists(morae(), min_size=1, max_size=12))
    written.insert(draw(st.integers(1, len(written))), "'")
    return "".join(written) + draw(st.sampled_from(["", "？"]))


@st.composite
def notations(draw: st.DrawFn) -> str:
    written = [draw(phrases())]
    for phrase in draw(st.lists(phrases(), max_size=6)):
        written += [draw(st.sampled_from("/、")), phrase]
    return "".join(written)


@given(notations())
def test_what_is_read_is_written_back(text: str) -> None:
    read = parse_kana(text)
    assert create_kana(read) == text
    assert all(1 <= phrase.accent <= len(phrase.moras) for phrase in read)
    assert read[-1].pause_mora is None


@given(st.text(alphabet=st.sampled_from("アキャンッヮー_'/、？?xあ"), max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read = parse_kana(text)
    except KanaError:
        return
    assert create_kana(read) == text
