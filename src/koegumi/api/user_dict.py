"""The user dictionary: words that every query worker reads texts with from the moment their writer has an answer."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, HTTPException, Query, Request
from pydantic import Field, ValidationError
from pydantic.json_schema import SkipJsonSchema
from starlette.responses import Response

from koegumi.api.body import decoded, documented
from koegumi.api.front import Submits, TheFront
from koegumi.api.stored import MUTABLE, no_content
from koegumi.api.work import compile_job
from koegumi.dispatch.job import WorkFailed, WorkLost
from koegumi.schema.models import NULL_UNSAID
from koegumi.schema.stored_bodies import USER_DICT
from koegumi.schema.words import MAX_PRIORITY, MIN_PRIORITY, UserDictWord, WordTypes
from koegumi.state import user_dict
from koegumi.state.dictionary import Compile, CompileFailed
from koegumi.state.user_dict import BadWord, WordNotFound, Words
from koegumi.wire.messages import CompileCall

router = APIRouter()

BAD_PARAMETERS = "パラメータに誤りがあります。"
UPDATE_NOT_FOUND = "UUIDに該当するワードが見つかりませんでした"
DELETE_NOT_FOUND = "IDに該当するワードが見つかりませんでした"
IMPORT_FAILED = "ユーザー辞書のインポートに失敗しました。"

Surface = Annotated[str, Query(description="How the word is written.")]
Pronunciation = Annotated[str, Query(description="Its sound, in katakana.")]
AccentType = Annotated[int, Query(description="The mora, from 1, after which the pitch falls; 0 for none.")]
WordType = Annotated[WordTypes | SkipJsonSchema[None], Query(description="Its part of speech.")]
Priority = Annotated[
    Annotated[int, Field(ge=MIN_PRIORITY, le=MAX_PRIORITY)] | None,
    NULL_UNSAID,
    Query(description="A higher one wins over more other words; best from 1 to 9."),
]
IMPORT_BODY: dict[str, Any] = documented(
    {
        "type": "object",
        "additionalProperties": {"$ref": "#/components/schemas/UserDictWord"},
        "title": "Import Dict Data",
    }
)


@router.get("/user_dict", response_model=dict[str, UserDictWord], tags=["user dictionary"])
async def get_user_dict_words(front: TheFront) -> Response:
    """List the words by their UUIDs."""
    words = await front.state.words.words()
    return Response(await asyncio.to_thread(_listed, words), media_type="application/json")


@router.post("/user_dict_word", response_model=str, dependencies=MUTABLE, tags=["user dictionary"])
async def add_user_dict_word(
    front: TheFront,
    surface: Surface,
    pronunciation: Pronunciation,
    accent_type: AccentType,
    word_type: WordType = None,
    priority: Priority = None,
) -> str:
    """Add a word; answers its UUID."""
    word = _word(surface, pronunciation, accent_type, word_type, priority)
    return await front.state.words.change(lambda words: user_dict.added(words, word))


@router.put("/user_dict_word/{word_uuid}", status_code=204, dependencies=MUTABLE, tags=["user dictionary"])
async def rewrite_user_dict_word(
    front: TheFront,
    word_uuid: str,
    surface: Surface,
    pronunciation: Pronunciation,
    accent_type: AccentType,
    word_type: WordType = None,
    priority: Priority = None,
) -> Response:
    """Replace a word."""
    word = _word(surface, pronunciation, accent_type, word_type, priority)
    try:
        await front.state.words.change(lambda words: (user_dict.replaced(words, word_uuid, word), None))
    except WordNotFound:
        raise HTTPException(422, UPDATE_NOT_FOUND) from None
    return no_content()


@router.delete("/user_dict_word/{word_uuid}", status_code=204, dependencies=MUTABLE, tags=["user dictionary"])
async def delete_user_dict_word(front: TheFront, word_uuid: str) -> Response:
    """Remove a word."""
    try:
        await front.state.words.change(lambda words: (user_dict.removed(words, word_uuid), None))
    except WordNotFound:
        raise HTTPException(422, DELETE_NOT_FOUND) from None
    return no_content()


@router.post(
    "/import_user_dict",
    status_code=204,
    dependencies=MUTABLE,
    openapi_extra=IMPORT_BODY,
    tags=["user dictionary"],
)
async def import_user_dict_words(
    request: Request,
    front: TheFront,
    override: Annotated[bool, Query(description="Whether a word replaces the one that has its UUID.")],
) -> Response:
    """Add all words of another dictionary, or none."""
    body = await decoded(request, front, USER_DICT, front.limits.upload_bytes)
    try:
        others = await asyncio.to_thread(_checked, body.value)
    except BadWord as error:
        raise HTTPException(422, f"{IMPORT_FAILED}\n{error}") from None
    await front.state.words.change(lambda words: (user_dict.imported(words, others, override), None))
    return no_content()


def compiler(dispatcher: Submits) -> Compile:
    """Compiles on the query lane, whatever becomes of the worker."""

    async def compile_(source: Path, target: Path, size: int) -> None:
        try:
            await dispatcher.submit(compile_job(CompileCall(str(source), str(target)), size))
        except (WorkFailed, WorkLost) as error:
            raise CompileFailed(str(error)) from error

    return compile_


def _word(
    surface: str, pronunciation: str, accent_type: int, word_type: WordTypes | None, priority: int | None
) -> UserDictWord:
    try:
        return user_dict.new_word(surface, pronunciation, accent_type, word_type, priority)
    except ValidationError as error:
        raise HTTPException(422, f"{BAD_PARAMETERS}\n{error}") from None


def _listed(words: Words) -> bytes:
    items = (msgspec.json.encode(key) + b":" + word.model_dump_json().encode() for key, word in words.items())
    return b"{" + b",".join(items) + b"}"


def _checked(body: bytes) -> Words:
    """Words whose fields were checked one by one. Raises BadWord."""
    raw = msgspec.msgpack.decode(body, type=dict[str, msgspec.Raw])
    words = {key: UserDictWord.model_construct(**msgspec.msgpack.decode(fields)) for key, fields in raw.items()}
    for word_uuid, word in words.items():
        user_dict.check(word_uuid, word)
    return words
