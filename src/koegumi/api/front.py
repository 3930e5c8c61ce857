"""What the HTTP side knows of the rest of the server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Protocol

from fastapi import Depends, Request

from koegumi.api.keys import Keys
from koegumi.api.origins import Origins
from koegumi.dispatch.job import Job, Outcome
from koegumi.dispatch.statistics import DispatchStatistics, JobStatistics
from koegumi.pool.slot import SlotStatistics
from koegumi.state.state import State
from koegumi.telemetry import Metrics
from koegumi.voices.catalog import Catalog, Entry


class Submits(Protocol):
    """The dispatcher; cancelling the task that awaits it withdraws its jobs."""

    async def submit(self, job: Job) -> Outcome: ...

    async def submit_all(self, jobs: Sequence[Job]) -> list[Outcome]:
        """All are admitted, or none; the first error withdraws the others."""

    def explain(self) -> list[JobStatistics]:
        """All jobs as they stand: for each lane those that run, then those that wait, in their order."""


@dataclass(frozen=True)
class Limits:
    """Bytes of a body: how many are read at all, of one query, of several and of uploads, and up to how many the event
    loop decodes by itself. An upload has to fit into a frame."""

    body_bytes: int = 2_000_000
    list_bytes: int = 8_000_000
    upload_bytes: int = 64_000_000
    inline_bytes: int = 64 * 1024


@dataclass(frozen=True)
class Features:
    """What is there only when it was asked for."""

    cancellable_synthesis: bool = False
    manage_library: bool = False


@dataclass(frozen=True)
class Front:
    """`device` is the kind that the synthesis workers compute on: cpu or cuda. `reload` says why it failed, or None.
    `out_of_service` names lanes without workers, about which `is_ready` says nothing.
    `is_loaded` tells whether all workers have a voice open, `load` has them open it and says why not, or None."""

    dispatcher: Submits
    catalog: Catalog
    crew_statistics: Callable[[], Sequence[SlotStatistics]]
    lane_statistics: Callable[[], DispatchStatistics]
    is_ready: Callable[[], bool]
    out_of_service: Callable[[], Sequence[str]]
    reload: Callable[[], Awaitable[str | None]]
    is_loaded: Callable[[Entry], bool]
    load: Callable[[Entry], Awaitable[str | None]]
    metrics: Metrics
    device: str
    state: State
    origins: Origins = field(default_factory=Origins)
    keys: Keys = field(default_factory=Keys)
    limits: Limits = field(default_factory=Limits)
    features: Features = field(default_factory=Features)


async def front_of(request: Request) -> Front:
    front: Front = request.app.state.front
    return front


TheFront = Annotated[Front, Depends(front_of)]
