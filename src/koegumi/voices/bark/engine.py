"""Speaks rows with the four models: rows join and leave the batches while they run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

from koegumi.voices.bark.batch import Batch
from koegumi.voices.bark.coarse import CoarseSequence
from koegumi.voices.bark.codec import CodecQueue
from koegumi.voices.bark.fine import FineGroup, FineSequence, FineWindow
from koegumi.voices.bark.memory import fits
from koegumi.voices.bark.models import Models
from koegumi.voices.bark.nodes import Precision
from koegumi.voices.bark.rows import Row, Source
from koegumi.voices.bark.semantic import SemanticSequence
from koegumi.voices.bark.speech import STAGES, Speech, begin
from koegumi.voices.interface import Device

Offload = Literal["resident", "stage", "auto"]


class Stage(Protocol):
    """Rows in one of the four models. A step is one run of the model."""

    def __len__(self) -> int: ...

    def step(self, model: Any) -> list[Speech]:
        """Those that are done with this stage."""

    def speeches(self) -> list[Speech]: ...

    def clear(self) -> None: ...


class Engine:
    """`folder` is what `prepare` wrote. `width` rows at most are in a batch, twice as many on their way in all.

    `offload`: resident keeps all four models in memory, stage one at a time, auto keeps all where they and their
    caches fit into `memory` bytes (None: half of what is free). `most_tokens` bounds every sentence's semantic
    tokens, and so what the semantic model's keys and values take. `fine_window`: full gives the tokens of transformers,
    short is quicker for short sentences.
    """

    models: ClassVar[type[Models]] = Models

    def __init__(
        self,
        folder: Path,
        device: Device,
        precision: Precision = "fp32",
        offload: Offload = "auto",
        width: int = 8,
        memory: int | None = None,
        most_tokens: int | None = None,
        fine_window: FineWindow = "full",
    ) -> None:
        keep = offload == "resident" or (offload == "auto" and fits(folder, device, precision, width, memory))
        self.offload: Offload = "resident" if keep else "stage"
        self._models = self.models(folder, device, precision, keep, width, most_tokens)
        self._keep, self._width, self._most_tokens, self._fine_window = keep, width, most_tokens, fine_window
        together = 1 if device.kind == "cpu" else 2  # a window fills a CPU already
        self._semantic, self._coarse = Batch(width), Batch(width)
        self._fine, self._codec = FineGroup(together, self._models.shape), CodecQueue()
        self._stages: dict[str, Stage] = dict(
            zip(STAGES, (self._semantic, self._coarse, self._fine, self._codec), strict=True)
        )
        self._turn = 0
        self._models.open_all()

    def speak(self, source: Source) -> None:
        """Speak until no row is left and the source gives none; rows that begin to wait meanwhile join in."""
        while True:
            self._take(source)
            name = self._next_stage()
            if name is None:
                return
            self._step(name)

    def _take(self, source: Source) -> None:
        under_way = sum(len(stage) for stage in self._stages.values())
        room = min(self._width - len(self._semantic), 2 * self._width - under_way)
        for row in source.take(room) if room > 0 else ():
            _guard(row, lambda row=row: self._begin(row))  # type: ignore[misc]

    def _begin(self, row: Row) -> None:
        shape, embeddings = self._models.shape, self._models.semantic_embeddings
        self._semantic.add(SemanticSequence(begin(row, shape), shape, embeddings, self._most_tokens))

    def _next_stage(self) -> str | None:
        """All in memory: each in turn. One at a time: the same one while it has work, for a change takes long."""
        for ahead in range(0 if not self._keep else 1, len(STAGES) + 1):
            turn = (self._turn + ahead) % len(STAGES)
            if len(self._stages[STAGES[turn]]):
                self._turn = turn
                return STAGES[turn]
        return None

    def _step(self, name: str) -> None:
        stage = self._stages[name]
        try:
            done = stage.step(self._models.use(name))
        except Exception as error:  # the model itself failed: all rows in it have lost their state
            lost = stage.speeches()
            stage.clear()
            self._models.rest(name)
            for speech in lost:
                speech.row.failed(error)
            return
        for speech in done:
            _guard(speech.row, lambda speech=speech: self._pass_on(name, speech))  # type: ignore[misc]
        if not len(stage):
            self._models.rest(name)

    def _pass_on(self, name: str, speech: Speech) -> None:
        shape = self._models.shape
        if name == "semantic":
            self._coarse.add(CoarseSequence(speech, shape, self._models.coarse_embeddings))
        elif name == "coarse":
            self._fine.add(FineSequence(speech, shape, self._fine_window))
        elif name == "fine":
            self._codec.add(speech)


def _guard(row: Row, do: Callable[[], None]) -> None:
    """One row's error is its own."""
    try:
        do()
    except Exception as error:
        row.failed(error)
