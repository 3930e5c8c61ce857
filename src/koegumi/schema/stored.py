# ruff: noqa: N815 - the names on the wire are VOICEVOX's
"""Presets and settings, as clients send them and as their files hold them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from koegumi.schema.models import NULL_UNSAID, Model

# Ids are positive in practice; this is what every client can count to.
ID_LIMIT = 2**31
Id = Annotated[int, Field(ge=-ID_LIMIT, lt=ID_LIMIT)]


class Preset(Model):
    """Values for AudioQueries, under a name."""

    id: Id = Field(description="Its id.")
    name: str = Field(description="Its name.")
    speaker_uuid: str = Field(description="The speaker's UUID.")
    style_id: Id = Field(description="The style's id.")
    speedScale: float = Field(description="Speed.")
    pitchScale: float = Field(description="Pitch.")
    intonationScale: float = Field(description="Intonation.")
    volumeScale: float = Field(description="Volume.")
    prePhonemeLength: float = Field(description="Seconds of silence before the speech.")
    postPhonemeLength: float = Field(description="Seconds of silence after the speech.")
    pauseLength: Annotated[float | None, NULL_UNSAID] = Field(
        default=None, title="Pauselength", description="Seconds of every pause; null leaves them as they are."
    )
    pauseLengthScale: float = Field(default=1, description="Factor for every pause.")


class CorsPolicyMode(StrEnum):
    """Which web pages may use the server: all, or those of this machine."""

    all = "all"
    localapps = "localapps"


class Setting(Model):
    """What the setting page changes; `allow_origin` is several origins with spaces between."""

    cors_policy_mode: CorsPolicyMode = CorsPolicyMode.localapps
    allow_origin: str | None = None
