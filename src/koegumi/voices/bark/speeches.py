"""Requests as the engine's rows: each text in sentences, which are handed out in turn and joined in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

from koegumi.voices.bark.rows import SAMPLING_RATE, Row, Sentence, Wave
from koegumi.voices.interface import Cancelled, Request, Requests, VoiceError

GAP_SECONDS = 0.25
# Where a stage begins in a sentence's work, and how much of it it is: about as on a CPU.
_STAGES = {"semantic": (0.0, 0.2), "coarse": (0.2, 0.4), "fine": (0.6, 0.35), "codec": (0.95, 0.05)}


class Rows:
    """The engine's source (`rows.Source`). Requests take turns, the newest after all others, so that a long text holds
    up nobody's sentence; a request is taken when there is a place for a row."""

    def __init__(self, requests: Requests, begin: Callable[[Request], Sequence[Sentence]]) -> None:
        """What `begin` raises is the request's failure."""
        self._requests = requests
        self._begin = begin
        self._open: deque[_Speech] = deque()

    def take(self, room: int) -> Sequence[Row]:
        rows: list[Row] = []
        while len(rows) < room and (row := self._next()) is not None:
            rows.append(row)
        return rows

    def _next(self) -> Row | None:
        while (request := self._requests.take()) is not None and not self._is_admitted(request):
            pass
        while self._open:
            speech = self._open.popleft()
            if (row := speech.next_row()) is not None:
                self._open.append(speech)
                return row
        return None

    def _is_admitted(self, request: Request) -> bool:
        """Or over at once."""
        try:
            sentences = self._begin(request)
        except Exception as error:
            request.failed(error)
            return False
        if not sentences:
            request.done(_framed(request, []))
            return False
        self._open.append(_Speech(request, sentences))
        return True


class _Speech:
    """One request: its sentences wait, are on their way, or are waves."""

    def __init__(self, request: Request, sentences: Sequence[Sentence]) -> None:
        self._request = request
        self._waiting = deque(enumerate(sentences))
        self._waves: dict[int, Wave] = {}
        self._shares = [0.0] * len(sentences)
        self._is_over = False

    def next_row(self) -> Row | None:
        """None where none is left, or nobody waits any more."""
        try:
            self.check()
        except Cancelled:
            return None
        return _Row(self, *self._waiting.popleft()) if self._waiting else None

    def check(self) -> None:
        """Raises Cancelled, for all rows, but to the request only once."""
        if self._is_over:
            raise Cancelled
        try:
            self._request.check()
        except Cancelled:
            self._is_over = True
            raise

    def progress(self, number: int, stage: str, share: float) -> None:
        if not self._is_over:
            start, part = _STAGES[stage]
            self._shares[number] = start + part * share
            self._request.progress(stage, sum(self._shares) / len(self._shares))

    def done(self, number: int, wave: Wave) -> None:
        self._waves[number] = wave
        if not self._is_over and len(self._waves) == len(self._shares):
            self._is_over = True
            waves = [self._waves[each] for each in range(len(self._shares))]
            self._request.done(_framed(self._request, waves))

    def failed(self, error: Exception) -> None:
        """A sentence that cannot be spoken is this request's alone. Anything else (memory that has run out) befell
        whatever was in the batch, and goes up through the engine: each of them may do better by itself."""
        if self._is_over:
            return
        self._is_over = True
        if not isinstance(error, VoiceError):
            raise error
        self._request.failed(error)


class _Row:
    def __init__(self, speech: _Speech, number: int, sentence: Sentence) -> None:
        self._speech = speech
        self._number = number
        self.sentence = sentence

    def check(self) -> None:
        self._speech.check()

    def progress(self, stage: str, share: float) -> None:
        self._speech.progress(self._number, stage, share)

    def done(self, wave: Wave) -> None:
        self._speech.done(self._number, wave)

    def failed(self, error: Exception) -> None:
        self._speech.failed(error)


def _framed(request: Request, waves: Sequence[Wave]) -> Wave:
    """With gaps between, and the query's silences around them."""
    query = request.query
    parts = [_silence(query.pre_phoneme_length)]
    for number, wave in enumerate(waves):
        parts += [_silence(GAP_SECONDS), wave] if number else [wave]
    return np.concatenate([*parts, _silence(query.post_phoneme_length)])


def _silence(seconds: float) -> Wave:
    return np.zeros(round(seconds * SAMPLING_RATE), np.float32)
