"""Who can sing: as in `speakers`, for song styles."""

from __future__ import annotations

from fastapi import APIRouter, Request

from koegumi.api.front import TheFront
from koegumi.api.speakers import ResourceFormat, SpeakerUuid, list_speakers, show_speaker
from koegumi.api.styles import SONG_TYPES, CoreVersion, check_core
from koegumi.schema import models

router = APIRouter()


@router.get("/singers", response_model=list[models.Speaker], response_model_exclude_none=True, tags=["voices"])
async def singers(front: TheFront, core_version: CoreVersion = None) -> list[models.Speaker]:
    """List who can sing."""
    check_core(core_version, full_stop="")
    return list_speakers(front, SONG_TYPES)


@router.get("/singer_info", response_model=models.SpeakerInfo, tags=["voices"])
async def singer_info(
    request: Request,
    front: TheFront,
    speaker_uuid: SpeakerUuid,
    resource_format: ResourceFormat = "base64",
    core_version: CoreVersion = None,
) -> models.SpeakerInfo:
    """Show pictures, samples and terms of a singer."""
    check_core(core_version, full_stop="")
    return await show_speaker(request, front, speaker_uuid, SONG_TYPES, resource_format)
