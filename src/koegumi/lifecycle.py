"""How the server ends: what it has taken on it finishes, for a while."""

from __future__ import annotations

import asyncio
import math
import signal
from collections.abc import Awaitable, Callable

import structlog
import uvicorn

from koegumi.dispatch.dispatcher import Dispatcher

log = structlog.get_logger("koegumi")

# Of the time to drain, what is kept for answers on their way once no job runs any more.
LAST_ANSWERS = 1.0

Reload = Callable[[], Awaitable[str | None]]


class Lifecycle:
    """SIGHUP reads the voices again. Of SIGTERM and SIGINT the first drains: no new jobs, all others to their end, and
    the listener answers meanwhile. The second ends the server at once."""

    def __init__(self, server: uvicorn.Server, dispatcher: Dispatcher, drain_seconds: float, reload: Reload) -> None:
        self._server = server
        self._dispatcher = dispatcher
        self._drain_seconds = drain_seconds
        self._reload = reload
        self._reloading: set[asyncio.Future[str | None]] = set()
        self._draining: asyncio.Task[None] | None = None

    def obey_signals(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self.end)
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self.reload)

    def reload(self) -> None:
        reloading = asyncio.ensure_future(self._reload())
        self._reloading.add(reloading)  # the loop itself holds tasks only weakly
        reloading.add_done_callback(self._reloading.discard)

    def end(self) -> None:
        if self._draining is not None:
            self._server.force_exit = True
            self._exit()
        else:
            self._dispatcher.close()
            self._draining = asyncio.create_task(self._drain())

    def give_up(self) -> None:
        """End without the jobs that wait: there is nobody left to do them."""
        self._dispatcher.stop()
        self._exit()

    async def _drain(self) -> None:
        log.info("draining", seconds=self._drain_seconds)
        loop = asyncio.get_running_loop()
        end = loop.time() + self._drain_seconds
        try:
            async with asyncio.timeout(self._drain_seconds - LAST_ANSWERS):
                await self._dispatcher.drained()
        except TimeoutError:
            lanes = self._dispatcher.statistics().lanes.values()
            log.warning("jobs cut off", jobs=sum(lane.waiting + lane.running for lane in lanes))
            self._dispatcher.stop()
        self._server.config.timeout_graceful_shutdown = max(1, math.floor(end - loop.time()))
        self._exit()

    def _exit(self) -> None:
        self._server.should_exit = True
