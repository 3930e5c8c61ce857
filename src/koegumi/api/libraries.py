"""Voice libraries: none is offered for download, and with --manage_library any may be installed from its bytes."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path
from typing import Annotated, Any

import anyio.to_thread
import fastapi
import msgspec
from fastapi import APIRouter, Depends, HTTPException, Request
from starlette.responses import Response

from koegumi.api.body import read_body
from koegumi.api.document import add_model
from koegumi.api.front import Front, TheFront
from koegumi.api.manifest import UUID
from koegumi.api.resources import Resources
from koegumi.api.speakers import listed
from koegumi.api.stored import MUTABLE, no_content
from koegumi.api.work import check_job, run
from koegumi.dispatch.job import WorkFailed, WorkLost
from koegumi.schema.engine import (
    BaseLibraryInfo,
    DownloadableLibraryInfo,
    InstalledLibraryInfo,
    LibrarySpeaker,
    VvlibManifest,
)
from koegumi.state.libraries import BadLibrary, Library
from koegumi.wire.messages import CheckCall, Checked

router = APIRouter()

LibraryUuid = Annotated[str, fastapi.Path(description="The library's UUID.")]


async def _managed(front: TheFront) -> None:
    if not front.features.manage_library:
        raise HTTPException(403, "this server manages no voice libraries; it was started without --manage_library")


MANAGED = [*MUTABLE, Depends(_managed)]


def document(schemas: dict[str, Any]) -> None:
    """Models that no route names, and that generated clients have."""
    for model in (BaseLibraryInfo, VvlibManifest):
        add_model(schemas, model)


@router.get(
    "/downloadable_libraries",
    response_model=list[DownloadableLibraryInfo],
    response_description="The libraries that can be installed",
    tags=["libraries"],
)
async def downloadable_libraries() -> list[DownloadableLibraryInfo]:
    """List what can be downloaded and then installed: nothing."""
    return []


@router.get(
    "/installed_libraries",
    response_model=dict[str, InstalledLibraryInfo],
    response_description="The libraries that are installed, by UUID",
    tags=["libraries"],
)
async def installed_libraries(request: Request, front: TheFront) -> dict[str, InstalledLibraryInfo]:
    """List what is installed."""
    if not front.features.manage_library:
        return {}
    resources: Resources = request.app.state.resources
    return await anyio.to_thread.run_sync(_installed, front, resources)


def _installed(front: Front, resources: Resources) -> dict[str, InstalledLibraryInfo]:
    libraries = front.state.libraries
    return {library.uuid: _info(front, resources, library) for library in libraries.installed()}


def _info(front: Front, resources: Resources, library: Library) -> InstalledLibraryInfo:
    folder = front.state.libraries.path(library.uuid)
    speakers: list[LibrarySpeaker] = []
    for speaker in front.catalog.speakers:
        styles = [style for style in speaker.styles if style.source is not None and folder in style.source.parents]
        if styles:
            info = resources.info(speaker, styles, None)
            speakers.append(LibrarySpeaker(speaker=listed(speaker, styles), speaker_info=info))
    return InstalledLibraryInfo(
        name=library.name,
        uuid=library.uuid,
        version=library.version,
        download_url="",
        bytes=library.bytes,
        speakers=speakers,
        uninstallable=True,
    )


@router.post("/install_library/{library_uuid}", status_code=204, dependencies=MANAGED, tags=["libraries"])
async def install_library(request: Request, front: TheFront, library_uuid: LibraryUuid) -> Response:
    """Install a library; its bytes are the body: a VVM file, or a zip file of them with a vvlib_manifest.json."""
    name = _checked_uuid(library_uuid)
    content = await read_body(request, front.limits.upload_bytes)
    libraries = front.state.libraries
    async with _one_at_a_time(request):
        try:
            folder = await anyio.to_thread.run_sync(libraries.unpack, name, content, UUID)
        except BadLibrary as error:
            raise HTTPException(422, str(error)) from error
        try:
            await _check(request, front, name, folder, len(content))
            old = await anyio.to_thread.run_sync(libraries.place, name, folder)
        except BaseException:
            libraries.drop(folder)
            raise
        await _reload(front, name, old)
    return no_content()


async def _check(request: Request, front: Front, library_uuid: str, folder: Path, size: int) -> None:
    """By a worker, which may die of it. Answers 422 by an exception."""
    try:
        outcome = await run(request, front, check_job(CheckCall(str(folder)), size))
    except WorkFailed as error:
        if error.failure.kind != "library":
            raise
        sentence = error.failure.message.replace(f"{folder}/", "")
        raise HTTPException(422, f"音声ライブラリ {library_uuid} は不正なファイルです。({sentence})") from error
    except WorkLost as error:
        raise HTTPException(422, f"音声ライブラリ {library_uuid} は不正なファイルです。") from error
    found = msgspec.msgpack.decode(outcome.body, type=Checked)
    for speaker in front.catalog.speakers:
        if speaker.uuid in found.speaker_uuids and any(style.source is None for style in speaker.styles):
            raise HTTPException(422, f"speaker uuid {speaker.uuid} is already that of {speaker.name}")
    its_own = front.state.libraries.path(library_uuid)
    for style_id in found.style_ids:
        entry = front.catalog.styles.get(style_id)
        if entry is not None and (entry.style.source is None or its_own not in entry.style.source.parents):
            source = entry.style.source.name if entry.style.source is not None else entry.family.name
            raise HTTPException(422, f"style id {style_id} is already that of {entry.speaker.name} ({source})")


async def _reload(front: Front, library_uuid: str, old: Path | None) -> None:
    """New workers with what is there now; if they cannot come up all is as it was, and the answer 500."""
    libraries = front.state.libraries
    reason = await front.reload()
    if reason is not None:
        await anyio.to_thread.run_sync(libraries.put_back, library_uuid, old)
        raise HTTPException(500, reason)
    await anyio.to_thread.run_sync(libraries.drop, old)


@router.post("/uninstall_library/{library_uuid}", status_code=204, dependencies=MANAGED, tags=["libraries"])
async def uninstall_library(request: Request, front: TheFront, library_uuid: LibraryUuid) -> Response:
    """Uninstall a library."""
    libraries = front.state.libraries
    async with _one_at_a_time(request):
        installed = await anyio.to_thread.run_sync(libraries.installed)
        if library_uuid not in {library.uuid for library in installed}:
            raise HTTPException(404, f"音声ライブラリ {library_uuid} はインストールされていません。")
        old = await anyio.to_thread.run_sync(libraries.take_away, library_uuid)
        await _reload(front, library_uuid, old)
    return no_content()


def _one_at_a_time(request: Request) -> asyncio.Lock:
    """Each change ends with new workers."""
    lock: asyncio.Lock = request.app.state.library_lock
    return lock


def _checked_uuid(text: str) -> str:
    """As it becomes the name of a folder. Answers 422 by an exception."""
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise HTTPException(422, f"{text!r} is no UUID") from None
