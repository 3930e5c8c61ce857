"""Who can speak, what they look and sound like, and whether they are loaded."""

from __future__ import annotations

import mimetypes
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import anyio.to_thread
from fastapi import APIRouter, HTTPException, Query, Request
from starlette.responses import FileResponse, Response

from koegumi.api.front import Front, TheFront
from koegumi.api.resources import Resources
from koegumi.api.styles import TALK_TYPES, CoreVersion, StyleId, check_core
from koegumi.api.work import QUERY_LANE, load_job, run
from koegumi.schema import models
from koegumi.voices.catalog import Entry
from koegumi.voices.interface import Speaker, Style

router = APIRouter()

SpeakerUuid = Annotated[str, Query(description="The speaker's UUID.")]
ResourceFormat = Annotated[Literal["base64", "url"], Query(description="How pictures and samples are given.")]
SkipReinit = Annotated[bool, Query(description="Whether a loaded style may stay as it is; here it always does.")]
# The name of a resource is the hash of its content.
FOR_A_MONTH = {"Cache-Control": "max-age=2592000"}


def styles_of(speaker: Speaker, types: Sequence[str]) -> list[Style]:
    return [style for style in speaker.styles if style.type in types]


def list_speakers(front: Front, types: Sequence[str]) -> list[models.Speaker]:
    """Who has a style of these types, with those styles only."""
    return [listed(speaker, styles) for speaker in front.catalog.speakers if (styles := styles_of(speaker, types))]


async def show_speaker(
    request: Request, front: Front, speaker_uuid: str, types: Sequence[str], resource_format: str
) -> models.SpeakerInfo:
    """Answers 404 by an exception where no such speaker has a style of these types."""
    speaker = front.catalog.speaker(speaker_uuid)
    styles = styles_of(speaker, types) if speaker else []
    if speaker is None or not styles:
        raise HTTPException(404, "該当するキャラクターが見つかりません")
    resources: Resources = request.app.state.resources
    base_url = str(request.base_url) if resource_format == "url" else None
    try:
        return await anyio.to_thread.run_sync(resources.info, speaker, styles, base_url)
    except OSError:
        raise HTTPException(500, "キャラクター情報が見つかりません") from None


@router.get("/speakers", response_model=list[models.Speaker], response_model_exclude_none=True, tags=["voices"])
async def speakers(front: TheFront, core_version: CoreVersion = None) -> list[models.Speaker]:
    """List who can talk."""
    check_core(core_version, full_stop="")
    return list_speakers(front, TALK_TYPES)


@router.get("/speaker_info", response_model=models.SpeakerInfo, tags=["voices"])
async def speaker_info(
    request: Request,
    front: TheFront,
    speaker_uuid: SpeakerUuid,
    resource_format: ResourceFormat = "base64",
    core_version: CoreVersion = None,
) -> models.SpeakerInfo:
    """Show pictures, samples and terms of a speaker."""
    check_core(core_version, full_stop="")
    return await show_speaker(request, front, speaker_uuid, TALK_TYPES, resource_format)


@router.get("/_resources/{digest}", include_in_schema=False)
async def resource(request: Request, digest: str) -> Response:
    resources: Resources = request.app.state.resources
    file = await anyio.to_thread.run_sync(resources.find, digest)
    if file is None:
        raise HTTPException(404)
    if isinstance(file, Path):
        return FileResponse(file, headers=FOR_A_MONTH)
    try:
        content = await anyio.to_thread.run_sync(file.read_bytes)
    except OSError:
        raise HTTPException(404) from None
    return Response(content, media_type=mimetypes.guess_type(file.name)[0], headers=FOR_A_MONTH)


@router.get("/is_initialized_speaker", tags=["voices"])
async def is_initialized_speaker(front: TheFront, speaker: StyleId, core_version: CoreVersion = None) -> bool:
    """Tell whether a style is loaded: by every worker that may have to speak it."""
    check_core(core_version)
    entry = front.catalog.style(speaker)
    return front.is_ready() and front.is_loaded(entry)


@router.post("/initialize_speaker", status_code=204, tags=["voices"])
async def initialize_speaker(
    request: Request,
    front: TheFront,
    speaker: StyleId,
    skip_reinit: SkipReinit = False,
    core_version: CoreVersion = None,
) -> Response:
    """Have every worker load a style, unless it has, and wait for them."""
    check_core(core_version)
    entry = front.catalog.style(speaker)
    if not front.is_ready() or entry.speaker.lane in front.out_of_service():
        await _wait_for_workers(request, front, entry)
    if (reason := await front.load(entry)) is not None:
        raise HTTPException(500, reason)
    return Response(status_code=204, media_type="application/json")


async def _wait_for_workers(request: Request, front: Front, entry: Entry) -> None:
    """One of each lane, as jobs: they wait in the queues until there is one."""
    for lane in (QUERY_LANE, entry.speaker.lane):
        await run(request, front, load_job(entry, lane))


def listed(speaker: Speaker, styles: list[Style]) -> models.Speaker:
    return models.Speaker(
        name=speaker.name,
        speaker_uuid=speaker.uuid,
        styles=[models.SpeakerStyle.model_validate(style, from_attributes=True) for style in styles],
        version=speaker.version,
        supported_features=_features(speaker),
    )


def _features(speaker: Speaker) -> models.SpeakerSupportedFeatures:
    """What is neither there nor missing is not said."""
    features = models.SpeakerSupportedFeatures.model_validate(speaker.supported_features)
    features.unsupported_query_fields = list(speaker.unsupported_fields) or None
    features.synthesis_parameters = list(speaker.extras) or None
    return features
