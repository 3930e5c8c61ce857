"""The crew, shown to those who run the server, and replaced when they say so."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Depends
from starlette.responses import JSONResponse, Response

from koegumi.api.admin import admin_only
from koegumi.api.errors import detail
from koegumi.api.front import TheFront
from koegumi.pool.memory import resident_bytes
from koegumi.pool.slot import SlotStatistics

router = APIRouter(prefix="/admin", include_in_schema=False, dependencies=[Depends(admin_only)])


@router.get("/workers")
async def workers(front: TheFront) -> Response:
    """Each worker: its state, its process, what it has done and what it holds."""
    return JSONResponse([_shown(statistics) for statistics in front.crew_statistics()])


@router.post("/reload")
async def reload(front: TheFront) -> Response:
    """Read the voices again and replace all workers; answers when that is done, or why it was not."""
    # What was begun goes on when the client leaves.
    reason = await asyncio.shield(asyncio.ensure_future(front.reload()))
    return JSONResponse({"workers": len(front.crew_statistics())}) if reason is None else detail(500, reason)


def _shown(statistics: SlotStatistics) -> dict[str, Any]:
    resident = None if statistics.pid is None else resident_bytes(statistics.pid)
    return asdict(statistics) | {"age": round(statistics.age, 3), "resident_bytes": resident}
