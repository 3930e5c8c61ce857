"""Speaks rows with the four models: rows join and leave the batch while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from koegumi.voices.bark.rows import Source
from koegumi.voices.interface import Device

Precision = Literal["fp32", "fp16", "int8"]
Offload = Literal["resident", "stage", "auto"]


class Engine:
    """`folder` is what `prepare` wrote. `width` rows at most are in a batch.

    `offload`: resident keeps all four models in memory, stage one at a time, auto keeps all where they and their
    caches fit into `memory` bytes (None: half of what is free).
    """

    def __init__(
        self,
        folder: Path,
        device: Device,
        precision: Precision = "fp32",
        offload: Offload = "auto",
        width: int = 8,
        memory: int | None = None,
    ) -> None: ...

    def speak(self, source: Source) -> None:
        """Speak until no row is left and the source gives none; rows that begin to wait meanwhile join in."""
