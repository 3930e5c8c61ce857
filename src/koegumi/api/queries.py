"""Text to AudioQuery and accent phrases; lengths and pitches anew."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from koegumi.api.body import decoded, documented
from koegumi.api.front import Front, TheFront
from koegumi.api.spoken_text import text_query
from koegumi.api.styles import CoreVersion, KatakanaEnglish, StyleId, style_for
from koegumi.api.text_body import TextRoute
from koegumi.api.work import answer, query_job
from koegumi.schema.http import ACCENT_PHRASES, ACCENTED_PHRASES
from koegumi.schema.models import AccentPhrase, AudioQuery, ParseKanaBadRequest
from koegumi.voices.interface import Capability
from koegumi.wire.messages import AccentPhrasesCall, AudioQueryCall, MoraCall

router = APIRouter(route_class=TextRoute)

Text = Annotated[str, Query(description="What is to be spoken.")]
IsKana = Annotated[bool, Query(description="Whether the text is kana notation.")]
PHRASES_BODY: dict[str, Any] = documented(
    {"type": "array", "items": {"$ref": "#/components/schemas/AccentPhrase"}, "title": "Accent Phrases"}
)


@router.post("/audio_query", response_model=AudioQuery, tags=["query"])
async def audio_query(
    request: Request,
    front: TheFront,
    text: Text,
    speaker: StyleId,
    enable_katakana_english: KatakanaEnglish = True,
    core_version: CoreVersion = None,
) -> Response:
    """Make the AudioQuery of a text: edit it, or give it to /synthesis as it is."""
    if (query := text_query(front, speaker, core_version, text, {})) is not None:
        return query
    entry = style_for(front, speaker, core_version, Capability.TALK_QUERY)
    async with front.state.words.in_force() as dictionary:
        call = AudioQueryCall(text, speaker, enable_katakana_english, dictionary)
        return await answer(request, front, query_job(entry, call, len(text)))


@router.post(
    "/accent_phrases",
    response_model=list[AccentPhrase],
    responses={400: {"description": "The text is no kana notation", "model": ParseKanaBadRequest}},
    tags=["query"],
)
async def accent_phrases(
    request: Request,
    front: TheFront,
    text: Text,
    speaker: StyleId,
    is_kana: IsKana = False,
    enable_katakana_english: KatakanaEnglish = True,
    core_version: CoreVersion = None,
) -> Response:
    """Make accent phrases of a text or of kana notation.

    In kana notation all is katakana. `/` and `、` part phrases, `、` with a pause; `'` stands behind the accented mora,
    once in each phrase; `_` before a mora devoices it; `？` at the end of a phrase makes it a question.
    """
    entry = style_for(front, speaker, core_version, Capability.TALK_QUERY)
    async with front.state.words.in_force() as dictionary:
        call = AccentPhrasesCall(text, speaker, is_kana, enable_katakana_english, dictionary)
        return await answer(request, front, query_job(entry, call, len(text)))


@router.post("/mora_data", response_model=list[AccentPhrase], openapi_extra=PHRASES_BODY, tags=["query"])
async def mora_data(request: Request, front: TheFront, speaker: StyleId, core_version: CoreVersion = None) -> Response:
    """Set the lengths and pitches of accent phrases anew."""
    return await _mora(request, front, speaker, core_version, length=True, pitch=True)


@router.post("/mora_length", response_model=list[AccentPhrase], openapi_extra=PHRASES_BODY, tags=["query"])
async def mora_length(
    request: Request, front: TheFront, speaker: StyleId, core_version: CoreVersion = None
) -> Response:
    """Set the lengths of accent phrases anew."""
    return await _mora(request, front, speaker, core_version, length=True, pitch=False)


@router.post("/mora_pitch", response_model=list[AccentPhrase], openapi_extra=PHRASES_BODY, tags=["query"])
async def mora_pitch(request: Request, front: TheFront, speaker: StyleId, core_version: CoreVersion = None) -> Response:
    """Set the pitches of accent phrases anew."""
    return await _mora(request, front, speaker, core_version, length=False, pitch=True)


async def _mora(
    request: Request, front: Front, style_id: int, core_version: str | None, *, length: bool, pitch: bool
) -> Response:
    phrases = await decoded(request, front, ACCENTED_PHRASES if pitch else ACCENT_PHRASES)
    entry = style_for(front, style_id, core_version, Capability.TALK_QUERY)
    call = MoraCall(msgspec.Raw(phrases.value), style_id, length, pitch)
    return await answer(request, front, query_job(entry, call, phrases.moras))
