"""Keeps every slot filled: starts workers, brings them back when they die, replaces them, gives up when all is lost."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Sequence

import msgspec
import structlog

from koegumi.pool.backoff import LONGEST, Backoff
from koegumi.pool.local import Death, LocalSlot, WorkerPlan, describe
from koegumi.pool.recycling import Recycling
from koegumi.pool.slot import Outage, SlotState, SlotStatistics
from koegumi.wire.messages import End, Failure, LoadCall, Loading, Progress

log = structlog.get_logger("koegumi.pool")

# After a replacement that did not come up, until the next is tried for the same worker.
RECYCLE_AGAIN_AFTER = 60.0

Watcher = Callable[[LocalSlot, Loading | None], None]


class NotReplaced(Exception):  # noqa: N818 - reads as a sentence where it is raised
    """A new worker did not come up; the message says why."""


class NotLoaded(Exception):  # noqa: N818 - reads as a sentence where it is raised
    """A worker could not open a style; the message says why."""


class _Loading:
    """Hears what becomes of a LoadCall (`pool.slot.Receiver`). A worker that dies of something opens nothing."""

    def __init__(self) -> None:
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def chunk(self, data: bytes) -> None:
        """It has no body."""

    def progress(self, progress: Progress) -> None:
        """It is short."""

    def done(self, end: End) -> None:
        self._end("")

    def failed(self, failure: Failure) -> None:
        self._end(failure.message)

    def lost(self, reason: str) -> None:
        self._end(reason)

    def _end(self, reason: str) -> None:
        if not self.ended.done():
            self.ended.set_result(reason)


class Supervisor:
    """The crew on this machine (`pool.slot.Crew`).

    Each slot has a keeper, a task that lives as long as the slot. While a worker is replaced two slots have one name:
    the new one, and the old one until it has drained.
    """

    def __init__(
        self,
        plans: Iterable[WorkerPlan],
        watcher: Watcher | None = None,
        recycling: Recycling | None = None,
        needed: Collection[str] = (),
    ) -> None:
        """`watcher` hears each step of a worker's loading, and None when it is ready. Without one of the `needed` lanes
        the others are of no use."""
        self._slots = [LocalSlot(plan, self) for plan in plans]
        self._lanes = {slot.lane for slot in self._slots}
        self._backoffs = {slot.name: Backoff() for slot in self._slots}
        self._watcher = watcher or (lambda slot, step: None)
        self._recycling = recycling or Recycling()
        self._on_room: Callable[[str], None] = lambda lane: None
        self._keepers: dict[LocalSlot, asyncio.Task[None]] = {}
        self._recyclers: dict[LocalSlot, asyncio.Task[None]] = {}
        self._trials: dict[LocalSlot, Death | None] = {}
        self._needed = frozenset(needed)
        self._failures: dict[LocalSlot, str] = {}  # why; until a worker is ready again
        self._replacing = asyncio.Lock()
        # Those of dispatch begin at the other end.
        self._load_numbers = itertools.count(2**63)
        self._was_ready = False
        self._stopped = False
        self.fatal: asyncio.Future[str] | None = None

    def slots(self, lane: str) -> Sequence[LocalSlot]:
        return [slot for slot in self._slots if slot.lane == lane]

    def on_room(self, callback: Callable[[str], None]) -> None:
        self._on_room = callback

    def statistics(self) -> list[SlotStatistics]:
        return [slot.statistics() for slot in self._slots]

    @property
    def is_ready(self) -> bool:
        """Every lane that is in service has a worker that answers, and all were up once."""
        return self._was_ready and all(
            any(slot.is_up for slot in self.slots(lane)) or self.outage(lane) for lane in self._lanes
        )

    def outage(self, lane: str) -> Outage | None:
        slots = self.slots(lane)
        if not slots or any(slot not in self._failures for slot in slots):
            return None
        return Outage(self._failures[slots[0]], math.ceil(LONGEST))

    def out_of_service(self) -> list[str]:
        """The lanes with an outage."""
        return [lane for lane in sorted(self._lanes) if self.outage(lane)]

    def is_loaded(self, style_id: int, lanes: Collection[str]) -> bool:
        """Whether each of these lanes has a worker, and every one of them has the style open."""
        return all(
            bool(up := [slot for slot in self.slots(lane) if slot.is_up]) and all(style_id in s.loaded for s in up)
            for lane in lanes
        )

    async def load(self, style_id: int, lanes: Collection[str]) -> None:
        """Have every worker of these lanes that is up open the style, between its jobs. Raises NotLoaded."""
        slots = [slot for lane in lanes for slot in self.slots(lane) if slot.is_up and style_id not in slot.loaded]
        waiting = [_Loading() for _ in slots]
        for slot, receiver in zip(slots, waiting, strict=True):
            slot.start(next(self._load_numbers), "", msgspec.msgpack.encode(LoadCall(style_id)), receiver)
        for reason in await asyncio.gather(*(receiver.ended for receiver in waiting)):
            if reason:
                raise NotLoaded(reason)

    def start(self) -> asyncio.Future[str]:
        """Start all workers. The future gets a reason when the crew cannot go on; the server then ends."""
        self.fatal = asyncio.get_running_loop().create_future()
        self._keepers = {slot: asyncio.create_task(self._keep(slot)) for slot in self._slots}
        return self.fatal

    async def stop(self) -> None:
        """End all workers."""
        self._stopped = True
        tasks = [*self._recyclers.values(), *self._keepers.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for slot in self._slots:
            slot.state = SlotState.STOPPED

    async def replace(self, plans: Sequence[WorkerPlan]) -> None:
        """A new worker for each plan, in place of the one of the same name if there is one, one by one: the new one
        comes up, then the old one drains. Raises NotReplaced when one does not come up, after bringing back the old
        plans."""
        if not self._was_ready:
            raise NotReplaced("the crew is not up yet")
        async with self._replacing:
            old_plans: list[WorkerPlan] = []
            added: list[LocalSlot] = []
            names = {slot.name for slot in self._slots}
            try:
                for plan in plans:
                    if plan.config.name not in names:
                        added.append(await self._try(plan, len(self._slots)))
                        continue
                    old = self._named(plan.config.name)
                    await self._succeed(old, plan)
                    old_plans.append(old.plan)
            except NotReplaced:
                for slot in added:
                    await self._retire(slot)
                await self._bring_back(old_plans)
                raise
            self._lanes.update(slot.lane for slot in added)

    async def _bring_back(self, plans: Sequence[WorkerPlan]) -> None:
        for plan in plans:
            try:
                await self._succeed(self._named(plan.config.name), plan)
            except NotReplaced as error:  # the new one stays, then
                log.error("worker not brought back", worker=plan.config.name, reason=str(error))

    # One slot's life.

    async def _keep(self, slot: LocalSlot) -> None:
        while True:
            death = await slot.live()
            if slot.is_draining:
                log.info("worker replaced", worker=slot.name)
                return
            if slot in self._trials:
                self._trials[slot] = death
                return
            delay = self._judge(slot, death)
            slot.state = SlotState.BACKOFF if delay is not None else SlotState.FAILED
            if delay is None:
                self._fail(slot, f"worker {slot.name}: {describe(death)}")
            await asyncio.sleep(LONGEST if delay is None else delay)

    def _judge(self, slot: LocalSlot, death: Death) -> float | None:
        """Seconds until the next start, None if the slot has failed."""
        delay = self._backoffs[slot.name].died(asyncio.get_running_loop().time())
        if death.broken is not None and not self._was_ready:
            delay = None  # what cannot start now cannot start in a second either: a device, a file
        elif slot in self._failures:
            delay = None  # until one start succeeds
        log.warning("worker ended", worker=slot.name, reason=describe(death), restart_in=delay)
        return delay

    def _fail(self, slot: LocalSlot, reason: str) -> None:
        is_news = slot not in self._failures
        self._failures[slot] = reason
        if not self._was_ready:
            self._give_up(reason)
        elif is_news:
            log.error("worker failed", worker=slot.name, reason=reason, next_start_in=LONGEST)
            self._look_after(slot.lane)

    def _look_after(self, lane: str) -> None:
        """Where it is out of service the other lanes go on, as long as they can give sound."""
        outage = self.outage(lane)
        if outage is None or lane not in self._lanes:
            return
        log.error("lane out of service", lane=lane, reason=outage.reason)
        if lane in self._needed or all(self.outage(other) for other in self._lanes - self._needed):
            self._give_up(outage.reason)
        else:
            self._on_room(lane)

    def _give_up(self, reason: str) -> None:
        if self.fatal is not None and not self.fatal.done():
            self.fatal.set_result(reason)

    # One slot in place of another.

    def _named(self, name: str) -> LocalSlot:
        return next(slot for slot in self._slots if slot.name == name)

    async def _succeed(self, old: LocalSlot, plan: WorkerPlan) -> None:
        """Fill `old`'s place by a new slot. Raises NotReplaced; `old` is then as it was."""
        new = await self._try(plan, self._slots.index(old))
        await self._retire(old)
        new.restarts_before = old.statistics().restarts

    async def _try(self, plan: WorkerPlan, place: int) -> LocalSlot:
        """A new slot there, whose worker is up. Raises NotReplaced; there is no new slot then."""
        if self._stopped:
            raise NotReplaced("the server ends")
        new = LocalSlot(plan, self)
        self._slots.insert(place, new)
        self._trials[new] = None
        self._keepers[new] = asyncio.create_task(self._keep(new))
        try:
            await self._come_up(new)
        except BaseException:
            await self._dismiss(new)
            raise
        del self._trials[new]
        self._backoffs[new.name] = Backoff()
        return new

    async def _come_up(self, new: LocalSlot) -> None:
        up = asyncio.create_task(new.came_up.wait())
        try:
            await asyncio.wait([up, self._keepers[new]], return_when=asyncio.FIRST_COMPLETED)
        finally:
            up.cancel()
        if self._keepers[new].done():
            death = self._trials[new]
            raise NotReplaced(f"worker {new.name}: {describe(death) if death else 'the server ends'}")

    async def _retire(self, old: LocalSlot) -> None:
        """Let it finish its jobs. One that has no worker just now has nothing to finish."""
        old.drain()
        if old.state in (SlotState.BACKOFF, SlotState.FAILED):
            self._keepers[old].cancel()
        await asyncio.wait([self._keepers[old]])
        await self._dismiss(old)

    async def _dismiss(self, slot: LocalSlot) -> None:
        """No trace of it is left."""
        self._trials.pop(slot, None)
        keeper = self._keepers.pop(slot)
        keeper.cancel()
        await asyncio.wait([keeper])
        self._slots.remove(slot)
        self._failures.pop(slot, None)
        self._look_after(slot.lane)  # the others may have failed meanwhile

    def _recycle_in_time(self, slot: LocalSlot) -> None:
        if slot in self._recyclers or slot.is_draining or self._stopped:
            return
        if (reason := self._recycling.reason(slot)) is not None:
            self._recyclers[slot] = asyncio.create_task(self._recycle(slot, reason))

    async def _recycle(self, slot: LocalSlot, reason: str) -> None:
        async with self._replacing:
            if slot in self._slots and self._recycling.reason(slot) is not None:
                log.info("worker is recycled", worker=slot.name, reason=reason)
                try:
                    await self._succeed(slot, slot.plan)
                except NotReplaced as error:
                    log.warning("worker is kept", worker=slot.name, reason=str(error))
        if slot in self._slots:
            await asyncio.sleep(RECYCLE_AGAIN_AFTER)
        del self._recyclers[slot]

    # SlotEvents

    def loading(self, slot: LocalSlot, step: Loading) -> None:
        self._watcher(slot, step)

    def ready(self, slot: LocalSlot) -> None:
        self._failures.pop(slot, None)
        log.info("worker ready", worker=slot.name, pid=slot.statistics().pid, device=slot.statistics().device)
        if not self._was_ready and all(other.is_up for other in self._slots):
            self._was_ready = True
            log.info("ready", workers=len(self._slots))
        self._watcher(slot, None)

    def room(self, slot: LocalSlot) -> None:
        self._on_room(slot.lane)
        self._recycle_in_time(slot)

    def succeeded(self, slot: LocalSlot) -> None:
        self._backoffs[slot.name].succeeded()
