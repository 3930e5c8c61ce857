"""The server explained to those who run it."""

from __future__ import annotations

import ipaddress

from fastapi import APIRouter, Depends, HTTPException, Request

from koegumi.api.front import TheFront

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


def _is_local(request: Request) -> bool:
    try:
        address = ipaddress.ip_address(request.client.host if request.client else "")
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback
