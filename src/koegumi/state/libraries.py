"""Voice libraries that were installed over HTTP: a folder each, whole or not there, named by the library's UUID.

A library is one .vvm, or a zip file with several of them and VOICEVOX ENGINE's vvlib_manifest.json. Members get names
of our own, so that none leads anywhere; nothing but VVM files is ever taken out, and no code.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import uuid
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from koegumi.state.files import StateError

INFO = "library.json"
MANIFEST = "vvlib_manifest.json"
VVM_MANIFEST = "manifest.json"
MAX_FILES = 100
MAX_BYTES = 1_000_000_000
MAX_TEXT_BYTES = 1_000_000
_BLOCK = 1 << 20


class BadLibrary(Exception):  # noqa: N818 - reads as a sentence where it is raised
    """The bytes are no library; the message is the answer."""


@dataclass(frozen=True)
class Library:
    uuid: str
    name: str
    version: str
    bytes: int


@dataclass(frozen=True)
class Libraries:
    """All methods but `path` wait for disks: call them in a thread."""

    folder: Path

    def path(self, library_uuid: str) -> Path:
        return self.folder / library_uuid

    def installed(self) -> list[Library]:
        found: list[Library] = []
        for info in sorted(self.folder.glob(f"*/{INFO}")):
            if info.parent.name.startswith("."):
                continue
            with contextlib.suppress(OSError, ValueError, TypeError):
                found.append(Library(**json.loads(info.read_text(encoding="utf-8"))))
        return found

    def unpack(self, library_uuid: str, content: bytes, engine_uuid: str) -> Path:
        """A new folder with the library's files, which nobody looks into before `place`. Raises BadLibrary,
        StateError."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(prefix=".new-", dir=self.folder))
            try:
                folder.chmod(0o755)
                self._fill(folder, library_uuid, content, engine_uuid)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
        except OSError as error:
            raise _state_error(self.folder, "install a library in", error) from error
        return folder

    def _fill(self, folder: Path, library_uuid: str, content: bytes, engine_uuid: str) -> None:
        upload = folder / "upload"
        upload.write_bytes(content)
        try:
            with zipfile.ZipFile(upload) as archive:
                names = archive.namelist()
                if VVM_MANIFEST in names and MANIFEST not in names:
                    upload.rename(folder / "1.vvm")
                    name, version = library_uuid, ""
                else:
                    manifest = _manifest(archive, library_uuid, engine_uuid)
                    name, version = manifest["name"], manifest["version"]
                    _take_out(archive, folder)
                    upload.unlink()
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, EOFError, zlib.error) as error:
            raise BadLibrary(f"音声ライブラリ {library_uuid} は不正なファイルです。") from error
        info = Library(library_uuid, name, version, len(content))
        (folder / INFO).write_text(json.dumps(asdict(info), ensure_ascii=False), encoding="utf-8")

    def place(self, library_uuid: str, folder: Path) -> Path | None:
        """Let it become the library; where the one before it is now, for `put_back` or `drop`. Raises StateError."""
        target = self.path(library_uuid)
        try:
            old = self.take_away(library_uuid) if target.exists() else None
            os.rename(folder, target)
        except OSError as error:
            raise _state_error(target, "install", error) from error
        return old

    def take_away(self, library_uuid: str) -> Path:
        """Nobody sees it any more; where it is now. Raises StateError."""
        old = self.folder / f".old-{uuid.uuid4()}"
        try:
            os.rename(self.path(library_uuid), old)
        except OSError as error:
            raise _state_error(self.path(library_uuid), "remove", error) from error
        return old

    def put_back(self, library_uuid: str, old: Path | None) -> None:
        """All is as it was before `place` or `take_away`. Raises StateError."""
        target = self.path(library_uuid)
        self.drop(target)
        if old is not None:
            try:
                os.rename(old, target)
            except OSError as error:
                raise _state_error(target, "bring back", error) from error

    def drop(self, folder: Path | None) -> None:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _state_error(path: Path, action: str, error: OSError) -> StateError:
    return StateError(path, action, error.strerror or str(error), isinstance(error, PermissionError))


def _manifest(archive: zipfile.ZipFile, library_uuid: str, engine_uuid: str) -> dict[str, Any]:
    """Raises BadLibrary, as the reference says it."""
    try:
        info = archive.getinfo(MANIFEST)
    except KeyError:
        raise BadLibrary(f"音声ライブラリ {library_uuid} に{MANIFEST}が存在しません。") from None
    try:
        manifest = json.loads(archive.read(info)) if info.file_size <= MAX_TEXT_BYTES else None
    except ValueError:
        raise BadLibrary(f"音声ライブラリ {library_uuid} の{MANIFEST}は不正です。") from None
    fields = ("manifest_version", "name", "version", "uuid", "brand_name", "engine_name", "engine_uuid")
    if not isinstance(manifest, dict) or not all(isinstance(manifest.get(name), str) for name in fields):
        raise BadLibrary(f"音声ライブラリ {library_uuid} の{MANIFEST}が不正な形式です。")
    if manifest["engine_uuid"] != engine_uuid:
        raise BadLibrary(f"音声ライブラリ {library_uuid} はKoegumi向けではありません。")
    return manifest


def _take_out(archive: zipfile.ZipFile, folder: Path) -> None:
    """The VVM files, under numbers, as long as they are not too many and not too large. Raises BadLibrary."""
    members = [info for info in archive.infolist() if info.filename.lower().endswith(".vvm")]
    if not members:
        raise BadLibrary("the library holds no VVM file")
    if len(members) > MAX_FILES or sum(info.file_size for info in members) > MAX_BYTES:
        raise BadLibrary(f"the library's VVM files are over {MAX_FILES}, or over {MAX_BYTES} bytes together")
    for number, info in enumerate(members, start=1):
        with archive.open(info) as source, (folder / f"{number}.vvm").open("wb") as target:
            for block in _blocks(source, info.file_size):
                target.write(block)


def _blocks(source: Any, size: int) -> Iterator[bytes]:
    while size > 0 and (block := source.read(min(_BLOCK, size))):
        size -= len(block)
        yield block
