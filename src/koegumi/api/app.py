"""The HTTP application."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from koegumi import __version__
from koegumi.api import (
    admin,
    cancellable,
    connecting,
    errors,
    kana,
    libraries,
    manifest,
    morphing,
    multi,
    portal,
    presets,
    queries,
    server,
    setting,
    singers,
    song,
    speakers,
    stored,
    synthesis,
    user_dict,
    workers,
)
from koegumi.api.front import Front
from koegumi.api.halves import Halves
from koegumi.api.keys import KeysMiddleware
from koegumi.api.middleware import RequestMiddleware
from koegumi.api.origins import OriginsMiddleware
from koegumi.api.resources import Resources


def create_app(front: Front) -> FastAPI:
    """The API of VOICEVOX ENGINE over this front."""
    app = _Application(
        title="Koegumi",
        description="Text to speech on a crew of workers, with VOICEVOX ENGINE's API.",
        version=__version__,
        # One schema for a request's AudioQuery and an answer's, as in the reference.
        separate_input_output_schemas=False,
        strict_content_type=False,
        generate_unique_id_function=_operation_id,
    )
    app.state.front = front
    app.state.resources = Resources(front.catalog)
    app.state.halves = Halves(morphing.KEPT_BYTES)
    app.state.manifest = manifest.Manifest(front.catalog, front.features)
    app.state.library_lock = asyncio.Lock()
    errors.install(app)
    stored.install(app)
    app.add_middleware(KeysMiddleware, keys=front.keys)
    app.add_middleware(RequestMiddleware, metrics=front.metrics)
    app.add_middleware(OriginsMiddleware, origins=front.origins)
    for router in (queries.router, synthesis.router, speakers.router, server.router, admin.router, workers.router):
        app.include_router(router)
    for router in (user_dict.router, presets.router, setting.router):
        app.include_router(router)
    for router in (kana.router, manifest.router, portal.router, singers.router, libraries.router):
        app.include_router(router)
    for router in (multi.router, morphing.router, cancellable.router, connecting.router, song.router):
        app.include_router(router)
    front.metrics.watch(front.crew_statistics, front.lane_statistics)
    return app


class _Application(FastAPI):
    def openapi(self) -> dict[str, Any]:
        if not self.openapi_schema:
            schemas = super().openapi()["components"]["schemas"]
            for document in (setting.document_form, song.document, libraries.document):
                document(schemas)
        return super().openapi()


def _operation_id(route: APIRoute) -> str:
    return route.name
