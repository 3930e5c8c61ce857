"""Presets: their file, in the reference's format, and what is done with them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import ValidationError

from koegumi.schema.stored import ID_LIMIT, Preset
from koegumi.state.files import Format, Parsed, Store

R = TypeVar("R")
Listed = Sequence[Preset]


class PresetNotFound(Exception):  # noqa: N818 - reads as a sentence where it is raised
    """There is no preset with this id."""


class Presets:
    """For the event loop; writes of this server wait for each other here, and for other servers in a thread."""

    def __init__(self, path: Path) -> None:
        self.store = Store(path, FORMAT)
        self._turn = asyncio.Lock()

    async def list(self) -> Listed:
        """Raises StateError, as all of these do."""
        return (await asyncio.to_thread(self.store.read)).value

    async def get(self, preset_id: int) -> Preset:
        """Raises PresetNotFound."""
        for preset in await self.list():
            if preset.id == preset_id:
                return preset
        raise PresetNotFound(preset_id)

    async def add(self, preset: Preset) -> int:
        """The id that it got: a new one where its own is negative or taken."""
        return await self._change(lambda presets: added(presets, preset))

    async def update(self, preset: Preset) -> int:
        """Raises PresetNotFound."""
        return await self._change(lambda presets: (updated(presets, preset), preset.id))

    async def delete(self, preset_id: int) -> None:
        """Raises PresetNotFound."""
        await self._change(lambda presets: (deleted(presets, preset_id), None))

    async def _change(self, change: Callable[[Listed], tuple[Listed, R]]) -> R:
        async with self._turn:
            return await asyncio.to_thread(self.store.update, change)


def added(presets: Listed, preset: Preset) -> tuple[Listed, int]:
    taken = {each.id for each in presets}
    number = preset.id if preset.id >= 0 and preset.id not in taken else _fresh(taken)
    return [*presets, preset.model_copy(update={"id": number})], number


def _fresh(taken: set[int]) -> int:
    number = max(taken, default=0) + 1
    return number if 0 < number < ID_LIMIT else next(id_ for id_ in range(1, ID_LIMIT) if id_ not in taken)


def updated(presets: Listed, preset: Preset) -> Listed:
    """Raises PresetNotFound."""
    if all(each.id != preset.id for each in presets):
        raise PresetNotFound(preset.id)
    return [preset if each.id == preset.id else each for each in presets]


def deleted(presets: Listed, preset_id: int) -> Listed:
    """Raises PresetNotFound."""
    kept = [each for each in presets if each.id != preset_id]
    if len(kept) == len(presets):
        raise PresetNotFound(preset_id)
    return kept


def _parse(data: bytes) -> Parsed[Listed]:
    try:
        raw = yaml.load(data, yaml.CSafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        return Parsed([], str(error))
    if raw is None:  # nothing but comments
        return Parsed([])
    if not isinstance(raw, list):
        return Parsed([], "the file should hold a list of presets")
    presets: dict[int, Preset] = {}
    complaint: str | None = None
    for fields in raw:
        try:
            preset = Preset.model_validate(fields)
        except ValidationError as error:
            complaint = complaint or str(error)
            continue
        if preset.id in presets:
            complaint = complaint or f"the id {preset.id} is there twice"
        presets.setdefault(preset.id, preset)
    return Parsed(list(presets.values()), complaint)


def _render(presets: Listed) -> bytes:
    fields = [preset.model_dump() for preset in presets]
    return yaml.dump(fields, Dumper=yaml.CSafeDumper, allow_unicode=True, sort_keys=False, encoding="utf-8")


FORMAT: Format[Listed] = Format(_parse, _render, [])
