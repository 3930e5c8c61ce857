"""What this engine is, and in which versions."""

from __future__ import annotations

import base64
from pathlib import Path

import anyio.to_thread
from fastapi import APIRouter, Request
from starlette.responses import Response

from koegumi import __version__
from koegumi.api.front import Features
from koegumi.api.licences import licences
from koegumi.schema.engine import EngineManifest, SupportedFeatures, UpdateInfo
from koegumi.voices.catalog import Catalog
from koegumi.voices.interface import Capability

router = APIRouter()

NAME = "Koegumi"
# uuid5 of the DNS namespace and "koegumi"; VOICEVOX's editor knows an engine by it, so it stays.
UUID = "6ba64716-70d2-5b2a-8a4a-df1f350ec4ef"
ICON = Path(__file__).parent / "portal" / "icon.png"
TERMS = """# Koegumi

Koegumi is under the MIT License. What its voices say is under the terms of each voice: /speaker_info shows them, and
the licences of everything that runs here stand in this manifest.
"""


class Manifest:
    """Made once for each edition of the catalog, and then only sent: it holds the text of every licence."""

    def __init__(self, catalog: Catalog, features: Features) -> None:
        self._catalog = catalog
        self._asked_for = features
        self._edition = -1
        self._json = b""

    @property
    def json(self) -> bytes:
        """Reads files: ask for it in a thread."""
        if self._edition != (edition := self._catalog.edition):
            self._json = self._made().model_dump_json().encode()
            self._edition = edition
        return self._json

    def _made(self) -> EngineManifest:
        return EngineManifest(
            manifest_version="0.13.1",
            name=NAME,
            brand_name=NAME,
            uuid=UUID,
            url="",
            icon=base64.b64encode(ICON.read_bytes()).decode(),
            default_sampling_rate=24000,
            frame_rate=93.75,
            terms_of_service=TERMS,
            update_infos=[UpdateInfo(version=__version__, descriptions=["The first version."], contributors=[])],
            dependency_licenses=licences(self._catalog),
            supported_features=self._features(),
        )

    def _features(self) -> SupportedFeatures:
        return SupportedFeatures(
            adjust_mora_pitch=True,
            adjust_phoneme_length=True,
            adjust_speed_scale=True,
            adjust_pitch_scale=True,
            adjust_intonation_scale=True,
            adjust_volume_scale=True,
            adjust_pause_length=True,
            interrogative_upspeak=True,
            synthesis_morphing=True,
            sing=any(Capability.SONG in speaker.capabilities for speaker in self._catalog.speakers),
            manage_library=self._asked_for.manage_library,
            return_resource_url=True,
            apply_katakana_english=True,
        )


@router.get("/engine_manifest", response_model=EngineManifest, tags=["server"])
async def engine_manifest(request: Request) -> Response:
    """What this engine is, what it can do, and the licences of what runs in it."""
    manifest: Manifest = request.app.state.manifest
    content = await anyio.to_thread.run_sync(lambda: manifest.json)
    return Response(content, media_type="application/json")


@router.get("/core_versions", response_model=list[str], tags=["server"])
async def core_versions() -> list[str]:
    """The versions that `core_version` may name: there is one."""
    return [__version__]
