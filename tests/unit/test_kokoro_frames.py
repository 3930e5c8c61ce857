"""Where groups sound, and the warp that carries edited lengths."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from koegumi.schema.plain import AccentPhrase, AudioQuery
from koegumi.voices.kokoro.frames import MIN_SILENCE, Group, find_groups, token_starts, warp
from koegumi.voices.kokoro.pieces import pieces
from koegumi.voices.kokoro.synthesis import SAMPLES_PER_UNIT, place
from koegumi.voices.kokoro.tokens import Tokens, tokenize
from koegumi.voices.timeline import Timeline, flatten, seconds, timeline
from tests.unit.kokoro_morae import mora, phrases, spoken
from tests.unit.test_kokoro_tokens import VOCABULARY

TIMELINE = spoken("カ キャ 、 / ア オ")
# pad, k a kʲ a, comma, space, a o, full stop, pad
UNITS = np.array([12, 3, 4, 2, 1, 9, 3, 2, 4, 20, 5, 1])
SOUND, SILENCE = 8.0, -9.0


def tokens_of(timeline: Timeline) -> Tokens:
    (piece,) = pieces(timeline)
    return tokenize(timeline, piece, VOCABULARY)


def energy(*sounding: tuple[int, int]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    curve = np.full(2 * int(UNITS.sum()), SILENCE)
    for start, stop in sounding:
        curve[start:stop] = SOUND
    return curve


def test_the_sound_leads_its_tokens() -> None:
    assert token_starts(np.array([4, 2, 3])).tolist() == [-5, 3, 7, 13]


def test_edges_come_from_the_energy_and_the_inside_from_the_tokens() -> None:
    starts = token_starts(UNITS)
    first, second = int(starts[1]), int(starts[8])
    curve = energy((first - 3, int(starts[5]) + 7), (second + 1, int(starts[9]) + 12))
    groups = find_groups(tokens_of(TIMELINE), UNITS, curve)
    assert groups[0].bounds.tolist() == [first - 4, *starts[2:4], starts[5], starts[5] + 8]
    assert groups[1].bounds.tolist() == [second, second, starts[9], starts[9], starts[9] + 12]


def test_a_release_begins_where_the_energy_falls() -> None:
    starts = token_starts(UNITS)
    vowel = int(starts[9])
    curve = energy((int(starts[1]), int(starts[5]) + 6), (int(starts[8]), vowel + 12))
    curve[vowel + 5 : vowel + 12] = np.linspace(6.5, 0.0, 7)
    assert find_groups(tokens_of(TIMELINE), UNITS, curve)[1].release == vowel + 5


def test_a_comma_that_the_model_does_not_stop_at_is_cut_at_its_quietest() -> None:
    starts = token_starts(UNITS)
    curve = energy((int(starts[1]), int(starts[9]) + 12))
    quiet = int(starts[6]) + 3
    curve[quiet] = 5.0
    first, second = find_groups(tokens_of(TIMELINE), UNITS, curve)
    assert first.stop == second.start
    assert abs(first.stop - quiet) <= 1


GROUPS = [Group(np.array([19, 25, 33, 37, 45]), 41), Group(np.array([67, 67, 75, 75, 91]), 85)]


def test_unedited_lengths_change_nothing() -> None:
    same = warp(UNITS, GROUPS, [np.diff(group.bounds) // 2 for group in GROUPS])
    assert same.units.tolist() == UNITS.tolist()
    curve = np.random.default_rng(1).normal(size=2 * int(UNITS.sum()))
    assert (same.apply(curve) == curve).all()


def test_a_longer_vowel_moves_what_follows_and_keeps_its_release() -> None:
    lengths = [np.diff(group.bounds) // 2 for group in GROUPS]
    lengths[1][-1] += 12
    longer = warp(UNITS, GROUPS, lengths)
    start, stop = longer.groups[1][-2:]
    assert stop - start == 16 + 24
    ramp = np.zeros(2 * int(UNITS.sum()))
    ramp[85:91] = [5, 4, 3, 2, 1, 0]
    assert longer.apply(ramp)[stop - 6 : stop].tolist() == [5, 4, 3, 2, 1, 0]


@given(st.lists(st.integers(0, 40), min_size=8, max_size=8))
def test_any_lengths_are_kept_to_the_unit(lengths: list[int]) -> None:
    wanted = [np.array(lengths[:4]), np.array(lengths[4:])]
    edited = warp(UNITS, GROUPS, wanted)
    assert [np.diff(bounds).tolist() for bounds in edited.groups] == [(2 * w).tolist() for w in wanted]
    assert (edited.units >= 0).all()
    frames = 2 * int(edited.units.sum())
    assert edited.groups[0][0] >= MIN_SILENCE - 5
    assert edited.groups[1][0] - edited.groups[0][-1] >= MIN_SILENCE
    assert edited.groups[1][-1] <= frames
    assert len(edited.apply(np.zeros(2 * int(UNITS.sum())))) == frames


LENGTHS = st.floats(0, 3).map(lambda length: round(length, 3))
MORA = st.builds(mora, st.sampled_from(["カ", "ア", "ン", "ッ"]), LENGTHS)
PHRASES = st.lists(
    st.builds(
        AccentPhrase,
        st.lists(MORA, min_size=1, max_size=70),
        st.just(1),
        st.none() | st.builds(mora, st.just("、"), LENGTHS),
    ),
    max_size=5,
)


@given(PHRASES, LENGTHS, LENGTHS, st.floats(0.5, 2))
def test_the_whole_is_the_sum_of_its_parts(
    given_phrases: list[AccentPhrase], pre: float, post: float, speed: float
) -> None:
    query = AudioQuery(given_phrases, speed_scale=speed, pre_phoneme_length=pre, post_phoneme_length=post)
    flat = timeline(query, False)
    places, total = place(flat, pieces(flat))
    assert abs(total - 24000 * sum(map(seconds, flat.moras))) <= SAMPLES_PER_UNIT / 2 + 2
    ordered = [places[group] for piece in pieces(flat) for group in piece]
    assert all(one.stop <= other.start for one, other in itertools.pairwise(ordered))
    if ordered:
        assert ordered[0].start == round(24000 * pre / speed)


def test_the_silences_at_both_ends_are_exact() -> None:
    query = AudioQuery(phrases("カ ナ"), pre_phoneme_length=0.0123, post_phoneme_length=1.4567)
    flat = timeline(query, False)
    places, total = place(flat, pieces(flat))
    (group,) = places.values()
    assert (group.start, total - group.stop) == (round(0.0123 * 24000), round(1.4567 * 24000))


def test_no_phrases_are_silence_alone() -> None:
    flat = timeline(AudioQuery([], pre_phoneme_length=0.1, post_phoneme_length=0.2), True)
    assert place(flat, pieces(flat)) == ({}, 7200)


def test_an_empty_timeline_has_no_pieces() -> None:
    assert pieces(flatten([])) == []
