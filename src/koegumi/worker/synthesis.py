"""A synthesis lane: an AudioQuery to a WAV file."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from koegumi.audio import finish
from koegumi.schema.plain import AudioQuery
from koegumi.voices.catalog import Catalog
from koegumi.voices.interface import Device, Places, Run, SynthesisVoice
from koegumi.wire.messages import Call, Loading, SynthesisCall, WorkerConfig
from koegumi.worker.handlers import Answer


class SynthesisHandlers:
    def __init__(self, catalog: Catalog, voices: Mapping[str, SynthesisVoice]) -> None:
        self._catalog = catalog
        self._voices = voices

    @property
    def device(self) -> str:
        return next((voice.device for voice in self._voices.values() if voice.device != "cpu"), "cpu")

    def answer(self, call: Call, run: Run) -> Answer:
        if not isinstance(call, SynthesisCall):
            raise TypeError(f"not a call for a synthesis lane: {type(call).__name__}")
        query = msgspec.msgpack.decode(call.query, type=AudioQuery)
        voice = self._voices[self._catalog.style(call.style_id).family.name]
        wave = voice.synthesis(query, call.style_id, call.enable_interrogative_upspeak, run)
        run.check()
        wav = finish(wave, voice.sampling_rate, query.volume_scale, query.output_sampling_rate, query.output_stereo)
        return Answer("audio/wav", wav)


def open_synthesis_handlers(
    config: WorkerConfig, places: Places, catalog: Catalog, progress: Callable[[Loading], None]
) -> SynthesisHandlers:
    families = {
        entry.family.name: entry.family for entry in catalog.styles.values() if entry.speaker.lane == config.lane
    }
    voices: dict[str, SynthesisVoice] = {}
    for done, family in enumerate(families.values()):
        progress(Loading(done, len(families), family.name))
        voices[family.name] = family.open_synthesis(places, Device(config.device, config.threads))
    return SynthesisHandlers(catalog, voices)
