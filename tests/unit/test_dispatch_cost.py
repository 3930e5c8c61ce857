"""The cost model learns the fixed part and the rate of each key, and no single slow job leads it astray."""

from __future__ import annotations

import random

import pytest

from koegumi.dispatch.cost import CostModel


def test_the_first_guess_counts_until_something_is_measured() -> None:
    model = CostModel()
    assert model.predict("voice", 4.0, 0.3) == pytest.approx(1.2)
    model.observe("voice", 4.0, 0.4, 0.3)
    assert 0.4 < model.predict("voice", 4.0, 0.3) < 1.2
    assert model.predict("another", 4.0, 0.3) == pytest.approx(1.2)


@pytest.mark.parametrize("factor", [0.05, 0.3, 3.0, 10.0])
def test_a_wrong_first_guess_is_forgotten_in_twenty_jobs(factor: float) -> None:
    model = CostModel()
    for _ in range(20):
        model.observe("voice", 5.0, 5.0 * factor, 1.0)
    assert model.predict("voice", 5.0, 1.0) == pytest.approx(5.0 * factor, rel=0.3)


def test_the_fixed_part_of_tiny_jobs_is_learned() -> None:
    model, chance = CostModel(), random.Random(1)
    for _ in range(300):
        units = chance.uniform(0.5, 6.0)
        model.observe("voice", units, (0.2 + 0.1 * units) * chance.uniform(0.9, 1.1), 0.1)
    for units in (0.5, 3.0, 6.0, 12.0):
        assert model.predict("voice", units, 0.1) == pytest.approx(0.2 + 0.1 * units, rel=0.2)


@pytest.mark.parametrize("before", [0, 1, 50])
def test_one_slow_job_moves_the_estimate_by_a_factor_of_two_at_most(before: int) -> None:
    model = CostModel()
    for _ in range(before):
        model.observe("voice", 3.0, 1.0, 1 / 3)
    model.observe("voice", 3.0, 500.0, 1 / 3)
    assert model.predict("voice", 3.0, 1 / 3) <= 2.0


def test_a_long_job_is_never_thought_to_cost_much_less_than_its_share() -> None:
    model, chance = CostModel(), random.Random(2)
    for _ in range(100):  # as if units did not matter: the far end must not follow
        model.observe("voice", chance.uniform(2.0, 10.0), 3.0, 0.5)
    assert model.predict("voice", 600.0, 0.5) > 0.4 * 600 * 3.0 / 6.0


@pytest.mark.parametrize("seed", range(5))
def test_jobs_alike_in_length_tell_no_slope(seed: int) -> None:
    model, chance = CostModel(), random.Random(seed)
    for _ in range(100):
        model.observe("voice", chance.uniform(2.9, 3.1), chance.uniform(0.9, 1.1), 1 / 3)
    assert model.predict("voice", 300.0, 1 / 3) == pytest.approx(100.0, rel=0.2)


def test_nothing_costs_nothing() -> None:
    model = CostModel()
    assert model.predict("voice", 0.0, 0.3) > 0
    model.observe("voice", 0.0, 0.0, 0.0)
    assert model.predict("voice", 0.0, 0.0) > 0
    assert model.predict("voice", 10.0, 0.0) > 0
