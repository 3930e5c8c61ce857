"""Kokoro's three sessions as functions of arrays."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from koegumi.voices.interface import Device
from koegumi.voices.kokoro import graph
from koegumi.voices.kokoro.frames import Ints
from koegumi.voices.kokoro.pitch import Floats
from koegumi.voices.kokoro.prepared import Prepared
from koegumi.voices.kokoro.tokens import Tokens
from koegumi.voices.sessions import open_session, packing_key

SAMPLING_RATE = 24000
SAMPLES_PER_FRAME = 300
# The sound of the first token leads its span by 2.5 units, so the pad before it has at least these.
MIN_FIRST_UNITS = 4


@dataclass(frozen=True)
class Prediction:
    """What the model would speak by itself: units [tokens], F0 in Hz and energy [2 x sum of units]."""

    units: Ints
    hertz: Floats
    energy: Floats
    acoustic: NDArray[np.float32]
    style: NDArray[np.float32]


def _packed(prepared: Prepared, model: Path) -> Path:
    """Packed for this machine; as it is where the folder was prepared on another, and for CUDA."""
    packed = prepared.packed(packing_key()) / model.name
    return packed if packed.is_file() else model


class Predictor:
    """Tokens to durations, pitch and energy. It always runs on the CPU, so that pitches are the same everywhere."""

    def __init__(self, prepared: Prepared, threads: int) -> None:
        device = Device("cpu", threads)
        self.vocabulary: dict[str, int] = json.loads(prepared.vocabulary.read_text(encoding="utf-8"))
        with np.load(prepared.voices) as voices:
            self._voices = {name: voices[name].astype(np.float32) for name in voices.files}
        self._encoder = open_session(_packed(prepared, prepared.encoder), device)
        self._prosody = open_session(_packed(prepared, prepared.prosody), device)

    def __call__(self, tokens: Tokens, voice: str, options: Any = None, prosody_options: Any = None) -> Prediction:
        """`options` are RunOptions for each of the two runs."""
        rows = self._voices[voice]
        style = rows[min(len(tokens.ids) - 2, len(rows)) - 1]
        raw, features, acoustic = self._encoder.run(
            [graph.RAW_DURATIONS, graph.PROSODY_FEATURES, graph.ACOUSTIC_FEATURES],
            {graph.TOKENS: np.array([tokens.ids], np.int64), graph.STYLE: style},
            options,
        )
        units = np.maximum(np.rint(raw[0]), 1).astype(np.int64)
        units[0] = max(units[0], MIN_FIRST_UNITS)
        hertz, energy = self._prosody.run(
            [graph.F0, graph.ENERGY],
            {graph.PROSODY_FEATURES: features, graph.DURATIONS: units[None], graph.STYLE: style},
            prosody_options,
        )
        return Prediction(units, hertz[0].astype(np.float64), energy[0].astype(np.float64), acoustic, style)


class Decoder:
    """Durations, pitch and energy to sound."""

    def __init__(self, prepared: Prepared, device: Device) -> None:
        self._session = open_session(_packed(prepared, prepared.require_decoder(device.kind)), device)

    def __call__(
        self, prediction: Prediction, units: Ints, hertz: Floats, energy: Floats, options: Any = None
    ) -> NDArray[np.float32]:
        """Samples at 24 kHz, 600 a unit."""
        (audio,) = self._session.run(
            [graph.AUDIO],
            {
                graph.ACOUSTIC_FEATURES: prediction.acoustic,
                graph.DURATIONS: units[None],
                graph.F0: hertz[None].astype(np.float32),
                graph.ENERGY: energy[None].astype(np.float32),
                graph.STYLE: prediction.style,
            },
            options,
        )
        return np.asarray(audio, np.float32)
