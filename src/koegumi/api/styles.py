"""Parameters that many routes share, and what is asked of a style before any work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Query
from pydantic.json_schema import SkipJsonSchema

from koegumi import __version__
from koegumi.api.errors import UnknownCore, UnsupportedStyle
from koegumi.api.front import Front
from koegumi.voices.catalog import Entry
from koegumi.voices.interface import Capability

StyleId = Annotated[int, Query(description="The style's id.")]
CoreVersion = Annotated[str | SkipJsonSchema[None], Query(description="This server's version, or nothing.")]
Upspeak = Annotated[bool, Query(description="Whether the pitch rises at the end of a question.")]
KatakanaEnglish = Annotated[bool, Query(description="Whether unknown English words are read as katakana.")]


TALK_TYPES = ("talk",)
SONG_TYPES = ("singing_teacher", "frame_decode", "sing")


def check_core(version: str | None, full_stop: str = "。") -> None:
    """There is one core, of this server's version. The reference ends its sentence by a full stop, or not."""
    if version not in (None, "", __version__):
        raise UnknownCore(f"バージョン {version} のコアが見つかりません{full_stop}")


def style_for(
    front: Front, style_id: int, core_version: str | None, capability: Capability, types: Sequence[str] = TALK_TYPES
) -> Entry:
    """Raises UnknownCore, UnknownStyle, UnsupportedStyle."""
    check_core(core_version)
    entry = front.catalog.style(style_id)
    if entry.style.type not in types or capability not in entry.speaker.capabilities:
        raise UnsupportedStyle(style_id)
    return entry
