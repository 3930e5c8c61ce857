"""Requests as rows: sentences take turns, waves are joined in order, and each request ends once."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from koegumi.schema.plain import AudioQuery
from koegumi.voices.bark.rows import SAMPLING_RATE, Row, Sentence, Wave
from koegumi.voices.bark.speeches import GAP_SECONDS, Rows
from koegumi.voices.bark.voice import sampling_of
from koegumi.voices.interface import Cancelled, Request, VoiceError

SILENCE = round(0.1 * SAMPLING_RATE)
GAP = round(GAP_SECONDS * SAMPLING_RATE)


@dataclass
class Asked:
    """A request of so many sentences."""

    name: str
    count: int
    style_id: int = 1000
    extras: Mapping[str, int | float] = field(default_factory=dict)
    query: AudioQuery = field(default_factory=lambda: AudioQuery([]))
    is_cancelled: bool = False
    checked: int = 0
    result: Wave | Exception | None = None
    told: list[tuple[str, float]] = field(default_factory=list)

    def check(self) -> None:
        self.checked += 1
        if self.is_cancelled:
            assert self.checked >= 0, "told twice"
            self.checked = -1000
            raise Cancelled

    def progress(self, stage: str, share: float) -> None:
        self.told.append((stage, share))

    def done(self, wave: Wave) -> None:
        assert self.result is None
        self.result = wave

    def failed(self, error: Exception) -> None:
        assert self.result is None
        self.result = error


class Desk:
    def __init__(self, *asked: Asked) -> None:
        self.waiting = deque(asked)
        self.rows = Rows(self, self.begin)

    def take(self) -> Request | None:
        return self.waiting.popleft() if self.waiting else None

    def begin(self, request: Request) -> Sequence[Sentence]:
        assert isinstance(request, Asked)
        if request.count < 0:
            raise VoiceError("no such text")
        return [Sentence(np.array([ord(request.name), number])) for number in range(request.count)]

    def names(self, room: int) -> list[str]:
        return [name(row) for row in self.rows.take(room)]


def name(row: Row) -> str:
    letter, number = row.sentence.tokens.tolist()
    return f"{chr(letter)}{number}"


def wave(value: int) -> Wave:
    return np.full(10, value, np.float32)


def test_a_place_is_the_next_request_s_whose_turn_it_is() -> None:
    desk = Desk(Asked("a", 9), Asked("b", 2))
    assert desk.names(5) == ["a0", "a1", "b0", "a2", "b1"]
    desk.waiting.append(Asked("c", 2))
    desk.waiting.append(Asked("d", 1))
    assert desk.names(1) == ["a3"]
    assert desk.names(6) == ["c0", "a4", "d0", "c1", "a5", "a6"]
    assert desk.names(9) == ["a7", "a8"]


def test_a_request_is_taken_only_for_a_place() -> None:
    desk = Desk(Asked("a", 3), Asked("b", 1), Asked("c", 1))
    assert desk.names(1) == ["a0"]
    assert len(desk.waiting) == 2


def test_waves_are_joined_in_order_with_gaps_and_the_query_s_silences() -> None:
    asked = Asked("a", 3)
    rows = Desk(asked).rows.take(8)
    for number in (2, 0, 1):
        assert asked.result is None
        rows[number].done(wave(number + 1))
    silence, gap = np.zeros(SILENCE, np.float32), np.zeros(GAP, np.float32)
    expected = np.concatenate([silence, wave(1), gap, wave(2), gap, wave(3), silence])
    assert isinstance(asked.result, np.ndarray)
    assert np.array_equal(asked.result, expected)


def test_nothing_to_say_is_silence_and_what_cannot_be_said_fails() -> None:
    nothing, wrong, right = Asked("a", 0), Asked("b", -1), Asked("c", 1)
    assert Desk(nothing, wrong, right).names(3) == ["c0"]
    assert isinstance(nothing.result, np.ndarray)
    assert not nothing.result.any()
    assert len(nothing.result) == 2 * SILENCE
    assert isinstance(wrong.result, VoiceError)


def test_all_rows_of_a_cancelled_request_are_and_none_of_them_begins() -> None:
    asked, other = Asked("a", 4), Asked("b", 2)
    desk = Desk(asked, other)
    first, third, second = desk.rows.take(3)
    asked.is_cancelled = True
    for row in (first, third, first):
        with pytest.raises(Cancelled):
            row.check()
    second.check()
    third.progress("fine", 0.5)
    third.done(wave(1))
    assert desk.names(4) == ["b1"]
    assert (asked.result, asked.told) == (None, [])


def test_a_sentence_that_fails_ends_its_request_alone() -> None:
    asked, other = Asked("a", 2), Asked("b", 1)
    first, second, of_other = Desk(asked, other).rows.take(3)
    error = VoiceError("too long")
    first.failed(error)
    assert asked.result is error
    second.failed(VoiceError("again"))
    with pytest.raises(Cancelled):
        second.check()
    of_other.done(wave(1))
    assert isinstance(other.result, np.ndarray)


def test_what_befalls_the_whole_batch_goes_up_once() -> None:
    asked = Asked("a", 2)
    first, second = Desk(asked).rows.take(2)
    with pytest.raises(MemoryError):
        first.failed(MemoryError())
    second.failed(MemoryError())
    with pytest.raises(Cancelled):
        second.check()
    assert asked.result is None


def test_a_request_s_share_is_that_of_its_sentences() -> None:
    asked = Asked("a", 2)
    first, second = Desk(asked).rows.take(2)
    first.progress("semantic", 0.0)
    first.progress("coarse", 0.5)
    second.progress("codec", 1.0)
    first.progress("codec", 1.0)
    assert [stage for stage, _ in asked.told] == ["semantic", "coarse", "codec", "codec"]
    assert [share for _, share in asked.told] == pytest.approx([0.0, 0.2, 0.7, 1.0])


def test_extras_are_the_sampling() -> None:
    default, greedy = sampling_of({}), sampling_of({"temperature": 0})
    assert (default.semantic.temperature, default.fine_temperature, default.min_eos_p) == (0.7, 0.5, 0.2)
    assert (greedy.semantic.temperature, greedy.coarse.temperature, greedy.fine_temperature) == (0, 0, None)
    given = sampling_of({"temperature": 1.0, "top_k": 5, "top_p": 0.5, "min_eos_p": 0.1, "seed": 3})
    assert given.semantic == given.coarse
    assert (given.semantic.temperature, given.semantic.top_k, given.semantic.top_p) == (1.0, 5, 0.5)
    assert (given.fine_temperature, given.min_eos_p) == (0.5, 0.1)
