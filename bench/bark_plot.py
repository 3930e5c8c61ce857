"""The picture of Bark's tables: latency and memory of every row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot


class Bars(Protocol):
    label: str

    @property
    def latency(self) -> float: ...

    @property
    def memory(self) -> float: ...


def draw(tables: Sequence[tuple[str, Sequence[Bars]]], file: Path) -> None:
    """A line of two charts for each table."""
    heights = [len(rows) for _, rows in tables]
    figure, axes = pyplot.subplots(
        len(tables),
        2,
        figsize=(10, 1 + 0.4 * sum(heights)),
        layout="constrained",
        squeeze=False,
        sharey="row",
        height_ratios=heights,
    )
    for line, (title, rows) in zip(axes, tables, strict=True):
        labels = [row.label for row in rows]
        for chart, values, unit in (
            (line[0], [row.latency for row in rows], "seconds"),
            (line[1], [row.memory for row in rows], "MB"),
        ):
            bars = chart.barh(labels, values, color="#4c72b0" if unit == "seconds" else "#dd8452")
            chart.bar_label(bars, fmt="%.1f" if unit == "seconds" else "%.0f", padding=3)
            chart.set_title(f"{title}: {unit}", fontsize=10)
            chart.margins(x=0.15)
        line[0].invert_yaxis()
    figure.savefig(file, dpi=110)
    pyplot.close(figure)
