"""What both voices of a VVM have as `voices.interface.LoadsLazily`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Set as AbstractSet

from koegumi.voices.vvm.models import Models


class Lazily(ABC):
    def __init__(self, models: Models) -> None:
        self._models = models

    @abstractmethod
    def _domains(self, style_id: int) -> list[str]:
        """Those whose models the style needs of this voice."""

    @property
    def styles(self) -> AbstractSet[int]:
        return self._models.styles.keys()

    def load(self, style_id: int) -> None:
        self._models.load(style_id, self._domains(style_id))

    def is_loaded(self, style_id: int) -> bool:
        return self._models.is_loaded(style_id, self._domains(style_id))

    def close_idle(self, seconds: float) -> float | None:
        return self._models.close_idle(seconds)
