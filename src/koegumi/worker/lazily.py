"""Voices whose models are opened late, and files of voices that are not there yet. The same on every lane."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from koegumi.voices.catalog import Catalog, built_in_families
from koegumi.voices.interface import LoadsLazily, ReadsFiles
from koegumi.wire.messages import Checked, Failure
from koegumi.worker.handlers import Answer, Handlers, Refused

NOTHING = Answer("application/msgpack", b"")


def preload(handlers: Handlers, style_ids: Sequence[int] | None) -> None:
    """Open these styles, or all (None). Raises VoiceError."""
    for voice in handlers.voices:
        if isinstance(voice, LoadsLazily):
            for style_id in voice.styles if style_ids is None else voice.styles & set(style_ids):
                voice.load(style_id)


def load(voice: object, style_id: int) -> Answer:
    """Raises VoiceError."""
    if isinstance(voice, LoadsLazily):
        voice.load(style_id)
    return NOTHING


def loaded_styles(catalog: Catalog, voices: Mapping[str, object]) -> frozenset[int]:
    """Styles of these voices, by family, that need nothing more opened."""
    return frozenset(
        style_id
        for style_id, entry in catalog.styles.items()
        if (voice := voices.get(entry.family.name)) is not None
        and (not isinstance(voice, LoadsLazily) or voice.is_loaded(style_id))
    )


def close_idle(voices: Iterable[object], seconds: float) -> float | None:
    """Close what was not used for so long; the seconds until the next may be due, None where nothing is open."""
    due = [voice.close_idle(seconds) for voice in voices if isinstance(voice, LoadsLazily)]
    return min((one for one in due if one is not None), default=None)


def check(path: Path) -> Answer:
    """Raises Refused where the file, or folder, is no good."""
    readers = [family for family in built_in_families() if isinstance(family, ReadsFiles) and family.reads(path)]
    if not readers:
        raise Refused(Failure("library", "it holds no voice"))
    try:
        speakers = [speaker for reader in readers for speaker in reader.check(path)]
    except ValueError as error:
        raise Refused(Failure("library", str(error))) from error
    found = Checked([speaker.uuid for speaker in speakers], [style.id for one in speakers for style in one.styles])
    return Answer("application/msgpack", msgspec.msgpack.encode(found))
