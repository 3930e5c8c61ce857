"""AudioQuery to sound."""

from __future__ import annotations

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response

from koegumi.api.body import decoded, documented
from koegumi.api.front import TheFront
from koegumi.api.styles import CoreVersion, StyleId, Upspeak, style_for
from koegumi.api.work import answer, synthesis_job
from koegumi.schema.http import AUDIO_QUERY
from koegumi.voices.interface import Capability
from koegumi.wire.messages import SynthesisCall

router = APIRouter()

WAV = {"content": {"audio/wav": {"schema": {"type": "string", "format": "binary"}}}}


@router.post(
    "/synthesis",
    response_class=Response,
    responses={200: WAV},
    openapi_extra=documented({"$ref": "#/components/schemas/AudioQuery"}),
    tags=["synthesis"],
)
async def synthesis(
    request: Request,
    front: TheFront,
    speaker: StyleId,
    enable_interrogative_upspeak: Upspeak = True,
    core_version: CoreVersion = None,
) -> Response:
    """Speak an AudioQuery; answers a WAV file."""
    query = await decoded(request, front, AUDIO_QUERY)
    entry = style_for(front, speaker, core_version, Capability.TALK_SYNTHESIS)
    call = SynthesisCall(msgspec.Raw(query.value), speaker, enable_interrogative_upspeak)
    return await answer(request, front, synthesis_job(entry, call, query.seconds))
