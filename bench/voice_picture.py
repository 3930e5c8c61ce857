"""Spectrograms of the teacher and of the imitation, one above the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from numpy.typing import NDArray

from koegumi.schema.phonemes import PHONEMES

matplotlib.use("Agg")
from matplotlib import pyplot

RATE, HOP, SPAN = 24000, 256, 1024


def draw(file: Path, teacher: NDArray[Any], ours: NDArray[Any], labels: NDArray[np.int64]) -> None:
    figure, axes = pyplot.subplots(2, 1, figsize=(11, 6), sharex=True, layout="constrained")
    for axis, wave, title in zip(axes, (teacher, ours), ("teacher: Kokoro", "ours: models/koegumi.vvm"), strict=True):
        axis.imshow(
            _spectrum(wave), origin="lower", aspect="auto", cmap="magma", vmin=-90, vmax=-10, extent=_extent(wave)
        )
        axis.set_title(title, loc="left")
        axis.set_ylabel("kHz")
    starts = np.flatnonzero(np.diff(labels, prepend=-1))
    axes[1].set_xticks(starts * HOP / RATE, [PHONEMES[int(labels[start])] for start in starts], fontsize=7)
    figure.savefig(file, dpi=100)
    pyplot.close(figure)


def _spectrum(wave: NDArray[Any]) -> NDArray[np.float64]:
    padded = np.pad(wave.astype(np.float64), SPAN // 2)
    blocks = np.lib.stride_tricks.sliding_window_view(padded, SPAN)[::HOP] * np.hanning(SPAN)
    return np.asarray(20 * np.log10(np.abs(np.fft.rfft(blocks, axis=1)) / (SPAN / 4) + 1e-6).T, np.float64)


def _extent(wave: NDArray[Any]) -> tuple[float, float, float, float]:
    return 0.0, len(wave) / RATE, 0.0, RATE / 2000
