"""Which workers a server with these settings has."""

from __future__ import annotations

import os
from collections.abc import Iterator

from koegumi.places import places_of
from koegumi.pool.local import WorkerPlan
from koegumi.settings import Settings
from koegumi.voices.catalog import Catalog
from koegumi.wire.messages import WorkerConfig

QUERY = "query"
BARK = "bark"


def worker_plans(settings: Settings, catalog: Catalog) -> list[WorkerPlan]:
    """One plan a worker, lane by lane."""
    lanes = sorted({speaker.lane for speaker in catalog.speakers})
    plans = [_plan(settings, QUERY, number, "cpu", None) for number in range(settings.query_worker_count)]
    for lane in lanes:
        plans += _synthesis_plans(settings, lane)
    return plans


def _synthesis_plans(settings: Settings, lane: str) -> Iterator[WorkerPlan]:
    choice = settings.device_choice
    count = settings.bark_workers if lane == BARK else settings.synthesis_worker_count
    for number in range(count):
        gpu = choice.indices[number % len(choice.indices)] if choice.indices else None
        yield _plan(settings, lane, number, choice.kind, gpu)


def _plan(settings: Settings, lane: str, number: int, device: str, gpu: int | None) -> WorkerPlan:
    config = WorkerConfig(
        name=f"{lane}-{number + 1}",
        lane=lane,
        cache_dir=str(settings.cache_dir),
        voice_paths=[str(path) for path in settings.voices],
        device=device,
        threads=settings.thread_count if lane != QUERY else 1,
        options=settings.bark_options if lane == BARK else {},
        library_dir=str(libraries) if (libraries := places_of(settings).library_dir) is not None else None,
        preload=None if settings.load_all_models else settings.preload,
        unload_after=settings.unload_after,
    )
    return WorkerPlan(config, _environment(config.threads, gpu))


def _environment(threads: int, gpu: int | None) -> dict[str, str]:
    """What must stand before a worker imports anything. A worker sees its own GPU only, or none."""
    return {
        "ORT_DISABLE_TELEMETRY": "1",
        "OMP_NUM_THREADS": str(threads),
        "OPENBLAS_NUM_THREADS": str(threads),
        "CUDA_VISIBLE_DEVICES": "-1" if gpu is None else _visible(gpu),
    }


def _visible(gpu: int) -> str:
    """The driver's name of the GPU with this number among those that we may see."""
    visible = [name.strip() for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name.strip()]
    return visible[gpu] if gpu < len(visible) else str(gpu)
