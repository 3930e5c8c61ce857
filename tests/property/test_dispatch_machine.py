"""The dispatcher against a model of its rules, while workers finish, fail, die and hang and clients leave.

Some steps do not give the event loop a turn, so that a cancelled task has not yet heard of it when the next comes.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import Counter
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from koegumi.dispatch.admission import LaneLimits
from koegumi.dispatch.dispatcher import Dispatcher
from koegumi.dispatch.job import (
    DeadlinePassed,
    DeadlineTooShort,
    Job,
    Outcome,
    QueueFull,
    Refused,
    ShareUsed,
    Stopping,
    WorkFailed,
    WorkLost,
)
from koegumi.pool.slot import Receiver
from koegumi.wire.messages import End, Failure
from tests.fakes import FakeClock, FakeCrew, FakeObserver, FakeSlot
from tests.model_queue import ModelQueue

LIMITS = LaneLimits(max_waiting=5, max_backlog_seconds=40.0)
FATES = {Outcome: "done", WorkFailed: "failed", WorkLost: "lost", DeadlinePassed: "deadline"}
FATES |= dict.fromkeys((QueueFull, ShareUsed, DeadlineTooShort, Stopping), "refused")


@dataclass
class Known:
    """What the model knows of a job. `state` is waiting, running or ended; `expected` is what `submit` must give."""

    number: int
    cost: float
    arrival: float
    client: str
    deadline: float
    task: asyncio.Task[Outcome] = field(repr=False)
    state: str = "waiting"
    left: bool = False
    starts: int = 0
    started: float = 0.0
    cancelled_at: float | None = None
    sound: bytes = b""
    expected: type | None = None

    @property
    def limit(self) -> float:
        """When its worker has to be killed."""
        if self.cancelled_at is not None:
            return self.cancelled_at + 2.0
        return self.started + max(30.0, 10.0 * self.cost)


class DispatcherMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = FakeClock()
        self.observer = FakeObserver()
        self.jobs: dict[bytes, Known] = {}
        self.queue = ModelQueue()
        self.silenced: list[Receiver] = []
        self.stopped = False
        self.settled = True  # every task has had its turn

    @initialize(capacities=st.lists(st.integers(1, 3), min_size=1, max_size=3))
    def build(self, capacities: list[int]) -> None:
        self.crew = FakeCrew(talk=capacities)
        self.crew.listener = self.hear
        self.dispatcher = Dispatcher(self.crew, {"talk": LIMITS}, self.clock, self.observer)

    # What the dispatcher asks of the crew.

    def hear(self, event: str, slot: FakeSlot, call: bytes) -> None:
        if event == "kill":
            assert any(self.jobs[other].limit == self.clock.now() for other in slot.calls), "killed without a cause"
            return
        job = self.jobs[call]
        if event == "start":
            self.hear_start(slot, call, job)
        elif event == "cancel":
            assert job.left or self.clock.now() == job.deadline
            assert job.cancelled_at is None
            if not job.left:
                job.expected = DeadlinePassed
            job.cancelled_at = self.clock.now()
        elif event == "lost":
            job.state = "waiting"
            if job.expected is not None or job.starts == 2 or self.stopped:
                self.end(job, WorkLost if job.starts == 2 else Stopping)
            elif self.clock.now() + job.cost > job.deadline:
                self.end(job, DeadlinePassed)
            else:
                self.queue.push_again(call, job.cost, job.client)

    def hear_start(self, slot: FakeSlot, call: bytes, job: Known) -> None:
        assert job.state == "waiting", "runs twice at once, or after its end"
        assert not job.left, "started after its client had left"
        assert not self.stopped
        assert self.clock.now() <= job.deadline, "started after its deadline"
        self.clear()
        first = self.queue.first(self.clock.now())
        assert first is not None
        assert first.name == call, "another's turn"
        self.queue.start(call)
        if job.starts:
            assert slot.calls == [], "a job that runs again shares its worker"
        else:
            assert all(self.jobs[other].starts == 1 for other in slot.calls), "joined a job that runs again"
        job.state, job.started, job.sound = "running", self.clock.now(), b""
        job.starts += 1
        assert job.starts <= 2

    def clear(self) -> None:
        """Take those out of the queue that have left, or whose time has passed."""
        for entry in list(self.queue.waiting):
            job = self.jobs[entry.name]
            if job.left or self.clock.now() >= job.deadline:
                self.queue.remove(entry.name)
                self.end(job, DeadlinePassed)

    def end(self, job: Known, result: type) -> None:
        job.state = "ended"
        if job.expected is None:
            job.expected = asyncio.CancelledError if job.left else result

    # What happens to it.

    @precondition(lambda self: len(self.jobs) < 30)
    @rule(
        cost=st.sampled_from([0.25, 1.0, 1.0, 2.5, 7.3, 11.0, 50.0]),
        client=st.sampled_from("aab"),
        batch=st.booleans(),
        deadline=st.sampled_from([math.inf, math.inf, 1.0, 8.0, 60.0]),
    )
    def submit(self, cost: float, client: str, batch: bool, deadline: float) -> None:
        call = b"job %d" % len(self.jobs)
        self.turn()
        now = self.clock.now()
        refusal = self.refusal(cost, client)
        within = deadline if deadline < math.inf else None
        work = Job("talk", call, call.decode(), cost, 1.0, client, batch, within)
        waiting = sum(entry.cost for entry in self.queue.waiting) / 1e9
        idle = not waiting and any(slot.room for slot in self.crew.slots("talk"))
        if refusal is None:
            self.queue.push(call, now, cost, client, batch)
        task = self.loop.create_task(self.dispatcher.submit(work))
        job = self.jobs[call] = Known(len(self.jobs), cost, now, client, now + deadline, task)
        if refusal is not None:
            self.end(job, refusal)
        self.turn()
        error = task.exception() if task.done() else None
        if isinstance(error, DeadlineTooShort):
            assert deadline < cost if idle else deadline < math.inf
            self.end(job, DeadlineTooShort)
            self.queue.remove(call)
        elif refusal is None:
            assert cost <= deadline, "admitted though it cannot be done in time"
        if isinstance(error, Refused) and not isinstance(error, Stopping):
            workers = sum(slot.ready for slot in self.crew.slots("talk"))
            assert getattr(error, "retry_after", 0) == max(1, math.ceil(waiting / max(1, workers)))

    def refusal(self, cost: float, client: str) -> type[Refused] | None:
        waiting = self.queue.waiting
        own = [entry.cost for entry in waiting if entry.client == client]
        others = {entry.client for entry in waiting}
        backlog = sum(entry.cost for entry in waiting)
        if self.stopped:
            return Stopping
        if len(others) > 1 and len(waiting) > 2.5 and len(own) > 5 / len(others):
            return ShareUsed
        if len(others) > 1 and backlog > 20e9 and sum(own) > 40e9 / len(others):
            return ShareUsed
        if waiting and (len(waiting) >= 5 or backlog / 1e9 + cost > 40.0):
            return QueueFull
        return None

    @rule(data=st.data(), turn=st.booleans())
    def client_leaves(self, data: st.DataObject, turn: bool) -> None:
        present = [job for job in self.jobs.values() if not job.task.done() and not job.left]
        if not present:
            return
        job = data.draw(st.sampled_from(present))
        job.task.cancel()
        job.left = True
        job.expected = asyncio.CancelledError if job.expected is None else job.expected
        if job.state == "waiting":
            job.state = "ended"
            self.queue.remove(b"job %d" % job.number)
        self.act(turn)

    @rule(data=st.data(), turn=st.booleans(), what=st.sampled_from(["chunk", "done", "failed"]))
    def worker_answers(self, data: st.DataObject, turn: bool, what: str) -> None:
        running = [(slot, call) for slot in self.crew.slots("talk") for call in slot.calls]
        if not running:
            return
        slot, call = data.draw(st.sampled_from(running))
        job = self.jobs[call]
        if what == "chunk":
            job.sound += b"%d" % job.starts
            slot.chunk(call, b"%d" % job.starts)
        else:
            self.silenced.append(slot.jobs[slot.number_of(call)][1])
            self.end(job, Outcome if what == "done" else WorkFailed)
            slot.done(call, job.cost) if what == "done" else slot.failed(call)
        self.act(turn)

    @rule(data=st.data(), turn=st.booleans(), speaks=st.booleans())
    def worker_dies(self, data: st.DataObject, turn: bool, speaks: bool) -> None:
        slot = data.draw(st.sampled_from(self.crew.slots("talk")))
        for call in slot.calls if speaks else []:
            slot.chunk(call, b"half a sound")
        self.silenced += [receiver for _, receiver in slot.jobs.values()]
        slot.die()
        self.act(turn)

    @rule(data=st.data(), turn=st.booleans())
    def worker_comes_back(self, data: st.DataObject, turn: bool) -> None:
        slot = data.draw(st.sampled_from(self.crew.slots("talk")))
        if not slot.ready:
            slot.come_back()
            self.act(turn)

    @precondition(lambda self: self.silenced)
    @rule(data=st.data(), what=st.sampled_from(["chunk", "done", "failed", "lost"]))
    def word_comes_late(self, data: st.DataObject, what: str) -> None:
        receiver = data.draw(st.sampled_from(self.silenced))
        receiver.chunk(b"late")
        if what == "done":
            receiver.done(End("audio/wav", 1.0))
        elif what == "failed":
            receiver.failed(Failure("internal", "late"))
        elif what == "lost":
            receiver.lost("late")

    @rule(seconds=st.sampled_from([0.5, 1.0, 2.0, 7.0, 31.0, 111.0]), turn=st.booleans())
    def time_passes(self, seconds: float, turn: bool) -> None:
        self.clock.advance(seconds)
        self.clear()
        self.act(turn)

    @precondition(lambda self: len(self.jobs) > 8 and not self.stopped)
    @rule(turn=st.booleans())
    def stop(self, turn: bool) -> None:
        self.stopped = True
        for job in self.jobs.values():
            if job.state == "waiting":
                self.end(job, Stopping)
                self.queue.remove(b"job %d" % job.number)
        self.dispatcher.stop()
        self.act(turn)

    # What has to hold.

    def act(self, turn: bool) -> None:
        self.settled = False
        if turn:
            self.turn()

    def turn(self) -> None:
        async def turns() -> None:
            for _ in range(5):
                await asyncio.sleep(0)

        self.loop.run_until_complete(turns())
        self.settled = True

    @invariant()
    def slots_hold_what_the_model_says(self) -> None:
        running = [call for slot in self.crew.slots("talk") for call in slot.calls]
        assert sorted(running) == sorted(call for call, job in self.jobs.items() if job.state == "running")
        assert len(running) == len(set(running)), "runs twice at once"
        for call in running:
            assert self.clock.now() < self.jobs[call].limit, "a silent worker was not killed"

    @invariant()
    def every_job_has_its_one_result(self) -> None:
        if not self.settled:
            return
        labels: Counter[str] = Counter()
        for job in self.jobs.values():
            assert job.task.done() == (job.expected is not None)
            if job.expected is None:
                continue
            if job.task.cancelled():
                assert job.left
            elif (error := job.task.exception()) is not None:
                assert type(error) is job.expected
            else:
                outcome = job.task.result()
                assert job.expected is Outcome
                assert (outcome.body, outcome.attempts) == (job.sound, job.starts)
                assert outcome.queue_seconds == job.started - job.arrival
            labels[FATES.get(job.expected, "cancelled")] += 1
        assert Counter(self.observer.outcomes) == labels

    @invariant()
    def the_counts_are_right(self) -> None:
        if not self.settled:
            return
        lane = self.dispatcher.statistics().lanes["talk"]
        waiting = [job.cost for job in self.jobs.values() if job.state == "waiting"]
        assert lane.waiting == len(waiting)
        assert lane.running == sum(len(slot.jobs) for slot in self.crew.slots("talk"))
        assert lane.backlog_seconds == sum(round(cost * 1e9) for cost in waiting) / 1e9

    @invariant()
    def nobody_idles_while_a_job_waits(self) -> None:
        if not self.settled or not any(job.state == "waiting" for job in self.jobs.values()):
            return
        for slot in self.crew.slots("talk"):
            if any(entry.again for entry in self.queue.waiting):
                assert not slot.ready or slot.calls, "a job that runs again waits beside an empty worker"
            else:
                assert slot.room == 0 or any(self.jobs[call].starts == 2 for call in slot.calls)

    def teardown(self) -> None:
        try:
            if hasattr(self, "crew"):
                self.finish()
        finally:
            for job in self.jobs.values():
                job.task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                self.turn()
            self.loop.close()

    def finish(self) -> None:
        """Whatever has happened: with workers that work, every job that waits or runs gets done."""
        drained = self.loop.create_task(self.dispatcher.drained())
        self.turn()
        assert drained.done() == (self.dispatcher.statistics().lanes["talk"].running == 0 and not self.waiting())
        for slot in self.crew.slots("talk"):
            if not slot.ready:
                slot.come_back()
        while busy := [(slot, call) for slot in self.crew.slots("talk") for call in slot.calls]:
            slot, call = busy[0]
            self.end(self.jobs[call], Outcome)
            slot.done(call)
        self.turn()
        assert drained.done()
        assert self.waiting() == []
        self.every_job_has_its_one_result()
        self.the_counts_are_right()
        assert self.dispatcher.statistics().lanes["talk"].backlog_seconds == 0.0

    def waiting(self) -> list[Known]:
        return [job for job in self.jobs.values() if job.state == "waiting"]


TestDispatcher = DispatcherMachine.TestCase
TestDispatcher.settings = settings(max_examples=150, stateful_step_count=50, deadline=None)
