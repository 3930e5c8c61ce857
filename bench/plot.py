"""The picture of the concurrency experiment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Protocol

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot


class Bars(Protocol):
    label: str
    in_turn: list[float]
    at_once: list[float]


def draw(crews: Sequence[Bars], file: Path) -> None:
    """Four syntheses in turn and at once, for each crew."""
    figure, axes = pyplot.subplots(figsize=(8, 3.2), layout="constrained")
    places = range(len(crews))
    in_turn = axes.barh([place - 0.2 for place in places], [median(crew.in_turn) for crew in crews], 0.38)
    together = axes.barh([place + 0.2 for place in places], [median(crew.at_once) for crew in crews], 0.38)
    for bars in (in_turn, together):
        axes.bar_label(bars, fmt="%.1f s", padding=3)
    axes.set_yticks(list(places), [crew.label for crew in crews])
    axes.invert_yaxis()
    axes.set_xlabel("seconds until all four are there")
    axes.legend([in_turn, together], ["four one after another", "four at once"], loc="lower right")
    axes.margins(x=0.12)
    figure.savefig(file, dpi=120)
    pyplot.close(figure)
