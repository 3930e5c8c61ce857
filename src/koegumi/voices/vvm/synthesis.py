"""Sound by a VVM's decoders: speech from frames of phonemes and pitches, songs with volumes as well."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from koegumi.schema.plain import AccentPhrase, AudioQuery, Mora
from koegumi.schema.score import FRAMES_A_SECOND
from koegumi.voices.interface import FreeRun, Integers, Run, VoiceError
from koegumi.voices.timeline import timeline
from koegumi.voices.vvm.domains import FRAME_DECODE, SING, STREAMING_TALK, TALK
from koegumi.voices.vvm.features import (
    MARGIN,
    PADDING,
    REST,
    SAMPLES_A_FRAME,
    Floats,
    Frames,
    cuts,
    frames_of,
)
from koegumi.voices.vvm.lazily import Lazily
from koegumi.voices.vvm.models import Models

OPERATIONS = {
    TALK: ("decode",),
    STREAMING_TALK: ("generate_full_intermediate", "render_audio_segment"),
    FRAME_DECODE: ("sf_decode",),
}
SAMPLING_RATE = 24_000
# All of a query's sound is held at once.
MAX_SECONDS = 900
# A decoder's memory grows with its frames: what is longer is cut in pauses. The reference does not cut.
LONGEST_PIECE = round(30 * FRAMES_A_SECOND)
SHORTEST_CUT_PAUSE = 8
SEGMENT = round(8 * FRAMES_A_SECOND)


class VvmSynthesis(Lazily):
    sampling_rate = SAMPLING_RATE

    def __init__(self, models: Models) -> None:
        super().__init__(models)
        self.device = models.device.kind

    def warm_up(self) -> None:
        """On a GPU the first voice speaks at once, so that what the device lacks shows at the start."""
        if self.device != "cpu":
            talking = [style_id for style_id in self._models.styles if self._talk_domain(style_id) is not None]
            for style_id in talking[:1]:
                moras = [Mora("ア", None, None, "a", 0.1, 5.0)] * 3
                self.synthesis(AudioQuery([AccentPhrase(moras, 1)]), style_id, False, FreeRun())

    def _domains(self, style_id: int) -> list[str]:
        if self._models.styles[style_id] in (FRAME_DECODE, SING):
            return [FRAME_DECODE]
        talk = self._talk_domain(style_id)
        return [talk] if talk is not None else []

    def _talk_domain(self, style_id: int) -> str | None:
        """Whole decoders go before those that render segments."""
        if self._models.styles[style_id] not in (TALK, STREAMING_TALK):
            return None
        return TALK if self._models.has(style_id, TALK) else STREAMING_TALK

    # Speech.

    def synthesis(self, query: AudioQuery, style_id: int, enable_interrogative_upspeak: bool, run: Run) -> Floats:
        domain = self._talk_domain(style_id)
        if domain is None:
            raise VoiceError("this style sings, and does not talk")
        speak = self._decode if domain == TALK else self._render_all
        return np.concatenate([speak(piece, style_id, run) for piece in _pieces(query, enable_interrogative_upspeak)])

    def segments(
        self, query: AudioQuery, style_id: int, enable_interrogative_upspeak: bool, seconds: float, run: Run
    ) -> Iterator[Floats]:
        if self._talk_domain(style_id) is None or not self._models.has(style_id, STREAMING_TALK):
            raise VoiceError("this style does not stream")
        pieces = _pieces(query, enable_interrogative_upspeak)
        longest = max(1, int(seconds * FRAMES_A_SECOND))
        return (wave for piece in pieces for wave in self._segments(piece, longest, style_id, run))

    def _decode(self, frames: Frames, style_id: int, run: Run) -> Floats:
        wave = self._sound(style_id, TALK, "decode", frames.padded(), len(frames) + 2 * PADDING, run)
        return wave[PADDING * SAMPLES_A_FRAME : -PADDING * SAMPLES_A_FRAME]

    def _render_all(self, frames: Frames, style_id: int, run: Run) -> Floats:
        return np.concatenate([np.zeros(0, np.float32), *self._segments(frames, SEGMENT, style_id, run)])

    def _segments(self, frames: Frames, longest: int, style_id: int, run: Run) -> Iterator[Floats]:
        state = self.intermediate(frames, style_id, run)
        for start in range(0, len(frames), longest):
            yield self.render(state, start, min(start + longest, len(frames)), style_id, run)

    def intermediate(self, frames: Frames, style_id: int, run: Run) -> Floats:
        """Features that segments are rendered from: a row a frame, and `MARGIN` more at both ends."""
        run.check()
        state: Floats = self._models.run(
            style_id, STREAMING_TALK, "generate_full_intermediate", frames.padded(), run.options()
        )
        if len(state) != len(frames) + 2 * PADDING:
            raise VoiceError(f"the voice gave {len(state)} frames for {len(frames) + 2 * PADDING}")
        return state[PADDING - MARGIN : len(state) - (PADDING - MARGIN)]

    def render(self, state: Floats, start: int, stop: int, style_id: int, run: Run) -> Floats:
        """The samples of the frames from `start` to `stop`. What is rendered side by side joins without a seam."""
        part = state[start : stop + 2 * MARGIN]
        wave = self._sound(style_id, STREAMING_TALK, "render_audio_segment", {"spec": part}, len(part), run)
        return wave[MARGIN * SAMPLES_A_FRAME : -MARGIN * SAMPLES_A_FRAME]

    # Song.

    def sing(self, phonemes: Integers, f0: Floats, volume: Floats, style_id: int, run: Run) -> Floats:
        _require_length(len(phonemes))
        bounds = cuts((phonemes == REST) & (f0 == 0), LONGEST_PIECE, SHORTEST_CUT_PAUSE)
        parts = [np.zeros(0, np.float32)]
        for start, stop in pairwise(bounds):
            rows: dict[str, NDArray[Any]] = {
                "frame_phonemes": phonemes[None, start:stop],
                "frame_f0s": f0[None, start:stop],
                "frame_volumes": volume[None, start:stop],
            }
            if stop > start:
                parts.append(self._sound(style_id, FRAME_DECODE, "sf_decode", rows, stop - start, run))
        return np.concatenate(parts)

    def _sound(
        self, style_id: int, domain: str, operation: str, inputs: dict[str, NDArray[Any]], frames: int, run: Run
    ) -> Floats:
        """All samples of so many frames. Raises VoiceError."""
        run.check()
        wave: Floats = self._models.run(style_id, domain, operation, inputs, run.options()).reshape(-1)
        if len(wave) != frames * SAMPLES_A_FRAME:
            raise VoiceError(f"the voice's {operation} gave {len(wave)} samples for {frames} frames")
        return wave


def _pieces(query: AudioQuery, enable_interrogative_upspeak: bool) -> list[Frames]:
    frames = frames_of(timeline(query, enable_interrogative_upspeak))
    _require_length(len(frames))
    bounds = cuts(frames.phonemes == REST, LONGEST_PIECE, SHORTEST_CUT_PAUSE)
    return [frames.part(start, stop) for start, stop in pairwise(bounds)]


def _require_length(frames: int) -> None:
    seconds = frames / FRAMES_A_SECOND
    if seconds > MAX_SECONDS:
        raise VoiceError(f"{seconds:.0f} s of sound are too long for one query: at most {MAX_SECONDS} s")
