"""A VVM's own words: its manifest, and the characters in its metas."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import msgspec

from koegumi.voices.vvm.container import MANIFEST, MAX_TEXT_BYTES, Container, VvmError
from koegumi.voices.vvm.domains import DOMAINS, FORMAT_VERSIONS, NEEDED, STREAMING_TALK, domains_of

T = TypeVar("T")

INNER_IDS = "style_id_to_inner_voice_id"
MAX_STYLE_ID = 2**32 - 1


class Operation(msgspec.Struct, frozen=True):
    """A model: `onnx`, or `vv_bin`, which only VOICEVOX's own runtime opens."""

    type: Literal["onnx", "vv_bin"]
    filename: str


class StyleMeta(msgspec.Struct, frozen=True):
    name: str
    id: int
    type: Literal["talk", "streaming_talk", "singing_teacher", "frame_decode", "sing"] = "talk"
    order: int | None = None


class Character(msgspec.Struct, frozen=True):
    name: str
    styles: tuple[StyleMeta, ...]
    version: str
    speaker_uuid: str
    order: int | None = None


@dataclass(frozen=True)
class Domain:
    operations: Mapping[str, Operation]
    inner_ids: Mapping[int, int]

    def inner_id(self, style_id: int) -> int:
        """The number by which the models know a style."""
        return self.inner_ids.get(style_id, style_id)


@dataclass(frozen=True)
class Manifest:
    version: int
    id: str
    metas_filename: str
    domains: Mapping[str, Domain]


def read_manifest(container: Container) -> Manifest:
    """Raises VvmError."""
    if not container.has(MANIFEST):
        raise VvmError(f"it holds no {MANIFEST}")
    fields = _decode(MANIFEST, container.read(MANIFEST, MAX_TEXT_BYTES), dict[str, Any])
    version = fields.get("vvm_format_version")
    if version not in FORMAT_VERSIONS or not isinstance(version, int):
        known = " and ".join(map(str, FORMAT_VERSIONS))
        raise VvmError(f"its format version is {version!r}; {known} are known")
    domains = {name: _domain(name, fields[name]) for name in domains_of(version) if fields.get(name) is not None}
    if not domains:
        raise VvmError("its manifest names no models")
    return Manifest(version, _uuid(fields.get("id")), _text(fields, "metas_filename"), domains)


def _domain(name: str, value: object) -> Domain:
    where = f"{MANIFEST}: {name}"
    fields = _convert(where, value, dict[str, Any])
    operations = {}
    for operation in DOMAINS[name]:
        if operation not in fields:
            raise VvmError(f"{where} has no {operation}")
        operations[operation] = _convert(f"{where}.{operation}", fields[operation], Operation)
    inner = _convert(f"{where}.{INNER_IDS}", fields.get(INNER_IDS) or {}, dict[str, int])
    try:
        return Domain(operations, {int(style_id): voice for style_id, voice in inner.items()})
    except ValueError:
        raise VvmError(f"{where}.{INNER_IDS} has a key that is no number") from None


def read_metas(container: Container, manifest: Manifest) -> tuple[Character, ...]:
    """Raises VvmError."""
    name = manifest.metas_filename
    characters = _decode(name, container.read(name, MAX_TEXT_BYTES), tuple[Character, ...])
    seen: set[int] = set()
    for character in characters:
        for style in character.styles:
            _check_style(style, manifest)
            if style.id in seen:
                raise VvmError(f"{name}: style id {style.id} is there twice")
            seen.add(style.id)
    if not seen:
        raise VvmError(f"{name} names no style")
    if len({character.speaker_uuid for character in characters}) < len(characters):
        raise VvmError(f"{name}: a speaker_uuid is there twice")
    return characters


def _check_style(style: StyleMeta, manifest: Manifest) -> None:
    if not 0 <= style.id <= MAX_STYLE_ID:
        raise VvmError(f"style id {style.id} is no number from 0 to {MAX_STYLE_ID}")
    if style.type == STREAMING_TALK and manifest.version < 2:
        raise VvmError(f"style {style.id} is of type {style.type}, which format version 2 brought")
    for domain in NEEDED[style.type]:
        if domain not in manifest.domains:
            raise VvmError(f"style {style.id} is of type {style.type}, and there are no models for {domain}")


def _text(fields: Mapping[str, Any], name: str) -> str:
    return _convert(f"{MANIFEST}: {name}", fields.get(name), str)


def _uuid(value: object) -> str:
    try:
        return str(uuid.UUID(str(value)))
    except ValueError:
        raise VvmError(f"{MANIFEST}: id is no UUID") from None


def _decode(where: str, content: bytes, type_: type[T]) -> T:
    try:
        return msgspec.json.decode(content, type=type_)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise VvmError(f"{where}: {error}") from error


def _convert(where: str, value: object, type_: type[T]) -> T:
    try:
        return msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        raise VvmError(f"{where}: {error}") from error
