"""Presets: named values for AudioQueries."""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import APIRouter, HTTPException, Query, Request
from starlette.responses import Response

from koegumi.api.body import decoded, documented
from koegumi.api.front import Front, TheFront
from koegumi.api.queries import Text
from koegumi.api.spoken_text import text_query
from koegumi.api.stored import INVALID, MUTABLE, no_content
from koegumi.api.styles import CoreVersion, KatakanaEnglish, style_for
from koegumi.api.text_body import TextRoute
from koegumi.api.work import answer, query_job
from koegumi.schema.models import AudioQuery
from koegumi.schema.stored import Preset
from koegumi.schema.stored_bodies import PRESET
from koegumi.state.presets import PresetNotFound
from koegumi.voices.interface import Capability
from koegumi.wire.messages import AudioQueryCall

router = APIRouter(route_class=TextRoute)

NOT_FOUND = "該当するプリセットIDが見つかりません"
UPDATE_NOT_FOUND = "更新先のプリセットが存在しません"
DELETE_NOT_FOUND = "削除対象のプリセットが存在しません"

PresetId = Annotated[int, Query(description="The preset's id.")]
BODY = documented({"$ref": "#/components/schemas/Preset"})


@router.get("/presets", response_model=list[Preset], tags=["presets"])
async def get_presets(front: TheFront) -> list[Preset]:
    """List the presets."""
    return list(await front.state.presets.list())


@router.post(
    "/add_preset", response_model=int, dependencies=MUTABLE, openapi_extra=BODY, responses=INVALID, tags=["presets"]
)
async def add_preset(request: Request, front: TheFront) -> int:
    """Add a preset; answers its id, a new one where that of the preset is negative or taken."""
    return await front.state.presets.add(await _preset(request, front))


@router.post(
    "/update_preset", response_model=int, dependencies=MUTABLE, openapi_extra=BODY, responses=INVALID, tags=["presets"]
)
async def update_preset(request: Request, front: TheFront) -> int:
    """Replace the preset that has this one's id."""
    preset = await _preset(request, front)
    try:
        return await front.state.presets.update(preset)
    except PresetNotFound:
        raise HTTPException(422, UPDATE_NOT_FOUND) from None


@router.post("/delete_preset", status_code=204, dependencies=MUTABLE, tags=["presets"])
async def delete_preset(front: TheFront, id: PresetId) -> Response:  # noqa: A002 - the parameter's name
    """Remove a preset."""
    try:
        await front.state.presets.delete(id)
    except PresetNotFound:
        raise HTTPException(422, DELETE_NOT_FOUND) from None
    return no_content()


@router.post("/audio_query_from_preset", response_model=AudioQuery, tags=["query"])
async def audio_query_from_preset(
    request: Request,
    front: TheFront,
    text: Text,
    preset_id: PresetId,
    enable_katakana_english: KatakanaEnglish = True,
    core_version: CoreVersion = None,
) -> Response:
    """Make the AudioQuery of a text with the style and the values of a preset."""
    try:
        preset = await front.state.presets.get(preset_id)
    except PresetNotFound:
        raise HTTPException(422, NOT_FOUND) from None
    if (query := text_query(front, preset.style_id, core_version, text, _values(preset))) is not None:
        return query
    entry = style_for(front, preset.style_id, core_version, Capability.TALK_QUERY)
    async with front.state.words.in_force() as dictionary:
        call = AudioQueryCall(text, preset.style_id, enable_katakana_english, dictionary, _values(preset))
        return await answer(request, front, query_job(entry, call, len(text)))


async def _preset(request: Request, front: Front) -> Preset:
    body = await decoded(request, front, PRESET)
    return Preset.model_construct(**msgspec.msgpack.decode(body.value))


def _values(preset: Preset) -> dict[str, float | None]:
    """By the names of `schema.plain.AudioQuery`."""
    return {
        "speed_scale": preset.speedScale,
        "pitch_scale": preset.pitchScale,
        "intonation_scale": preset.intonationScale,
        "volume_scale": preset.volumeScale,
        "pre_phoneme_length": preset.prePhonemeLength,
        "post_phoneme_length": preset.postPhonemeLength,
        "pause_length": preset.pauseLength,
        "pause_length_scale": preset.pauseLengthScale,
    }
