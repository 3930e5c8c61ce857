"""Synthesis that ends when its client leaves: here every synthesis does, so this is the plain one, behind its flag."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import Response

from koegumi.api.body import decoded
from koegumi.api.errors import UnknownCore
from koegumi.api.extras import Extras
from koegumi.api.front import TheFront
from koegumi.api.styles import CoreVersion, StyleId, Upspeak, check_core
from koegumi.api.synthesis import QUERY_BODY, WAV, speak
from koegumi.schema.http import AUDIO_QUERY

router = APIRouter()

DISABLED = "実験的機能はデフォルトで無効になっています。使用するには引数を指定してください。"


@router.post(
    "/cancellable_synthesis",
    response_class=Response,
    responses={200: WAV},
    openapi_extra=QUERY_BODY,
    tags=["synthesis"],
)
async def cancellable_synthesis(
    request: Request,
    front: TheFront,
    speaker: StyleId,
    extras: Extras,
    enable_interrogative_upspeak: Upspeak = True,
    core_version: CoreVersion = None,
) -> Response:
    """Speak an AudioQuery; who closes the connection ends the work."""
    query = await decoded(request, front, AUDIO_QUERY)
    if not front.features.cancellable_synthesis:
        raise HTTPException(404, DISABLED)
    try:
        check_core(core_version)
    except UnknownCore:
        raise HTTPException(422, "不明なバージョンです") from None
    return await speak(request, front, query, speaker, enable_interrogative_upspeak, extras)
