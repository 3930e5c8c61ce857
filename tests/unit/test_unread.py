"""Who is dropped while much finished sound is unread, and when."""

from __future__ import annotations

from dataclasses import dataclass

from koegumi.unread import ENOUGH, PATIENCE, Unread
from tests.fakes import FakeClock

LIMIT = 10 * ENOUGH
LONG = int(PATIENCE) + 2


@dataclass(eq=False)
class Client:
    house: House
    unread_bytes: int
    dropped: bool = False

    def __post_init__(self) -> None:
        self.house.unread.began(self)

    def read(self, count: int) -> None:
        self.unread_bytes -= min(count, self.unread_bytes)
        if not self.unread_bytes:
            self.house.unread.ended(self)

    def drop(self) -> None:
        self.dropped = True


class House:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.unread = Unread(LIMIT, self.clock)

    def wait(self, seconds: int, *readers: Client, count: int = ENOUGH) -> None:
        """Meanwhile these read so many bytes each second."""
        for _ in range(seconds):
            for reader in readers:
                reader.read(count)
            self.clock.advance(1.0)


def test_nobody_is_hurried_below_the_limit() -> None:
    house = House()
    clients = [Client(house, LIMIT // 4) for _ in range(4)]
    house.wait(1000)
    assert not any(client.dropped for client in clients)
    assert house.unread.retry_after is None


def test_over_the_limit_the_slowest_go_until_the_rest_fits() -> None:
    house = House()
    slow = [Client(house, LIMIT // 4) for _ in range(3)]
    house.wait(1)
    fast = Client(house, 100 * ENOUGH)
    assert house.unread.retry_after == PATIENCE
    house.wait(LONG, fast)
    assert [client.dropped for client in slow] == [True, True, True]
    assert not fast.dropped
    assert house.unread.dropped == 3


def test_who_was_slow_and_makes_up_for_it_stays() -> None:
    house = House()
    early, late = Client(house, LIMIT), Client(house, LIMIT // 2)
    assert house.unread.retry_after == PATIENCE
    house.wait(LONG - 4)
    early.read(ENOUGH)
    house.wait(4)
    assert (early.dropped, late.dropped) == (False, True)
    assert house.unread.retry_after is None


def test_a_byte_now_and_then_is_slow() -> None:
    house = House()
    client = Client(house, 2 * LIMIT)
    house.wait(LONG, client, count=ENOUGH // LONG - 1)
    assert client.dropped


def test_over_twice_the_limit_the_slowest_goes_at_once() -> None:
    """Answers that were accepted before come still."""
    house = House()
    clients = []
    for _ in range(30):
        clients.append(Client(house, LIMIT // 3))
        assert house.unread.total <= 2 * LIMIT
    assert [client.dropped for client in clients] == [True] * 24 + [False] * 6


def test_one_answer_may_be_larger_than_all_that_is_allowed() -> None:
    house = House()
    others = [Client(house, ENOUGH) for _ in range(3)]
    huge = Client(house, 100 * LIMIT)
    assert [client.dropped for client in others] == [True] * 3
    house.wait(50, huge)
    assert not huge.dropped
    house.wait(LONG)
    assert huge.dropped
    assert house.unread.total == 0
