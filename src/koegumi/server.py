"""The front process: joins crew, dispatcher and HTTP on one event loop, from start to end."""

from __future__ import annotations

import asyncio
import contextlib
import math
import socket
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import structlog
import uvicorn

from koegumi.api.app import create_app
from koegumi.api.front import Features, Front, Limits
from koegumi.api.keys import Keys
from koegumi.api.origins import Origins
from koegumi.api.user_dict import compiler
from koegumi.crew import QUERY, worker_plans
from koegumi.dispatch.admission import LaneLimits
from koegumi.dispatch.clock import LoopClock
from koegumi.dispatch.dispatcher import Dispatcher, WatchdogPolicy
from koegumi.http_protocol import protocol
from koegumi.lifecycle import Lifecycle
from koegumi.listen import open_sockets, urls
from koegumi.loading import LoadingBar
from koegumi.places import places_of
from koegumi.pool.recycling import Recycling
from koegumi.pool.supervisor import NotLoaded, Supervisor
from koegumi.reload import Reloader
from koegumi.schema.stored import CorsPolicyMode, Setting
from koegumi.settings import Settings
from koegumi.state import state as kept
from koegumi.state.dictionary import Compile
from koegumi.state.files import StateError
from koegumi.state.state import State
from koegumi.telemetry import Metrics, configure_logging
from koegumi.unread import Unread
from koegumi.voices.catalog import Catalog, Entry, read_catalog
from koegumi.voices.interface import NotPrepared

log = structlog.get_logger("koegumi")


def run(settings: Settings) -> int:
    """Serve until a signal ends it; the exit code."""
    configure_logging()
    try:
        catalog = read_catalog(places_of(settings, refused))
    except NotPrepared as error:
        print(f"koegumi: {error}", file=sys.stderr)
        return 1
    try:
        sockets = open_sockets(settings.host, settings.port)
    except OSError as error:
        print(f"koegumi: {error.strerror or error}", file=sys.stderr)
        return 1
    return asyncio.run(_serve(settings, catalog, sockets))


def refused(sentence: str) -> None:
    log.warning("voice refused", reason=sentence)


async def _serve(settings: Settings, catalog: Catalog, sockets: list[socket.socket]) -> int:
    plans = worker_plans(settings, catalog)
    with LoadingBar(plans) as bar, contextlib.ExitStack() as at_end:
        crew = Supervisor(plans, bar, Recycling(settings.recycle_jobs, settings.recycle_memory), needed={QUERY})
        unread = Unread(settings.max_unread_bytes, LoopClock(asyncio.get_running_loop()))
        dispatcher, metrics = _dispatcher(settings, catalog, crew, unread)
        front = _front(settings, catalog, crew, dispatcher, metrics, at_end)
        server = _http_server(settings, front, unread)
        life = Lifecycle(server, dispatcher, settings.drain, front.reload)
        fatal = crew.start()
        life.obey_signals()
        log.info("listening", urls=urls(sockets), workers=len(plans), device=settings.device)
        serving = asyncio.create_task(server.serve(sockets))
        ends: list[asyncio.Future[Any]] = [serving, fatal]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if fatal.done():
                life.give_up()
            await serving
        finally:
            await crew.stop()
    if fatal.done():
        log.error("the server ends", reason=fatal.result())
        return 1
    return 0


class _Server(uvicorn.Server):
    """uvicorn without its own signal handling, which would end the process by the signal instead of exit code 0."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _dispatcher(settings: Settings, catalog: Catalog, crew: Supervisor, unread: Unread) -> tuple[Dispatcher, Metrics]:
    metrics = Metrics()
    metrics.watch_unread(lambda: unread.total, lambda: unread.dropped)
    lanes = {QUERY, *(speaker.lane for speaker in catalog.speakers)}
    limits = _lane_limits(settings)
    clock = LoopClock(asyncio.get_running_loop())
    watchdog = WatchdogPolicy(floor=settings.watchdog)
    dispatcher = Dispatcher(
        crew, dict.fromkeys(lanes, limits), clock, metrics, watchdog, much_unread=lambda: unread.retry_after
    )
    return dispatcher, metrics


def _lane_limits(settings: Settings) -> LaneLimits:
    return LaneLimits(settings.max_waiting, settings.max_backlog)


def _front(
    settings: Settings,
    catalog: Catalog,
    crew: Supervisor,
    dispatcher: Dispatcher,
    metrics: Metrics,
    at_end: contextlib.ExitStack,
) -> Front:
    state = _open_state(settings, compiler(dispatcher))
    at_end.callback(state.words.close)
    return Front(
        dispatcher=dispatcher,
        catalog=catalog,
        crew_statistics=crew.statistics,
        lane_statistics=dispatcher.statistics,
        out_of_service=crew.out_of_service,
        is_ready=lambda: crew.is_ready and not dispatcher.is_closed,
        reload=Reloader(settings, catalog, crew, lambda lane: dispatcher.add_lane(lane, _lane_limits(settings))),
        is_loaded=lambda entry: crew.is_loaded(entry.style.id, (QUERY, entry.speaker.lane)),
        load=partial(_load, crew),
        metrics=metrics,
        device=settings.device_choice.kind,
        state=state,
        origins=_origins(settings, state),
        keys=Keys(settings.all_api_keys),
        limits=Limits(settings.max_query_bytes, settings.max_list_bytes, settings.max_upload_bytes),
        features=Features(settings.enable_cancellable_synthesis, settings.manage_library),
    )


async def _load(crew: Supervisor, entry: Entry) -> str | None:
    try:
        await crew.load(entry.style.id, (QUERY, entry.speaker.lane))
    except NotLoaded as error:
        return str(error)
    return None


def _http_server(settings: Settings, front: Front, unread: Unread) -> _Server:
    config = uvicorn.Config(
        create_app(front),
        http=protocol(unread),
        loop="asyncio",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=math.ceil(settings.drain),
    )
    return _Server(config)


def _open_state(settings: Settings, compile_: Compile) -> State:
    places = kept.Places(settings.state_dir, settings.preset_file, settings.setting_file)
    state = kept.open_state(places, compile_, mutable=not settings.disable_mutable_api)
    for trouble in kept.check(state):
        log.warning("state", reason=trouble)
    return state


def _origins(settings: Settings, state: State) -> Origins:
    """As the command line says, or the setting file."""
    try:
        stored = state.setting.read().value
    except StateError:
        stored = Setting()
    mode = settings.cors_policy_mode or stored.cors_policy_mode
    allowed = (stored.allow_origin or "").split() if settings.allow_origin is None else settings.allow_origin
    return Origins(everyone=mode is CorsPolicyMode.all, allowed=tuple(allowed))
