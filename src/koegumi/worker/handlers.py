"""What a worker does for each kind of call; which kinds depends on its lane."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from koegumi.voices.catalog import read_catalog
from koegumi.voices.interface import BatchSynthesisVoice, Places, Run
from koegumi.wire.messages import Call, Failure, Loading, WorkerConfig


@dataclass(frozen=True)
class Answer:
    media_type: str
    body: bytes


class Refused(Exception):  # noqa: N818 - reads as a sentence where it is raised
    """The call cannot be answered and the worker is fine; the failure says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Handlers(Protocol):
    @property
    def device(self) -> str:
        """What the sessions really run on: cpu or cuda."""

    @property
    def batching(self) -> BatchSynthesisVoice | None:
        """The voice that does syntheses together, where all of the lane are its own."""

    @property
    def voices(self) -> Iterable[object]: ...

    @property
    def loaded(self) -> frozenset[int]:
        """The styles that need nothing more opened."""

    def warm_up(self) -> None:
        """Whatever is slow the first time, so that no client waits for it. Raises what work raises."""

    def answer(self, call: Call, run: Run) -> Answer:
        """Raises Refused, VoiceError, Cancelled; anything else is a bug."""


def open_handlers(config: WorkerConfig, progress: Callable[[Loading], None]) -> Handlers:
    """Load what the lane needs. Raises whatever loading raises; the front then hears the sentence."""
    # A lane's imports are its own: a synthesis worker has no text front end, a query worker no codecs.
    places = Places(
        Path(config.cache_dir),
        tuple(Path(path) for path in config.voice_paths),
        library_dir=Path(config.library_dir) if config.library_dir is not None else None,
    )
    catalog = read_catalog(places)
    if config.lane == "query":
        from koegumi.worker.query import open_query_handlers

        return open_query_handlers(config, places, catalog, progress)
    from koegumi.worker.synthesis import open_synthesis_handlers

    return open_synthesis_handlers(config, places, catalog, progress)
