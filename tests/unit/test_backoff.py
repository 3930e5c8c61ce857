"""A slot comes back soon, then later and later, and not for ever."""

from __future__ import annotations

import random

from koegumi.pool.backoff import FIRST, LONGEST, Backoff


def test_the_first_return_is_quick_and_never_immediate() -> None:
    for seed in range(200):
        delay = Backoff(random.Random(seed)).died(0.0)
        assert delay is not None and FIRST / 2 <= delay <= FIRST


def test_delays_grow_to_the_longest_and_no_further() -> None:
    tops = [0.0] * 12
    for seed in range(300):
        backoff = Backoff(random.Random(seed))
        for turn in range(12):
            delay = backoff.died(turn * 61.0)  # too rare to be given up
            assert delay is not None
            tops[turn] = max(tops[turn], delay)
    assert tops[1] > FIRST and tops[3] > tops[1]
    assert LONGEST * 0.9 < max(tops) <= LONGEST


def test_five_deaths_within_a_minute_are_the_end() -> None:
    backoff = Backoff()
    assert [backoff.died(turn * 10.0) is None for turn in range(5)] == [False] * 4 + [True]


def test_a_success_forgives() -> None:
    backoff = Backoff()
    for turn in range(4):
        backoff.died(turn * 1.0)
    backoff.succeeded()
    delay = backoff.died(5.0)
    assert delay is not None and delay <= FIRST


def test_five_deaths_over_more_than_a_minute_are_not_the_end() -> None:
    backoff = Backoff()
    assert all(backoff.died(turn * 16.0) is not None for turn in range(20))
