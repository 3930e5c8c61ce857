"""When a queue is full, and when to come back."""

from __future__ import annotations

import pytest

from koegumi.dispatch.admission import LaneLimits, retry_after


@pytest.mark.parametrize(
    ("waiting", "backlog", "cost", "admitted"),
    [
        (0, 0.0, 1e6, True),  # an empty queue takes anything
        (1, 1.0, 599.0, True),
        (1, 1.0, 599.1, False),
        (255, 1.0, 1.0, True),
        (256, 1.0, 1.0, False),
        (1, 1e6, 0.001, False),
    ],
)
def test_limits(waiting: int, backlog: float, cost: float, admitted: bool) -> None:
    assert LaneLimits().admits(waiting, backlog, cost) is admitted


@pytest.mark.parametrize(
    ("backlog", "workers", "seconds"), [(0.2, 4, 1), (8.0, 4, 2), (8.1, 4, 3), (8.0, 0, 8), (0.0, 0, 1)]
)
def test_retry_after_is_in_whole_seconds(backlog: float, workers: int, seconds: int) -> None:
    assert retry_after(backlog, workers) == seconds
