"""A synthesis lane: all work that makes sound."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from koegumi.audio import at_rate, finish
from koegumi.audio.joining import WaveError, join
from koegumi.schema.plain import AudioQuery
from koegumi.schema.score import FrameAudioQuery
from koegumi.voices.catalog import Catalog
from koegumi.voices.interface import (
    BatchSynthesisVoice,
    Device,
    Places,
    Run,
    SongSynthesisVoice,
    SynthesisVoice,
    WarmsUp,
)
from koegumi.wire.messages import (
    Call,
    ConnectCall,
    Failure,
    FrameSynthesisCall,
    LoadCall,
    Loading,
    MorphCall,
    SynthesisCall,
    WaveCall,
    WorkerConfig,
)
from koegumi.worker.handlers import Answer, Refused
from koegumi.worker.lazily import load, loaded_styles
from koegumi.worker.song import SongError, sounding_frames

# Of what passes between jobs, and of songs.
WAVE_RATE = 24_000


class SynthesisHandlers:
    def __init__(self, catalog: Catalog, voices: Mapping[str, SynthesisVoice]) -> None:
        self._catalog = catalog
        self._voices = voices

    @property
    def device(self) -> str:
        return next((voice.device for voice in self._voices.values() if voice.device != "cpu"), "cpu")

    @property
    def batching(self) -> BatchSynthesisVoice | None:
        first, *others = self._voices.values()
        return first if not others and isinstance(first, BatchSynthesisVoice) else None

    @property
    def voices(self) -> Iterable[SynthesisVoice]:
        return self._voices.values()

    @property
    def loaded(self) -> frozenset[int]:
        return loaded_styles(self._catalog, self._voices)

    def warm_up(self) -> None:
        for voice in self._voices.values():
            if isinstance(voice, WarmsUp):
                voice.warm_up()

    def answer(self, call: Call, run: Run) -> Answer:
        match call:
            case SynthesisCall():
                return self._synthesis(call, run)
            case WaveCall():
                return self._wave(call, run)
            case MorphCall():
                return _morph(call, run)
            case ConnectCall():
                return _connect(call, run)
            case FrameSynthesisCall():
                return self._frame_synthesis(call, run)
            case LoadCall():
                return load(self._voice(call.style_id), call.style_id)
            case _:
                raise TypeError(f"not a call for a synthesis lane: {type(call).__name__}")

    def _voice(self, style_id: int) -> SynthesisVoice:
        return self._voices[self._catalog.style(style_id).family.name]

    def _synthesis(self, call: SynthesisCall, run: Run) -> Answer:
        query = msgspec.msgpack.decode(call.query, type=AudioQuery)
        voice = self._voice(call.style_id)
        wave = voice.synthesis(query, call.style_id, call.enable_interrogative_upspeak, run)
        run.check()
        return spoken(wave, voice.sampling_rate, query)

    def _wave(self, call: WaveCall, run: Run) -> Answer:
        query = msgspec.msgpack.decode(call.query, type=AudioQuery)
        voice = self._voice(call.style_id)
        wave = voice.synthesis(query, call.style_id, call.enable_interrogative_upspeak, run)
        run.check()
        samples = at_rate(wave * np.float32(query.volume_scale), voice.sampling_rate, WAVE_RATE)
        return Answer("application/octet-stream", samples.astype("<f4").tobytes())

    def _frame_synthesis(self, call: FrameSynthesisCall, run: Run) -> Answer:
        voice = self._voice(call.style_id)
        if not isinstance(voice, SongSynthesisVoice):
            raise Refused(Failure("unsupported", "this voice does not sing"))
        query = msgspec.msgpack.decode(call.query, type=FrameAudioQuery)
        try:
            wave = voice.sing(*sounding_frames(query), call.style_id, run)
        except SongError as error:
            raise Refused(Failure("score", str(error))) from error
        run.check()
        wav = finish(wave, WAVE_RATE, query.volume_scale, query.output_sampling_rate, query.output_stereo)
        return Answer("audio/wav", wav)


def spoken(wave: NDArray[np.float32], rate: int, query: AudioQuery) -> Answer:
    """What a client gets of a voice's samples."""
    wav = finish(wave, rate, query.volume_scale, query.output_sampling_rate, query.output_stereo)
    return Answer("audio/wav", wav)


def _morph(call: MorphCall, run: Run) -> Answer:
    from koegumi.audio.morphing import morph  # WORLD, only where somebody morphs

    base, target = np.frombuffer(call.base, "<f4"), np.frombuffer(call.target, "<f4")
    wave = morph(base, target, call.morph_rate, run.check)
    return Answer("audio/wav", finish(wave, WAVE_RATE, 1.0, call.output_sampling_rate, call.output_stereo))


def _connect(call: ConnectCall, run: Run) -> Answer:
    try:
        waves = msgspec.json.decode(call.body, type=list[str])
    except (msgspec.DecodeError, UnicodeDecodeError):
        waves = _strings(call.body)
    try:
        return Answer("audio/wav", join(waves, run.check))
    except WaveError as error:
        raise Refused(Failure("wave", str(error))) from error


def _strings(body: bytes) -> list[str]:
    """The slow way, which says what is wrong."""
    from koegumi.schema.http import STRINGS, decode

    decoded = decode(STRINGS, body)
    if decoded.errors is not None:
        raise Refused(Failure("body", "not a list of strings", {"errors": decoded.errors}))
    return msgspec.msgpack.decode(decoded.value, type=list[str])


def open_synthesis_handlers(
    config: WorkerConfig, places: Places, catalog: Catalog, progress: Callable[[Loading], None]
) -> SynthesisHandlers:
    families = {
        entry.family.name: entry.family for entry in catalog.styles.values() if entry.speaker.lane == config.lane
    }
    device = Device(config.device, config.threads, config.options)
    voices: dict[str, SynthesisVoice] = {}
    for done, family in enumerate(families.values()):
        progress(Loading(done, len(families), family.name))
        voices[family.name] = family.open_synthesis(places, device)
    return SynthesisHandlers(catalog, voices)
