"""The sounds that are kept for the next morphing: within their room, the last used stay."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from koegumi.api.halves import Halves, key_of
from koegumi.schema.plain import AudioQuery

STEPS = st.lists(st.tuples(st.integers(0, 5), st.none() | st.integers(0, 60)), max_size=40)


@given(STEPS)
def test_against_a_list(steps: list[tuple[int, int | None]]) -> None:
    halves = Halves(most_bytes=100)
    model: list[tuple[int, bytes]] = []  # the last used stands last
    for number, size in steps:
        key = (number, True, b"")
        known = dict(model).get(number)
        if size is None:
            assert halves.get(key) == known
            if known is not None:
                model = [item for item in model if item[0] != number] + [(number, known)]
            continue
        wave = bytes([number]) * size
        halves.put(key, wave)
        model = [item for item in model if item[0] != number] + [(number, wave)]
        while sum(len(kept) for _, kept in model) > 100:
            model.pop(0)


def test_what_is_too_large_drives_nothing_out() -> None:
    halves = Halves(most_bytes=10)
    halves.put((1, True, b""), b"12345")
    halves.put((2, True, b""), b"x" * 11)
    assert halves.get((1, True, b"")) == b"12345"
    assert halves.get((2, True, b"")) is None


def test_rate_channels_and_kana_make_no_other_half() -> None:
    query = AudioQuery([], volume_scale=2.0)
    same = AudioQuery([], volume_scale=2.0, output_sampling_rate=48000, output_stereo=True, kana="ア'")
    assert key_of(query, 1, True) == key_of(same, 1, True)
    others = [key_of(AudioQuery([]), 1, True), key_of(query, 2, True), key_of(query, 1, False)]
    assert len({key_of(query, 1, True), *others}) == 4
