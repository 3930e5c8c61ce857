"""Kokoro as a family. The front imports this: models and ONNX Runtime are imported only where they are opened."""

from __future__ import annotations

import json
from importlib import resources
from typing import TYPE_CHECKING, Any

from koegumi.voices.interface import Device, Places, Progress, Speaker, Style, StyleFiles
from koegumi.voices.kokoro.prepared import SAMPLES_PER_STYLE, Prepared, find_prepared

if TYPE_CHECKING:
    from koegumi.voices.kokoro.query import KokoroQuery
    from koegumi.voices.kokoro.synthesis import KokoroSynthesis

VERSION = "1.0"
REAL_TIME_FACTOR = 0.5


class KokoroFamily:
    name = "kokoro"

    def find(self, places: Places) -> list[Speaker]:
        prepared = find_prepared(places)
        policy = resources.files(__package__).joinpath("policy.md").read_text(encoding="utf-8")
        return [_speaker(prepared, policy, **entry) for entry in _entries(prepared)]

    def prepare(self, places: Places, device: str, progress: Progress) -> None:
        from koegumi.voices.kokoro.prepare import prepare

        prepare(places, device, progress)

    def open_query(self, places: Places, device: Device) -> KokoroQuery:
        from koegumi.voices.kokoro.model import Predictor
        from koegumi.voices.kokoro.query import KokoroQuery

        prepared = find_prepared(places)
        return KokoroQuery(Predictor(prepared, device.threads), _voices(prepared))

    def open_synthesis(self, places: Places, device: Device) -> KokoroSynthesis:
        from koegumi.voices.kokoro.model import Decoder, Predictor
        from koegumi.voices.kokoro.synthesis import KokoroSynthesis

        prepared = find_prepared(places)
        predictor = Predictor(prepared, device.threads)
        return KokoroSynthesis(predictor, Decoder(prepared, device), _voices(prepared), device.kind)


def _entries(prepared: Prepared) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(prepared.speakers.read_text(encoding="utf-8"))
    return entries


def _voices(prepared: Prepared) -> dict[int, str]:
    """The voice's name in the model's files, by style id."""
    return {entry["style_id"]: entry["voice"] for entry in _entries(prepared)}


def _speaker(prepared: Prepared, policy: str, voice: str, name: str, uuid: str, style_id: int, style: str) -> Speaker:
    files = StyleFiles(
        icon=prepared.icon(style_id),
        samples=tuple(prepared.sample(style_id, number) for number in range(1, SAMPLES_PER_STYLE + 1)),
    )
    return Speaker(
        name=name,
        uuid=uuid,
        version=VERSION,
        styles=(Style(style_id, style, files),),
        policy=policy,
        portrait=prepared.portrait(voice),
        real_time_factor=REAL_TIME_FACTOR,
        supported_features={"permitted_synthesis_morphing": "ALL"},
    )


FAMILY = KokoroFamily()
