"""Bark as a family. The front imports this: models, tokenizer and ONNX Runtime are imported where they are used."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING

from koegumi.schema.plain import AccentPhrase
from koegumi.voices.bark.prepared import find_prepared
from koegumi.voices.interface import Capability, Device, Places, Progress, Speaker, Style, StyleFiles

if TYPE_CHECKING:
    from koegumi.voices.bark.voice import BarkVoice

LANE = "bark"
NAME = "Bark"
VERSION = "1.0"
REAL_TIME_FACTOR = 5.0
# What the model does by itself, or not at all.
UNSUPPORTED_FIELDS = (
    "accent_phrases",
    "speedScale",
    "pitchScale",
    "intonationScale",
    "pauseLength",
    "pauseLengthScale",
)
EXTRAS = ("temperature", "top_k", "top_p", "min_eos_p", "seed")


class NoQuery:
    """There is nothing to fill in."""

    def mora_length(self, phrases: Sequence[AccentPhrase], style_id: int) -> list[AccentPhrase]:
        return list(phrases)

    def mora_pitch(self, phrases: Sequence[AccentPhrase], style_id: int) -> list[AccentPhrase]:
        return list(phrases)

    def mora_data(self, phrases: Sequence[AccentPhrase], style_id: int) -> list[AccentPhrase]:
        return list(phrases)


class BarkFamily:
    name = "bark"

    def find(self, places: Places) -> list[Speaker]:
        prepared = find_prepared(places)
        files = StyleFiles(icon=prepared.icon, samples=())
        styles = prepared.style_ids()
        return [
            Speaker(
                name=NAME,
                uuid=str(uuid.uuid5(uuid.NAMESPACE_URL, f"koegumi/bark/{NAME}")),
                version=VERSION,
                styles=tuple(Style(number, name or "no preset", files) for name, number in styles.items()),
                policy=resources.files(__package__).joinpath("policy.md").read_text(encoding="utf-8"),
                portrait=prepared.portrait,
                capabilities=frozenset({Capability.TALK_TEXT, Capability.TALK_SYNTHESIS, Capability.BATCH}),
                lane=LANE,
                real_time_factor=REAL_TIME_FACTOR,
                supported_features={"permitted_synthesis_morphing": "NOTHING"},
                unsupported_fields=UNSUPPORTED_FIELDS,
                extras=EXTRAS,
            )
        ]

    def prepare(self, places: Places, device: str, progress: Progress) -> None:
        """Nothing without a folder to prepare from: the weights are the user's."""
        if (source := places.sources.get(self.name)) is not None:
            from koegumi.voices.bark.install import install

            install(source, places, device, progress)

    def open_query(self, places: Places, device: Device) -> NoQuery:
        return NoQuery()

    def open_synthesis(self, places: Places, device: Device) -> BarkVoice:
        """`device.options`: precision, offload, batch, fine_window, memory. Raises NotPrepared."""
        from koegumi.voices.bark.voice import open_voice

        return open_voice(find_prepared(places), device)


FAMILY = BarkFamily()
