"""Jobs that are submitted together: all of them get in, or none; one answer; a failure ends the others."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from koegumi.dispatch.admission import LaneLimits
from koegumi.dispatch.dispatcher import Dispatcher
from koegumi.dispatch.job import Job, Outcome, QueueFull, WorkFailed, WorkLost
from tests.fakes import FakeClock, FakeCrew, FakeObserver, FakeSlot

LIMITS = LaneLimits(max_waiting=6, max_backlog_seconds=30.0)
LANES = ("talk", "song")


@dataclass
class Together:
    """A batch as the model knows it. `open` are the calls that have no end yet."""

    task: asyncio.Task[list[Outcome]]
    calls: list[bytes]
    lanes: list[str]
    open: set[bytes] = field(default_factory=set)
    error: type[Exception] | None = None
    left: bool = False

    @property
    def is_over(self) -> bool:
        return self.left or self.error is not None or not self.open


class BatchMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.observer = FakeObserver()
        self.batches: list[Together] = []
        self.costs: dict[bytes, float] = {}
        self.losses: set[bytes] = set()

    @initialize(talk=st.integers(1, 3), song=st.integers(1, 2))
    def build(self, talk: int, song: int) -> None:
        self.crew = FakeCrew(talk=[1] * talk, song=[1] * song)
        self.crew.listener = self.hear
        self.dispatcher = Dispatcher(self.crew, dict.fromkeys(LANES, LIMITS), FakeClock(), self.observer)

    def hear(self, event: str, slot: FakeSlot, call: bytes) -> None:
        if event == "start":
            assert not self.batch_of(call).is_over, "started for nobody"

    def batch_of(self, call: bytes) -> Together:
        return next(batch for batch in self.batches if call in batch.calls)

    def waiting(self, lane: str) -> list[bytes]:
        running = {call for slot in self.crew.slots(lane) for call in slot.calls}
        return [
            call
            for batch in self.batches
            if not batch.is_over
            for call, where in zip(batch.calls, batch.lanes, strict=True)
            if where == lane and call in batch.open and call not in running
        ]

    @precondition(lambda self: len(self.batches) < 12)
    @rule(jobs=st.lists(st.tuples(st.sampled_from(LANES), st.sampled_from([0.5, 3.0, 12.0])), min_size=1, max_size=8))
    def submit(self, jobs: list[tuple[str, float]]) -> None:
        full = False
        for lane in LANES:
            costs = [cost for where, cost in jobs if where == lane]
            waiting = self.waiting(lane)
            backlog = sum(self.costs[call] for call in waiting)
            if costs and waiting and (len(waiting) + len(costs) > 6 or backlog + sum(costs) > 30.0):
                full = True
        calls = [b"%d.%d" % (len(self.batches), number) for number in range(len(jobs))]
        self.costs |= {call: cost for call, (_, cost) in zip(calls, jobs, strict=True)}
        work = [Job(lane, call, call.decode(), cost, 1.0) for call, (lane, cost) in zip(calls, jobs, strict=True)]
        task = self.loop.create_task(self.dispatcher.submit_all(work))
        batch = Together(task, calls, [lane for lane, _ in jobs], set(calls), QueueFull if full else None)
        self.batches.append(batch)
        self.turn()

    @rule(data=st.data(), fate=st.sampled_from(["done", "done", "failed", "lost"]))
    def a_worker_answers(self, data: st.DataObject, fate: str) -> None:
        running = [(slot, call) for lane in LANES for slot in self.crew.slots(lane) for call in slot.calls]
        if not running:
            return
        slot, call = data.draw(st.sampled_from(running))
        batch = self.batch_of(call)
        if fate == "lost" and not batch.is_over and call in self.losses:
            batch.error = WorkLost
        elif fate == "failed" and not batch.is_over:
            batch.error = WorkFailed
        elif fate == "done":
            batch.open.discard(call)
            slot.chunk(call, call)
        self.losses |= {call} if fate == "lost" else set()
        if fate == "lost":
            slot.die()
            slot.come_back()
        else:
            slot.done(call) if fate == "done" else slot.failed(call)
        self.turn()

    @rule(data=st.data())
    def a_client_leaves(self, data: st.DataObject) -> None:
        present = [batch for batch in self.batches if not batch.is_over]
        if present:
            batch = data.draw(st.sampled_from(present))
            batch.left = True
            batch.task.cancel()
            self.turn()

    def turn(self) -> None:
        async def turns() -> None:
            for _ in range(5):
                await asyncio.sleep(0)

        self.loop.run_until_complete(turns())

    @invariant()
    def each_batch_has_its_one_answer(self) -> None:
        for batch in self.batches:
            assert batch.task.done() == batch.is_over
            if not batch.is_over:
                continue
            if batch.left:
                assert batch.task.cancelled()
            elif batch.error is not None:
                assert type(batch.task.exception()) is batch.error
            else:
                assert [outcome.body for outcome in batch.task.result()] == batch.calls

    @invariant()
    def nothing_is_left_of_a_batch_that_is_over(self) -> None:
        cancelled = {call for event, _, call in self.crew.told if event == "cancel"}
        for lane in LANES if self.batches else ():
            for call in (call for slot in self.crew.slots(lane) for call in slot.calls):
                assert not self.batch_of(call).is_over or call in cancelled
            statistics = self.dispatcher.statistics().lanes[lane]
            assert statistics.waiting == len(self.waiting(lane))
            assert statistics.backlog_seconds == sum(self.costs[call] for call in self.waiting(lane))

    @invariant()
    def every_job_is_counted_once(self) -> None:
        over = sum(len(batch.calls) if batch.is_over else len(batch.calls) - len(batch.open) for batch in self.batches)
        assert len(self.observer.finished) == over

    def teardown(self) -> None:
        for batch in self.batches:
            batch.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            self.turn()
        self.loop.close()


TestBatches = BatchMachine.TestCase
TestBatches.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
