"""The server explained to those who run it."""

from __future__ import annotations

import ipaddress
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Depends, HTTPException, Request
from starlette.responses import JSONResponse, Response

from koegumi.api.front import TheFront
from koegumi.dispatch.statistics import JobStatistics

# A proxy on this machine makes everyone look local; it says so by one of these.
FORWARDED = ("X-Forwarded-For", "Forwarded")


async def admin_only(request: Request, front: TheFront) -> None:
    """With a key where keys are set; else from this machine alone, and not through a proxy. Answers 401 and 403."""
    if front.keys:
        if front.keys.holder(request.headers) is None:
            raise HTTPException(401, "an API key is needed", {"WWW-Authenticate": "Bearer"})
    elif any(name in request.headers for name in FORWARDED) or not _is_local(request):
        raise HTTPException(403, "only from this machine; with API keys also from elsewhere")


router = APIRouter(prefix="/admin", include_in_schema=False, dependencies=[Depends(admin_only)])


@router.get("/queue")
async def queue(front: TheFront) -> Response:
    """Every job that runs, and those that wait as they would run if no other came; costs, ages and deadlines in
    seconds."""
    return JSONResponse([_shown(job) for job in front.dispatcher.explain()])


def _shown(job: JobStatistics) -> dict[str, Any]:
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in asdict(job).items()}


def _is_local(request: Request) -> bool:
    try:
        address = ipaddress.ip_address(request.client.host if request.client else "")
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback
