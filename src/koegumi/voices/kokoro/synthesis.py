"""An AudioQuery to sound, from the query alone: each length and pitch in it is imposed on what the model predicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from koegumi.schema.phonemes import SILENT
from koegumi.schema.plain import AccentPhrase, AudioQuery, Mora
from koegumi.voices.interface import FreeRun, Run, VoiceError
from koegumi.voices.kokoro.frames import UNIT_SECONDS, Ints, find_groups, warp
from koegumi.voices.kokoro.model import SAMPLES_PER_FRAME, SAMPLING_RATE, Decoder, Predictor
from koegumi.voices.kokoro.pieces import Piece, pieces
from koegumi.voices.kokoro.pitch import Contour, Floats, Target, impose
from koegumi.voices.kokoro.tokens import tokenize
from koegumi.voices.timeline import Timeline, consonant_seconds, seconds, timeline

SAMPLES_PER_UNIT = 600
# All of a query's sound is held at once.
MAX_SECONDS = 900.0
# Energy in silences; at -50 dB and below anyway.
SILENCE_ENERGY = -8.0
FADE_SAMPLES = 72

Samples = NDArray[np.float32]


@dataclass(frozen=True)
class Placement:
    """Where a group stands in the sound, in samples, and the lengths of its consonants and vowels in units."""

    start: int
    lengths: Ints

    @property
    def stop(self) -> int:
        return self.start + SAMPLES_PER_UNIT * int(self.lengths.sum())


class KokoroSynthesis:
    sampling_rate = SAMPLING_RATE

    def __init__(self, predictor: Predictor, decoder: Decoder, voices: Mapping[int, str], device: str) -> None:
        self._predictor = predictor
        self._decoder = decoder
        self._voices = voices
        self.device = device

    def synthesis(self, query: AudioQuery, style_id: int, enable_interrogative_upspeak: bool, run: Run) -> Samples:
        spoken = timeline(query, enable_interrogative_upspeak)
        length = sum(map(seconds, spoken.moras))
        if length > MAX_SECONDS:
            raise VoiceError(f"{length:.0f} s of sound are too long for one query: at most {MAX_SECONDS:.0f} s")
        parts = pieces(spoken)
        places, total = place(spoken, parts)
        sound = np.zeros(total, np.float32)
        for piece in parts:
            run.check()
            self._render(spoken, piece, [places[group] for group in piece], self._voices[style_id], run, sound)
        return sound

    def warm_up(self) -> None:
        """Speak once, so that what a device lacks shows at the start and no client waits for its first kernels."""
        moras = [Mora("ア", None, None, "a", 0.1, 5.0)] * 3
        self.synthesis(AudioQuery([AccentPhrase(moras, 1)]), next(iter(self._voices)), False, FreeRun())

    def _render(
        self, spoken: Timeline, piece: Piece, places: Sequence[Placement], voice: str, run: Run, sound: Samples
    ) -> None:
        """Write the groups of one piece into the sound."""
        tokens = tokenize(spoken, piece, self._predictor.vocabulary)
        prediction = self._predictor(tokens, voice, run.options(), run.options())
        groups = find_groups(tokens, prediction.units, prediction.energy)
        edited = warp(prediction.units, groups, [placement.lengths for placement in places])
        targets = list(_targets(spoken, piece, edited.groups))
        hertz = impose(Contour.of(edited.apply(prediction.hertz)), targets)
        energy = _silenced(edited.apply(prediction.energy), edited.groups)
        wave = self._decoder(prediction, edited.units, hertz, energy, run.options())
        for bounds, placement in zip(edited.groups, places, strict=True):
            start, stop = SAMPLES_PER_FRAME * int(bounds[0]), SAMPLES_PER_FRAME * int(bounds[-1])
            sound[placement.start : placement.stop] = _faded(wave[start:stop])


def place(spoken: Timeline, parts: Sequence[Piece]) -> tuple[dict[range, Placement], int]:
    """Where each group stands, and the number of samples of all.

    Speech lies on a grid of 25 ms that begins with each group; what rounding leaves over is made good by what follows,
    so that the whole stays within half a unit of the sum of its parts. The silences at both ends are exact.
    """
    groups = {group.start: group for piece in parts for group in piece}
    places: dict[range, Placement] = {}
    clock = 0.0
    written = 0
    index = 0
    silence = 0.0
    while index < len(spoken.moras):
        if spoken.moras[index].vowel in SILENT:
            length = seconds(spoken.moras[index])
            clock, silence, index = clock + length, silence + length, index + 1
            continue
        group = groups[index]
        start = max(written, round(clock * SAMPLING_RATE))
        places[group] = Placement(start, _lengths(spoken, group, clock - start / SAMPLING_RATE))
        clock += sum(map(seconds, spoken.moras[group.start : group.stop]))
        written, silence, index = places[group].stop, 0.0, group.stop
    return places, written + round(silence * SAMPLING_RATE)


def _lengths(spoken: Timeline, group: range, late: float) -> Ints:
    """Units of each consonant and vowel, by cumulative rounding. `late`: seconds by which the group should begin
    after its place's start."""
    parts = [
        length
        for mora in spoken.moras[group.start : group.stop]
        for length in (consonant_seconds(mora), mora.vowel_length)
    ]
    ends = np.maximum(np.rint((late + np.cumsum(parts)) / UNIT_SECONDS), 0.0)
    return np.diff(ends, prepend=0.0).astype(np.int64)


def _targets(spoken: Timeline, piece: Piece, groups: Sequence[Ints]) -> Iterator[Target]:
    for group, bounds in zip(piece, groups, strict=True):
        for index, start, vowel, stop in zip(group, bounds[::2], bounds[1::2], bounds[2::2], strict=False):
            yield Target(int(start), int(vowel), int(stop), spoken.moras[index].pitch)


def _silenced(energy: Floats, groups: Sequence[Ints]) -> Floats:
    speech = np.zeros(len(energy), bool)
    for bounds in groups:
        speech[bounds[0] : bounds[-1]] = True
    return np.where(speech, energy, np.minimum(energy, SILENCE_ENERGY))


def _faded(wave: Samples) -> Samples:
    """Both ends brought to silence in 3 ms, so that nothing clicks."""
    length = min(FADE_SAMPLES, len(wave) // 2)
    ramp = (np.arange(length, dtype=np.float32) + 0.5) / max(length, 1)
    faded = wave.copy()
    faded[:length] *= ramp
    faded[len(faded) - length :] *= ramp[::-1]
    return faded
