"""Characters of VVM files as speakers, with what the files show of them.

A VVM has no place for pictures, samples and terms. Members in the layout of VOICEVOX ENGINE's `character_info` are
taken, which VOICEVOX CORE passes over; what is missing gets a plain picture, and words that say so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from koegumi.voices.interface import TALK, Capability, Readable, Speaker, Style, StyleFiles
from koegumi.voices.vvm import domains
from koegumi.voices.vvm.container import MAX_TEXT_BYTES, Container, Member, VvmError, open_container
from koegumi.voices.vvm.inspection import VvmFile
from koegumi.voices.vvm.manifest import Character, StyleMeta

INFO = "character_info"
SAMPLES_PER_STYLE = 3
DEFAULT_ICON = Path(__file__).parent / "icon.png"
DEFAULT_PORTRAIT = Path(__file__).parent / "portrait.png"
NO_TERMS = "# {name}\n\nThe file that this voice comes from does not tell its terms: ask who made it.\n"
MORPHING = "permitted_synthesis_morphing"
# Of decoders as small as ours; it is measured at once.
REAL_TIME_FACTOR = 0.03


@dataclass(frozen=True)
class _Shown:
    """A character of one file."""

    character: Character
    file: VvmFile
    policy: str
    portrait: Readable
    morphing: str
    styles: tuple[tuple[StyleMeta, StyleFiles], ...]


def speakers_of(files: Iterable[VvmFile]) -> list[Speaker]:
    """Characters with one uuid are one speaker, who is as the first file says. In order of `order`, none last."""
    shown = [one for file in files for one in _read(file)]
    by_uuid: dict[str, list[_Shown]] = {}
    for one in shown:
        by_uuid.setdefault(one.character.speaker_uuid, []).append(one)
    ordered = sorted(by_uuid.values(), key=lambda parts: _rank(parts[0].character))
    return [_speaker(parts) for parts in ordered]


def _rank(meta: Character | StyleMeta) -> tuple[bool, int]:
    return meta.order is None, meta.order or 0


def _read(file: VvmFile) -> Iterator[_Shown]:
    with open_container(file.path) as container:
        for character in file.characters:
            yield _Folder(container, file.path, character.speaker_uuid).shown(character, file)


class _Folder:
    """What there is of a character in a file's `character_info`."""

    def __init__(self, container: Container, path: Path, uuid: str) -> None:
        self._container = container
        self._path = path
        self._folder = f"{INFO}/{uuid}"

    def shown(self, character: Character, file: VvmFile) -> _Shown:
        styles = tuple((style, self._files(style.id)) for style in character.styles)
        policy = self._text(f"{self._folder}/policy.md") or self._text("policy.md")
        return _Shown(
            character,
            file,
            policy or NO_TERMS.format(name=character.name),
            self._member("portrait.png") or DEFAULT_PORTRAIT,
            self._morphing(),
            styles,
        )

    def _files(self, style_id: int) -> StyleFiles:
        names = (f"voice_samples/{style_id}_{number:03}.wav" for number in range(1, SAMPLES_PER_STYLE + 1))
        return StyleFiles(
            icon=self._member(f"icons/{style_id}.png") or DEFAULT_ICON,
            samples=tuple(sample for name in names if (sample := self._member(name)) is not None),
            portrait=self._member(f"portraits/{style_id}.png"),
        )

    def _member(self, name: str) -> Readable | None:
        member = f"{self._folder}/{name}"
        return Member(self._path, member) if self._has(member) else None

    def _has(self, member: str) -> bool:
        try:
            return self._container.has(member)
        except VvmError:  # a speaker_uuid that is no name
            return False

    def _text(self, member: str) -> str:
        try:
            return self._container.read(member, MAX_TEXT_BYTES).decode("utf-8") if self._has(member) else ""
        except (VvmError, UnicodeDecodeError):
            return ""

    def _morphing(self) -> str:
        """What the character allows, as VOICEVOX ENGINE reads it."""
        try:
            info = msgspec.json.decode(self._text(f"{self._folder}/metas.json") or "{}", type=dict[str, Any])
            permitted = info.get("supported_features", {}).get(MORPHING, "ALL")
            return permitted if permitted in ("ALL", "SELF_ONLY") else "NOTHING"
        except (msgspec.DecodeError, AttributeError):
            return "ALL"


def _speaker(parts: Sequence[_Shown]) -> Speaker:
    first = parts[0]
    pairs = sorted(
        ((style, files, part.file) for part in parts for style, files in part.styles), key=lambda row: _rank(row[0])
    )
    return Speaker(
        name=first.character.name,
        uuid=first.character.speaker_uuid,
        version=first.character.version,
        styles=tuple(Style(style.id, style.name, files, _type(style), file.path) for style, files, file in pairs),
        policy=first.policy,
        portrait=first.portrait,
        capabilities=_capabilities((style.type, file) for style, _, file in pairs),
        real_time_factor=REAL_TIME_FACTOR,
        supported_features={MORPHING: first.morphing},
    )


def _type(style: StyleMeta) -> str:
    """The API knows no styles that stream; they talk."""
    return domains.TALK if style.type == domains.STREAMING_TALK else style.type


def _capabilities(styles: Iterable[tuple[str, VvmFile]]) -> frozenset[Capability]:
    """`styles`: type and file of each. Also a style that has a whole decoder streams, where the file has the models."""
    capabilities: frozenset[Capability] = frozenset()
    for type_, file in styles:
        talks = type_ in (domains.TALK, domains.STREAMING_TALK)
        capabilities |= TALK if talks else {Capability.SONG}
        if talks and domains.STREAMING_TALK in file.manifest.domains:
            capabilities |= {Capability.STREAMING}
    return capabilities
