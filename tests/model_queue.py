"""The queue's laws, written down as plainly as they can be: every question looks at all that waits."""

from __future__ import annotations

from dataclasses import dataclass, field

from koegumi.dispatch.queue import BATCH_GRACE, GRACE, PATIENCE

Class = bool


@dataclass(eq=False)
class Waiting:
    name: bytes
    client: str
    batch: Class
    again: bool
    cost: int  # nanoseconds
    due: float
    number: int


@dataclass
class ModelQueue:
    waiting: list[Waiting] = field(default_factory=list)
    had: dict[Class, dict[str, int]] = field(default_factory=lambda: {False: {}, True: {}})
    turn_of_due: bool = False
    numbers: int = 0

    def of_class(self, batch: Class) -> list[Waiting]:
        return [each for each in self.waiting if each.batch == batch and not each.again]

    def push(self, name: bytes, now: float, cost: float, client: str, batch: Class) -> None:
        here, had = self.of_class(batch), self.had[batch]
        if client not in {each.client for each in here}:
            had[client] = max(had.get(client, 0), min((had[each.client] for each in here), default=0))
        self._add(name, cost, client, batch, False, now + (BATCH_GRACE if batch else GRACE) + PATIENCE * cost)

    def push_again(self, name: bytes, cost: float, client: str) -> None:
        self._add(name, cost, client, False, True, 0.0)

    def _add(self, name: bytes, cost: float, client: str, batch: Class, again: bool, due: float) -> None:
        self.waiting.append(Waiting(name, client, batch, again, round(cost * 1e9), due, self.numbers))
        self.numbers += 1

    def first(self, now: float) -> Waiting | None:
        again = [each for each in self.waiting if each.again]
        if again:
            return again[0]
        due = [each for each in self.waiting if each.due <= now]
        if self.turn_of_due and due:
            return min(due, key=lambda each: (each.due, each.number))
        for batch in (False, True):
            if here := self.of_class(batch):
                return min(here, key=lambda each: (self.had[batch][each.client], each.cost, each.number))
        return None

    def start(self, name: bytes) -> None:
        started = self.find(name)
        if not started.again:
            self.turn_of_due = not self.turn_of_due
            self.had[started.batch][started.client] += started.cost
        self.remove(name)

    def remove(self, name: bytes) -> None:
        self.waiting.remove(self.find(name))
        for batch in (False, True):
            if not self.of_class(batch):
                self.had[batch].clear()

    def find(self, name: bytes) -> Waiting:
        return next(each for each in self.waiting if each.name == name)
