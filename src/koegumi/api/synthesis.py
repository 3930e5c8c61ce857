"""AudioQuery to sound."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response

from koegumi.api.body import decoded, documented
from koegumi.api.extras import Extras, check_extras
from koegumi.api.front import Front, TheFront
from koegumi.api.spoken_text import sound_seconds
from koegumi.api.styles import CoreVersion, StyleId, Upspeak, check_core, style_for
from koegumi.api.work import answer, synthesis_job
from koegumi.schema.http import AUDIO_QUERY
from koegumi.schema.reading import Decoded
from koegumi.voices.interface import Capability
from koegumi.wire.messages import SynthesisCall

router = APIRouter()

QUERY_BODY = documented({"$ref": "#/components/schemas/AudioQuery"})
WAV: dict[str, Any] = {"content": {"audio/wav": {"schema": {"type": "string", "format": "binary"}}}}


@router.post(
    "/synthesis",
    response_class=Response,
    responses={200: WAV},
    openapi_extra=QUERY_BODY,
    tags=["synthesis"],
)
async def synthesis(
    request: Request,
    front: TheFront,
    speaker: StyleId,
    extras: Extras,
    enable_interrogative_upspeak: Upspeak = True,
    core_version: CoreVersion = None,
) -> Response:
    """Speak an AudioQuery; answers a WAV file."""
    query = await decoded(request, front, AUDIO_QUERY)
    check_core(core_version)
    return await speak(request, front, query, speaker, enable_interrogative_upspeak, extras)


async def speak(
    request: Request, front: Front, query: Decoded, style_id: int, upspeak: bool, extras: dict[str, int | float]
) -> Response:
    entry = style_for(front, style_id, None, Capability.TALK_SYNTHESIS)
    check_extras(entry, extras)
    seconds = sound_seconds(entry, query.value, query.seconds)
    call = SynthesisCall(msgspec.Raw(query.value), style_id, upspeak, extras)
    return await answer(request, front, synthesis_job(entry, call, seconds))
