"""Keeps every slot filled: starts workers, brings them back when they die, gives up when that is hopeless."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

import structlog

from koegumi.pool.backoff import Backoff
from koegumi.pool.local import Death, LocalSlot, WorkerPlan, describe
from koegumi.pool.slot import SlotState, SlotStatistics
from koegumi.wire.messages import Loading

log = structlog.get_logger("koegumi.pool")

Watcher = Callable[[LocalSlot, Loading | None], None]


class Supervisor:
    """The crew on this machine (`pool.slot.Crew`)."""

    def __init__(self, plans: Iterable[WorkerPlan], watcher: Watcher | None = None) -> None:
        """`watcher` hears each step of a worker's loading, and None when it is ready."""
        self._slots = [LocalSlot(plan, self) for plan in plans]
        self._backoffs = {slot.name: Backoff() for slot in self._slots}
        self._lanes = {slot.lane for slot in self._slots}
        self._watcher = watcher or (lambda slot, step: None)
        self._on_room: Callable[[str], None] = lambda lane: None
        self._tasks: list[asyncio.Task[None]] = []
        self._was_ready = False
        self.fatal: asyncio.Future[str] | None = None

    def slots(self, lane: str) -> Sequence[LocalSlot]:
        return [slot for slot in self._slots if slot.lane == lane]

    def on_room(self, callback: Callable[[str], None]) -> None:
        self._on_room = callback

    def statistics(self) -> list[SlotStatistics]:
        return [slot.statistics() for slot in self._slots]

    @property
    def is_ready(self) -> bool:
        """Every lane has a worker that answers, and all were up once."""
        return self._was_ready and all(any(slot.is_up for slot in self.slots(lane)) for lane in self._lanes)

    def start(self) -> asyncio.Future[str]:
        """Start all workers. The future gets a reason when the crew cannot go on; the server then ends."""
        self.fatal = asyncio.get_running_loop().create_future()
        self._tasks = [asyncio.create_task(self._keep(slot)) for slot in self._slots]
        return self.fatal

    async def stop(self) -> None:
        """End all workers."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for slot in self._slots:
            slot.state = SlotState.STOPPED

    async def _keep(self, slot: LocalSlot) -> None:
        while True:
            death = await slot.live()
            delay = self._judge(slot, death)
            if delay is None:
                slot.state = SlotState.FAILED
                self._give_up(slot, death)
                return
            slot.state = SlotState.BACKOFF
            await asyncio.sleep(delay)

    def _judge(self, slot: LocalSlot, death: Death) -> float | None:
        """Seconds until the next start, None if there is none."""
        delay = self._backoffs[slot.name].died(asyncio.get_running_loop().time())
        if death.broken is not None and not self._was_ready:
            delay = None  # what cannot start now cannot start in a second either: a device, a file
        log.warning("worker ended", worker=slot.name, reason=describe(death), restart_in=delay)
        return delay

    def _give_up(self, slot: LocalSlot, death: Death) -> None:
        log.error("worker failed for good", worker=slot.name, reason=describe(death))
        hopeless = all(other.state is SlotState.FAILED for other in self.slots(slot.lane))
        if self.fatal is not None and not self.fatal.done() and (hopeless or not self._was_ready):
            self.fatal.set_result(f"worker {slot.name}: {describe(death)}")

    # SlotEvents

    def loading(self, slot: LocalSlot, step: Loading) -> None:
        self._watcher(slot, step)

    def ready(self, slot: LocalSlot) -> None:
        log.info("worker ready", worker=slot.name, pid=slot.statistics().pid, device=slot.statistics().device)
        if not self._was_ready and all(other.is_up for other in self._slots):
            self._was_ready = True
            log.info("ready", workers=len(self._slots))
        self._watcher(slot, None)

    def room(self, slot: LocalSlot) -> None:
        self._on_room(slot.lane)

    def succeeded(self, slot: LocalSlot) -> None:
        self._backoffs[slot.name].succeeded()
