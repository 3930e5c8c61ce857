"""All voices that this server has: speakers in order, styles by id."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import koegumi.voices
from koegumi.voices.interface import Family, NotPrepared, Places, ReadsFiles, Speaker, Style

PLUGIN = "family.py"


class UnknownStyle(LookupError):  # noqa: N818 - reads as a sentence where it is raised
    """No voice has this style id."""


@dataclass(frozen=True)
class Entry:
    """A style with what it belongs to."""

    style: Style
    speaker: Speaker
    family: Family


class Catalog:
    def __init__(self, found: Iterable[tuple[Family, Speaker]]) -> None:
        """Raises ValueError where a style id or a speaker's uuid is there twice."""
        self.edition = 0  # counts how often it became another
        self.missing: tuple[str, ...] = ()  # families that are not prepared, as sentences
        self.speakers: list[Speaker] = []
        self._entries: dict[int, Entry] = {}
        uuids: set[str] = set()
        for family, speaker in found:
            if speaker.uuid in uuids:
                raise ValueError(f"speaker uuid {speaker.uuid} is there twice")
            uuids.add(speaker.uuid)
            self.speakers.append(speaker)
            for style in speaker.styles:
                self._add(Entry(style, speaker, family))

    def _add(self, entry: Entry) -> None:
        other = self._entries.get(entry.style.id)
        if other is not None:
            raise ValueError(f"style id {entry.style.id} is there twice: {other.speaker.name}, {entry.speaker.name}")
        self._entries[entry.style.id] = entry

    def become(self, other: Catalog) -> None:
        """Have the voices of `other`: whoever has this catalog sees them from now on."""
        self.speakers, self._entries, self.missing = other.speakers, other._entries, other.missing
        self.edition += 1

    def common(self, other: Catalog) -> Catalog:
        """The voices of this catalog that `other` has as well."""
        both = self._entries.keys() & other._entries.keys()
        return Catalog(
            (self._entries[styles[0].id].family, replace(speaker, styles=styles))
            for speaker in self.speakers
            if (styles := tuple(style for style in speaker.styles if style.id in both))
        )

    @property
    def lanes(self) -> set[str]:
        """The lanes for sound that the voices need."""
        return {speaker.lane for speaker in self.speakers}

    @property
    def styles(self) -> Mapping[int, Entry]:
        return self._entries

    def style(self, style_id: int) -> Entry:
        """Raises UnknownStyle."""
        try:
            return self._entries[style_id]
        except KeyError:
            raise UnknownStyle(style_id) from None

    def speaker(self, uuid: str) -> Speaker | None:
        return next((speaker for speaker in self.speakers if speaker.uuid == uuid), None)

    def families(self) -> list[Family]:
        """Each family that has a voice here, once."""
        return list({entry.family.name: entry.family for entry in self._entries.values()}.values())


def built_in_families() -> list[Family]:
    """Every package in `koegumi.voices` that exports FAMILY."""
    families: list[Family] = []
    for module in pkgutil.iter_modules(koegumi.voices.__path__, "koegumi.voices."):
        if module.ispkg:
            families.append(importlib.import_module(module.name).FAMILY)
    return families


def plugin_families(paths: Iterable[Path]) -> list[Family]:
    """The families of the folders that hold a family.py. Such a folder is code, trusted like a plugin."""
    return [_load_plugin(path / PLUGIN) for path in paths if (path / PLUGIN).is_file()]


def _load_plugin(file: Path) -> Family:
    """Read anew at each call: the file may have changed."""
    name = f"koegumi_family_{file.resolve().parent.name}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    family: Family = module.FAMILY
    return family


def families_of(places: Places) -> list[Family]:
    """All that are built in; where the user named files and folders, those that they are for alone."""
    built_in = built_in_families()
    if not places.voice_paths:
        return built_in
    readers = [family for family in built_in if isinstance(family, ReadsFiles)]
    for path in places.voice_paths:
        if not (path / PLUGIN).is_file() and not any(reader.reads(path) for reader in readers):
            places.refuse(f"{path} holds no voice")
    named = [family for family in readers if places.library_dir or any(map(family.reads, places.voice_paths))]
    return [*plugin_families(places.voice_paths), *named]


def read_catalog(places: Places) -> Catalog:
    """Find every voice. Where the user named some, they alone speak, and libraries if `places` has them.

    What clashes with a voice before it is refused. Raises NotPrepared where no voice is there at all.
    """
    found: list[tuple[Family, Speaker]] = []
    missing: list[str] = []
    refused: list[str] = []

    def refuse(sentence: str) -> None:
        refused.append(sentence)
        places.refuse(sentence)

    for family in families_of(replace(places, refuse=refuse)):
        try:
            for speaker in family.find(replace(places, refuse=refuse)):
                clash = _clash(speaker, found)
                if clash is None:
                    found.append((family, speaker))
                else:
                    refuse(clash)
        except NotPrepared as error:
            missing.append(str(error))
    if not found:
        raise NotPrepared("; ".join(dict.fromkeys([*refused, *missing])) or "no voice was found")
    catalog = Catalog(found)
    catalog.missing = tuple(missing)
    return catalog


def _clash(speaker: Speaker, found: Iterable[tuple[Family, Speaker]]) -> str | None:
    """What of this speaker is taken already, as a sentence that names both."""
    for _, other in found:
        if speaker.uuid == other.uuid:
            return f"{_named(speaker)} has the speaker uuid {speaker.uuid} of {_named(other)}"
        taken = {style.id: style for style in other.styles}
        for style in speaker.styles:
            if style.id in taken:
                return f"{_named(speaker, style)} has the style id {style.id} of {_named(other, taken[style.id])}"
    return None


def _named(speaker: Speaker, style: Style | None = None) -> str:
    source = (style or speaker.styles[0]).source if speaker.styles else None
    return f"{speaker.name} ({source})" if source is not None else speaker.name
