"""Voice libraries: there are none yet, and none can be installed. Both is said as the reference's clients expect."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Path

from koegumi.api.document import add_model
from koegumi.api.front import Front, TheFront
from koegumi.api.stored import MUTABLE
from koegumi.schema.engine import BaseLibraryInfo, DownloadableLibraryInfo, InstalledLibraryInfo, VvlibManifest

router = APIRouter()

LibraryUuid = Annotated[str, Path(description="The library's UUID.")]


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
    """List what can be installed."""
    return []


@router.get(
    "/installed_libraries",
    response_model=dict[str, InstalledLibraryInfo],
    response_description="The libraries that are installed, by UUID",
    tags=["libraries"],
)
async def installed_libraries() -> dict[str, InstalledLibraryInfo]:
    """List what is installed."""
    return {}


@router.post("/install_library/{library_uuid}", status_code=204, dependencies=MUTABLE, tags=["libraries"])
async def install_library(front: TheFront, library_uuid: LibraryUuid) -> None:
    """Install a library; its bytes are the body."""
    raise _forbidden(front)


@router.post("/uninstall_library/{library_uuid}", status_code=204, dependencies=MUTABLE, tags=["libraries"])
async def uninstall_library(front: TheFront, library_uuid: LibraryUuid) -> None:
    """Uninstall a library."""
    raise _forbidden(front)


def _forbidden(front: Front) -> HTTPException:
    if front.features.manage_library:
        return HTTPException(403, "no voice of this server comes from a library")
    return HTTPException(403, "this server manages no voice libraries; it was started without --manage_library")
