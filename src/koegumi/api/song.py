"""Songs: a score to a FrameAudioQuery, its curves anew, and its sound."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response

from koegumi.api.body import decoded, documented
from koegumi.api.document import add_model
from koegumi.api.front import Front, TheFront
from koegumi.api.styles import CoreVersion, StyleId, style_for
from koegumi.api.synthesis import WAV
from koegumi.api.work import answer, song_job, synthesis_job
from koegumi.schema import song
from koegumi.schema.song import FRAME_AUDIO_QUERY, SCORE, SCORE_AND_FRAMES
from koegumi.voices.interface import Capability
from koegumi.wire.messages import FrameSynthesisCall, SongCurveCall, SongQueryCall

router = APIRouter()

TEACHERS = ("singing_teacher", "sing")
DECODERS = ("frame_decode", "sing")

FRAMES_BODY = documented({"$ref": "#/components/schemas/FrameAudioQuery"})


def _curve_body(route: str) -> dict[str, Any]:
    return documented({"$ref": f"#/components/schemas/Body_{route}"})


def document(schemas: dict[str, Any]) -> None:
    """The bodies of songs."""
    parts = ("score", "frame_audio_query")
    models = {"score": "Score", "frame_audio_query": "FrameAudioQuery"}
    for name in ("Body_sing_frame_f0", "Body_sing_frame_volume"):
        properties = {part: {"$ref": f"#/components/schemas/{models[part]}"} for part in parts}
        schemas[name] = {"properties": properties, "type": "object", "required": list(parts), "title": name}
    for model in (song.Score, song.FrameAudioQuery):
        add_model(schemas, model)


@router.post(
    "/sing_frame_audio_query",
    response_model=song.FrameAudioQuery,
    openapi_extra=documented({"$ref": "#/components/schemas/Score"}),
    tags=["song"],
)
async def sing_frame_audio_query(
    request: Request, front: TheFront, speaker: StyleId, core_version: CoreVersion = None
) -> Response:
    """Make the FrameAudioQuery of a score: edit it, or give it to /frame_synthesis as it is."""
    score = await decoded(request, front, SCORE, front.limits.list_bytes)
    entry = style_for(front, speaker, core_version, Capability.SONG, TEACHERS)
    return await answer(
        request, front, song_job(entry, SongQueryCall(msgspec.Raw(score.value), speaker), score.seconds)
    )


@router.post("/sing_frame_f0", response_model=list[float], openapi_extra=_curve_body("sing_frame_f0"), tags=["song"])
async def sing_frame_f0(
    request: Request, front: TheFront, speaker: StyleId, core_version: CoreVersion = None
) -> Response:
    """Make the frequencies of a FrameAudioQuery anew, for its lengths."""
    return await _curve(request, front, speaker, core_version, volume=False)


@router.post(
    "/sing_frame_volume", response_model=list[float], openapi_extra=_curve_body("sing_frame_volume"), tags=["song"]
)
async def sing_frame_volume(
    request: Request, front: TheFront, speaker: StyleId, core_version: CoreVersion = None
) -> Response:
    """Make the volumes of a FrameAudioQuery anew, for its lengths and frequencies."""
    return await _curve(request, front, speaker, core_version, volume=True)


async def _curve(request: Request, front: Front, style_id: int, core_version: str | None, *, volume: bool) -> Response:
    both = await decoded(request, front, SCORE_AND_FRAMES, front.limits.list_bytes)
    entry = style_for(front, style_id, core_version, Capability.SONG, TEACHERS)
    return await answer(
        request, front, song_job(entry, SongCurveCall(msgspec.Raw(both.value), style_id, volume), both.seconds)
    )


@router.post(
    "/frame_synthesis",
    response_class=Response,
    responses={200: WAV},
    openapi_extra=FRAMES_BODY,
    tags=["song"],
)
async def frame_synthesis(
    request: Request, front: TheFront, speaker: StyleId, core_version: CoreVersion = None
) -> Response:
    """Sing a FrameAudioQuery; answers a WAV file."""
    query = await decoded(request, front, FRAME_AUDIO_QUERY, front.limits.list_bytes)
    entry = style_for(front, speaker, core_version, Capability.SONG, DECODERS)
    call = FrameSynthesisCall(msgspec.Raw(query.value), speaker)
    return await answer(request, front, synthesis_job(entry, call, query.seconds))
