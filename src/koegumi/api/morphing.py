"""Sounds between two styles, and which styles have any."""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import APIRouter, HTTPException, Query, Request
from starlette.responses import Response

from koegumi.api.body import decoded, documented
from koegumi.api.front import Front, TheFront
from koegumi.api.halves import Halves, key_of
from koegumi.api.styles import SONG_TYPES, TALK_TYPES, CoreVersion, Upspeak, check_core, style_for
from koegumi.api.synthesis import QUERY_BODY, WAV
from koegumi.api.work import morph_job, run_all, synthesis_job, timing
from koegumi.dispatch.job import Outcome
from koegumi.schema.engine import MorphableTargetInfo
from koegumi.schema.http import AUDIO_QUERY, STYLE_IDS
from koegumi.schema.plain import AudioQuery
from koegumi.voices.catalog import Entry, UnknownStyle
from koegumi.voices.interface import Capability
from koegumi.wire.messages import MorphCall, WaveCall

router = APIRouter()

# The analysis of a second takes 10 MB.
MAX_SECONDS = 60.0
# What a voice makes may be somewhat longer than its query says.
MAX_WAVE_BYTES = int(1.5 * MAX_SECONDS * 24_000 * 4)
KEPT_BYTES = 64_000_000

NOT_PERMITTED = "指定されたスタイルペアでのモーフィングはできません"

MorphRate = Annotated[float, Query(ge=0.0, le=1.0, description="0 is the base, 1 the target.")]
BaseSpeaker = Annotated[int, Query(description="The id of the style that gives pitch and length.")]
TargetSpeaker = Annotated[int, Query(description="The id of the other style.")]


@router.post(
    "/morphable_targets",
    response_model=list[dict[str, MorphableTargetInfo]],
    openapi_extra=documented({"type": "array", "items": {"type": "integer"}, "title": "Base Style Ids"}),
    tags=["synthesis"],
)
async def morphable_targets(
    request: Request, front: TheFront, core_version: CoreVersion = None
) -> list[dict[str, MorphableTargetInfo]]:
    """Tell for each style of the body which styles it can be morphed with."""
    body = await decoded(request, front, STYLE_IDS)
    check_core(core_version, full_stop="")
    bases = [_entry(front, style_id) for style_id in msgspec.msgpack.decode(body.value, type=list[int])]
    targets = [entry for entry in front.catalog.styles.values() if entry.style.type in (*TALK_TYPES, *SONG_TYPES)]
    answers = {base.style.id: _targets(base, targets) for base in bases}
    return [answers[base.style.id] for base in bases]


def _targets(base: Entry, targets: list[Entry]) -> dict[str, MorphableTargetInfo]:
    return {str(target.style.id): MorphableTargetInfo(is_morphable=is_permitted(base, target)) for target in targets}


def is_permitted(base: Entry, target: Entry) -> bool:
    """Both talk, and each allows the other: all, its own speaker's styles, or none."""
    if base.style.type not in TALK_TYPES or target.style.type not in TALK_TYPES:
        return False
    permissions = {
        entry.speaker.supported_features.get("permitted_synthesis_morphing", "ALL") for entry in (base, target)
    }
    if "NOTHING" in permissions:
        return False
    return "SELF_ONLY" not in permissions or base.speaker.uuid == target.speaker.uuid


@router.post(
    "/synthesis_morphing",
    name="_synthesis_morphing",
    summary="Synthesis Morphing",
    response_class=Response,
    responses={200: WAV},
    openapi_extra=QUERY_BODY,
    tags=["synthesis"],
)
async def synthesis_morphing(
    request: Request,
    front: TheFront,
    base_speaker: BaseSpeaker,
    target_speaker: TargetSpeaker,
    morph_rate: MorphRate,
    enable_interrogative_upspeak: Upspeak = True,
    core_version: CoreVersion = None,
) -> Response:
    """Speak an AudioQuery with a voice between two styles."""
    body = await decoded(request, front, AUDIO_QUERY)
    check_core(core_version)
    if not is_permitted(_entry(front, base_speaker), _entry(front, target_speaker)):
        raise HTTPException(400, NOT_PERMITTED)
    if body.seconds > MAX_SECONDS:
        raise _too_long()
    query = msgspec.msgpack.decode(body.value, type=AudioQuery)
    (base, target), outcomes = await _halves(
        request, front, query, (base_speaker, target_speaker), enable_interrogative_upspeak, body.seconds
    )
    if max(len(base), len(target)) > MAX_WAVE_BYTES:
        raise _too_long()
    entry = front.catalog.style(base_speaker)
    call = MorphCall(base, target, morph_rate, query.output_sampling_rate, query.output_stereo)
    (morphed,) = await run_all(request, front, [morph_job(entry, call, body.seconds)])
    return Response(morphed.body, headers=timing([*outcomes, morphed]), media_type=morphed.media_type)


async def _halves(
    request: Request, front: Front, query: AudioQuery, style_ids: tuple[int, int], upspeak: bool, seconds: float
) -> tuple[tuple[bytes, bytes], list[Outcome]]:
    """The query's sound in both styles, made side by side where they are not kept, and what it took."""
    kept: Halves = request.app.state.halves
    keys = [key_of(query, style_id, upspeak) for style_id in style_ids]
    waves = {key: wave for key in keys if (wave := kept.get(key)) is not None}
    missing = [key for key in dict.fromkeys(keys) if key not in waves]
    value = msgspec.Raw(msgspec.msgpack.encode(query))
    jobs = [
        synthesis_job(
            style_for(front, style_id, None, Capability.TALK_SYNTHESIS), WaveCall(value, style_id, upspeak), seconds
        )
        for style_id, _, _ in missing
    ]
    outcomes = await run_all(request, front, jobs)
    for key, outcome in zip(missing, outcomes, strict=True):
        waves[key] = outcome.body
        kept.put(key, outcome.body)
    base, target = keys
    return (waves[base], waves[target]), outcomes


def _entry(front: Front, style_id: int) -> Entry:
    try:
        return front.catalog.style(style_id)
    except UnknownStyle:
        raise HTTPException(404, f"該当するスタイル(style_id={style_id})が見つかりません") from None


def _too_long() -> HTTPException:
    return HTTPException(422, f"the sound of a morphing should be at most {MAX_SECONDS:.0f} s long")
