"""Sound to frames: WORLD's envelope, aperiodicity and pitch every 256 samples, and labels that tell where silence is.

Frame i stands for samples [256 i, 256 i + 256) and is analysed at its middle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyworld
from models.build.bands import MEASURED, POINTS, encoder
from numpy.typing import NDArray

RATE, HOP, FFT = 24000, 256, 1024
FLOOR_HZ, CEILING_HZ = 60.0, 700.0
# A frame this far below the loud ones (95th percentile) is silent.
SILENT_DB = -40.0
# A shorter silence inside a vowel is left as it is, and only not learnt from.
MIN_GAP = 3

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Frames:
    """[T]: `hertz` 0 where unvoiced, `level` in dB below the loud frames. [T, POINTS] and [T, MEASURED]: ln amplitude
    on the points of the network and of the measure. [T, 3]: aperiodicity in dB."""

    hertz: Floats
    level: Floats
    envelope: Floats
    measured: Floats
    aperiodicity: Floats


def analyse(wave: NDArray[np.float32]) -> Frames:
    count = len(wave) // HOP
    samples = np.pad(wave.astype(np.float64), (0, HOP))[HOP // 2 :]
    samples = samples + 1e-5 * np.random.default_rng(0).standard_normal(len(samples))
    period = 1000 * HOP / RATE
    rough, times = pyworld.dio(samples, RATE, FLOOR_HZ, CEILING_HZ, frame_period=period)
    hertz = pyworld.stonemask(samples, rough, times, RATE)
    power = pyworld.cheaptrick(samples, hertz, times, RATE, fft_size=FFT)
    noise = pyworld.d4c(samples, hertz, times, RATE, fft_size=FFT)
    bands = pyworld.code_aperiodicity(noise, RATE)
    hertz = np.where(noise[:, : FFT // 8].min(axis=1) < 0.99, hertz, 0.0)
    amplitude = 0.5 * np.log(np.maximum(power, 1e-12))
    return Frames(
        hertz[:count],
        level(wave),
        amplitude[:count] @ encoder(POINTS),
        amplitude[:count] @ encoder(MEASURED),
        bands[:count],
    )


def level(wave: NDArray[np.float32]) -> Floats:
    """dB of each frame below the loud ones, over 512 samples about its middle."""
    count = len(wave) // HOP
    padded = np.pad(wave.astype(np.float64), (HOP // 2, HOP))
    window = np.hanning(2 * HOP + 1)[:-1]
    blocks = np.stack([padded[HOP * i : HOP * i + 2 * HOP] for i in range(count)]) * window
    rms = np.sqrt((blocks**2).sum(axis=1) / (window**2).sum()) + 1e-9
    return np.asarray(20 * np.log10(rms / np.percentile(rms, 95)), np.float64)


def spread(values: NDArray[Any], ends: Ints, count: int) -> NDArray[Any]:
    """What holds at the middle of each frame."""
    middles = HOP * np.arange(count) + HOP // 2
    held: NDArray[Any] = values[np.minimum(np.searchsorted(ends, middles, side="right"), len(values) - 1)]
    return held


# Numbers of schema.phonemes by what silence beside them means.
VOWELS = frozenset({1, 2, 3, 4, 5, 6, 7, 14, 21, 30, 40})  # with N and devoiced ones, without the small tsu
CLOSED = frozenset({8, 9, 10, 11, 12, 13, 16, 17, 18, 22, 23, 24, 25, 31, 32, 36, 37, 38, 39})


def relabel(labels: Ints, spans: Ints, quiet: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Labels and phoneme numbers (spans) where silence at an edge of a vowel is no longer the vowel's.

    Before a stop or a small tsu it is theirs, elsewhere a pause. A pause is span -1.
    """
    labels, spans = labels.copy(), spans.copy()
    for span in range(int(spans.max()) + 1):
        at = np.flatnonzero(spans == span)
        if at.size < 2 or int(labels[at[0]]) not in VOWELS:
            continue
        heard = np.flatnonzero(~quiet[at])
        if heard.size == 0:
            continue
        behind, before = at[heard[-1] + 1 :], at[: heard[0]]
        _give(labels, spans, behind, at[-1] + 1)
        _give(labels, spans, before, at[0] - 1)
    return labels, spans


def _give(labels: Ints, spans: Ints, frames: Ints, neighbour: int) -> None:
    if frames.size == 0:
        return
    outside = not 0 <= neighbour < len(labels)
    beside = 0 if outside else int(labels[neighbour])
    if beside in CLOSED:
        labels[frames], spans[frames] = beside, spans[neighbour]
    elif beside == 0 or frames.size >= MIN_GAP:
        labels[frames], spans[frames] = 0, -1
