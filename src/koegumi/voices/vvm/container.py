"""Members of a VVM: of a zip file, or of a folder. Reads are bounded, and nothing is ever unpacked by its name."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

MANIFEST = "manifest.json"
MAX_MEMBERS = 10_000
MAX_TEXT_BYTES = 4_000_000
MAX_PICTURE_BYTES = 32_000_000
MAX_MODEL_BYTES = 1_000_000_000
# Weights hardly compress; what grows a hundredfold is there to fill the memory.
MAX_GROWTH = 100
GROWTH_FROM = 1_000_000


class VvmError(Exception):
    """A file cannot be used; the message is a sentence that says why."""


class NoMember(VvmError):  # noqa: N818 - reads as a sentence where it is raised
    """A member is not there."""


class Container(Protocol):
    def read(self, name: str, limit: int) -> bytes:
        """A whole member of at most `limit` bytes. Raises VvmError, NoMember."""

    def has(self, name: str) -> bool: ...


@contextmanager
def open_container(path: Path) -> Iterator[Container]:
    """Raises VvmError."""
    if path.is_dir():
        yield _Folder(path)
        return
    try:
        archive = zipfile.ZipFile(path)
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile) as error:
        raise VvmError(f"it cannot be opened as a zip file: {error}") from error
    with archive:
        yield Archive(archive)


class Archive:
    def __init__(self, archive: zipfile.ZipFile) -> None:
        """Raises VvmError."""
        names = archive.namelist()
        if len(names) > MAX_MEMBERS:
            raise VvmError(f"it has {len(names)} members; {MAX_MEMBERS} are allowed")
        if len(set(names)) < len(names):
            raise VvmError("it has two members of one name")
        self._archive = archive

    def has(self, name: str) -> bool:
        return name in self._archive.NameToInfo

    def read(self, name: str, limit: int) -> bytes:
        info = self._archive.NameToInfo.get(name)
        if info is None:
            raise NoMember(f"{name} is missing")
        if info.file_size > limit:
            raise VvmError(f"{name} has {info.file_size} bytes; {limit} are allowed")
        if info.file_size > GROWTH_FROM + MAX_GROWTH * info.compress_size:
            raise VvmError(f"{name} grows from {info.compress_size} to {info.file_size} bytes, which no voice does")
        try:
            return self._archive.read(info)
        except (OSError, ValueError, RuntimeError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            raise VvmError(f"{name} cannot be read: {error}") from error


class _Folder:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def has(self, name: str) -> bool:
        return self._path(name).is_file()

    def read(self, name: str, limit: int) -> bytes:
        path = self._path(name)
        try:
            if (size := path.stat().st_size) > limit:
                raise VvmError(f"{name} has {size} bytes; {limit} are allowed")
            return path.read_bytes()
        except (FileNotFoundError, IsADirectoryError):
            raise NoMember(f"{name} is missing") from None
        except (OSError, ValueError) as error:
            raise VvmError(f"{name} cannot be read: {error}") from error

    def _path(self, name: str) -> Path:
        path = self._folder / name
        if not path.resolve().is_relative_to(self._folder.resolve()):
            raise VvmError(f"{name!r} leads out of the folder")
        return path


@dataclass(frozen=True)
class Member:
    """A member that is read when it is asked for."""

    path: Path
    member: str

    @property
    def name(self) -> str:
        return self.member.rpartition("/")[2]

    def read_bytes(self) -> bytes:
        """Raises OSError."""
        try:
            with open_container(self.path) as container:
                return container.read(self.member, MAX_PICTURE_BYTES)
        except VvmError as error:
            raise OSError(f"{self.path}: {error}") from error
