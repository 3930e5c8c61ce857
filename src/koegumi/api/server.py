"""The server about itself: version, devices, life signs, metrics."""

from __future__ import annotations

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import JSONResponse, Response

from koegumi import __version__
from koegumi.api.front import TheFront
from koegumi.api.styles import CoreVersion, check_core
from koegumi.schema.models import SupportedDevicesInfo

router = APIRouter()

# Load balancers and monitors ask by HEAD; the reference answers 405 to it.
PROBE = ["GET", "HEAD"]


@router.get("/version", tags=["server"])
async def version() -> str:
    """The server's version."""
    return __version__


router.add_api_route("/version", version, methods=["HEAD"], include_in_schema=False)


@router.get("/supported_devices", response_model=SupportedDevicesInfo, tags=["server"])
async def supported_devices(front: TheFront, core_version: CoreVersion = None) -> SupportedDevicesInfo:
    """The devices that this server computes on, not those that it might."""
    check_core(core_version)
    return SupportedDevicesInfo(cpu=True, cuda=front.device == "cuda", dml=False)


@router.api_route("/livez", methods=PROBE, include_in_schema=False)
async def livez() -> Response:
    """The front answers, so it lives."""
    return JSONResponse({"alive": True})


@router.api_route("/readyz", methods=PROBE, include_in_schema=False)
async def readyz(front: TheFront) -> Response:
    """200 while the crew can do every kind of work, but that of lanes which it names, else 503."""
    ready, out = front.is_ready(), list(front.out_of_service())
    return JSONResponse({"ready": ready} | ({"out_of_service": out} if out else {}), 200 if ready else 503)


@router.get("/metrics", include_in_schema=False)
async def metrics(front: TheFront) -> Response:
    """Prometheus reads these."""
    return Response(front.metrics.render(), headers={"Content-Type": CONTENT_TYPE_LATEST})
