"""Several AudioQueries at once, to one archive."""

from __future__ import annotations

import anyio.to_thread
import msgspec
from fastapi import APIRouter, HTTPException, Request
from starlette.responses import Response

from koegumi.api.archive import archive
from koegumi.api.body import decoded, documented
from koegumi.api.extras import Extras, check_extras
from koegumi.api.front import TheFront
from koegumi.api.spoken_text import all_sound_seconds
from koegumi.api.styles import CoreVersion, StyleId, Upspeak, style_for
from koegumi.api.work import run_all, synthesis_job, timing
from koegumi.schema.http import AUDIO_QUERIES
from koegumi.schema.plain import CheckedQuery
from koegumi.voices.interface import Capability
from koegumi.wire.messages import SynthesisCall

router = APIRouter()

ZIP = {"content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}}}
QUERIES_BODY = documented({"type": "array", "items": {"$ref": "#/components/schemas/AudioQuery"}, "title": "Queries"})
RATES_DIFFER = "サンプリングレートが異なるクエリがあります"


@router.post(
    "/multi_synthesis",
    response_class=Response,
    responses={200: ZIP},
    openapi_extra=QUERIES_BODY,
    tags=["synthesis"],
)
async def multi_synthesis(
    request: Request,
    front: TheFront,
    speaker: StyleId,
    extras: Extras,
    enable_interrogative_upspeak: Upspeak = True,
    core_version: CoreVersion = None,
) -> Response:
    """Speak AudioQueries side by side; answers a ZIP file of 001.wav, 002.wav and so on, in their order."""
    body = await decoded(request, front, AUDIO_QUERIES, front.limits.list_bytes)
    queries = msgspec.msgpack.decode(body.value, type=list[CheckedQuery])
    entry = style_for(front, speaker, core_version, Capability.TALK_SYNTHESIS)
    check_extras(entry, extras)
    if len({query.sampling_rate for query in queries}) > 1:
        raise HTTPException(422, RATES_DIFFER)
    calls = [SynthesisCall(query.value, speaker, enable_interrogative_upspeak, extras) for query in queries]
    seconds = all_sound_seconds(entry, queries)
    jobs = [synthesis_job(entry, call, each, batch=True) for call, each in zip(calls, seconds, strict=True)]
    outcomes = await run_all(request, front, jobs)
    content = await anyio.to_thread.run_sync(archive, [outcome.body for outcome in outcomes])
    return Response(content, headers=timing(outcomes), media_type="application/zip")
