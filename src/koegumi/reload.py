"""The voices read again while the server runs: new workers first, old ones after, all as it was if that fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from koegumi.crew import worker_plans
from koegumi.places import places_of
from koegumi.pool.supervisor import NotReplaced, Supervisor
from koegumi.settings import Settings
from koegumi.voices.catalog import Catalog, read_catalog
from koegumi.voices.interface import NotPrepared

log = structlog.get_logger("koegumi")


class _Unreadable(Exception):  # noqa: N818 - reads as a sentence where it is raised
    """The new voices cannot be had; the message says why."""


class Reloader:
    """Changes `catalog` in place, so that everything that has it sees the new voices."""

    def __init__(self, settings: Settings, catalog: Catalog, crew: Supervisor, add_lane: Callable[[str], None]) -> None:
        """`add_lane` hears of each lane that the new voices need, before it has workers; also of those it knows."""
        self._settings = settings
        self._catalog = catalog
        self._crew = crew
        self._add_lane = add_lane
        self._one_at_a_time = asyncio.Lock()

    async def __call__(self) -> str | None:
        """None, or why everything is as it was."""
        async with self._one_at_a_time:
            log.info("reloading")
            try:
                await self._replace(await self._read())
            except (_Unreadable, NotReplaced) as error:
                log.error("not reloaded", reason=str(error))
                return str(error)
            log.info("reloaded", voices=len(self._catalog.styles))
            return None

    async def _read(self) -> Catalog:
        places = places_of(self._settings, lambda sentence: log.warning("voice refused", reason=sentence))
        try:
            new = await asyncio.to_thread(read_catalog, places)
        except NotPrepared as error:
            raise _Unreadable(str(error)) from error
        except Exception as error:  # a plugin's own code
            raise _Unreadable(f"the voices cannot be read: {type(error).__name__}: {error}") from error
        if gone := self._catalog.lanes - new.lanes:
            raise _Unreadable(f"no voice is left for the workers of {', '.join(sorted(gone))}: start the server anew")
        return new

    async def _replace(self, new: Catalog) -> None:
        """While old and new workers run side by side, only what both can speak is offered."""
        old = self._catalog.common(self._catalog)
        self._catalog.become(old.common(new))
        for lane in new.lanes:
            self._add_lane(lane)
        try:
            await self._crew.replace(worker_plans(self._settings, new))
        except BaseException:
            self._catalog.become(old)
            raise
        self._catalog.become(new)
