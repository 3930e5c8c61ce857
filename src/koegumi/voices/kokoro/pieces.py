"""In which pieces a text is rendered: so long that the voice hears the sentence, so short that memory stays bounded.

The model takes 512 tokens and its memory grows with the sound: about 26 MB a second.
"""

from __future__ import annotations

from collections.abc import Iterator

from koegumi.schema.phonemes import SILENT
from koegumi.schema.plain import Mora
from koegumi.voices.interface import VoiceError
from koegumi.voices.timeline import Timeline, seconds

# 60 morae are about 9 s of sound and at most 250 tokens.
MAX_MORAS = 60
MAX_SECONDS = 20.0

# The groups of morae that are rendered at once, as ranges of the timeline; silences belong to no group.
Piece = tuple[range, ...]


def pieces(timeline: Timeline) -> list[Piece]:
    """The one rule, for queries and synthesis alike. It reads phonemes and phrase ends, and lengths only where they
    would not fit; a caller whose answer must not depend on lengths passes morae without.

    Raises VoiceError where a single mora is longer than MAX_SECONDS.
    """
    result: list[Piece] = []
    room = _Room()
    for run in _runs(timeline):
        for group in _cut(timeline, run):
            moras = timeline.moras[group.start : group.stop]
            if result and room.takes(moras):
                result[-1] = (*result[-1], group)
            else:
                result.append((group,))
                room = _Room()
            room.add(moras)
    return result


class _Room:
    """What a piece holds so far."""

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0

    def takes(self, moras: tuple[Mora, ...]) -> bool:
        length = self.seconds + sum(map(seconds, moras))
        return self.count + len(moras) <= MAX_MORAS and length <= MAX_SECONDS

    def add(self, moras: tuple[Mora, ...]) -> None:
        self.count += len(moras)
        self.seconds += sum(map(seconds, moras))


def _runs(timeline: Timeline) -> Iterator[range]:
    """Morae without a silence between them."""
    start: int | None = None
    for index, mora in enumerate(timeline.moras):
        if mora.vowel not in SILENT:
            start = index if start is None else start
        elif start is not None:
            yield range(start, index)
            start = None
    if start is not None:
        yield range(start, len(timeline.moras))


def _cut(timeline: Timeline, run: range) -> Iterator[range]:
    """A run that is too long, cut behind accent phrases, or anywhere where one phrase alone is too long."""
    start = run.start
    phrase_end: int | None = None
    room = _Room()
    index = start
    while index < run.stop:
        mora = (timeline.moras[index],)
        if room.takes(mora):
            room.add(mora)
            if index in timeline.phrase_ends:
                phrase_end = index + 1
            index += 1
            continue
        if index == start:
            raise VoiceError(
                f"a mora of {seconds(mora[0]):.1f} s is too long: this voice holds one for {MAX_SECONDS:g} s"
            )
        stop = phrase_end or index
        yield range(start, stop)
        start, index, phrase_end, room = stop, stop, None, _Room()
    yield range(start, run.stop)
