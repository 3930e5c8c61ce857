"""Who may be morphed with whom."""

from __future__ import annotations

from itertools import product

import pytest

from koegumi.api.morphing import is_permitted
from tests.api.fake import BARK, House, catalog

ENTRIES = catalog().styles
ALLOWED = {
    *product([0, 2, BARK], repeat=2),  # of dummy1, and of one that says as little
    *product([1, 3], repeat=2),  # of dummy2, with itself only
}


@pytest.mark.parametrize(("base", "target"), list(product(ENTRIES, repeat=2)))
def test_pairs(base: int, target: int) -> None:
    assert is_permitted(ENTRIES[base], ENTRIES[target]) == ((base, target) in ALLOWED)


def test_targets_are_all_styles_of_talk_and_song() -> None:
    (first, second) = House().ask("POST", "/morphable_targets", json=[1, 0]).json()
    assert set(first) == set(second) == {str(style_id) for style_id in ENTRIES}
    assert {style for style, info in first.items() if info["is_morphable"]} == {"1", "3"}
    assert {style for style, info in second.items() if info["is_morphable"]} == {"0", "2", str(BARK)}
