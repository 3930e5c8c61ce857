"""A file that several servers share: read again and written under a lock, replaced as a whole, never half.

All of this waits for disks and other processes: call it in a thread.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import structlog
from filelock import FileLock, Timeout

log = structlog.get_logger("koegumi.state")

T = TypeVar("T")
R = TypeVar("R")

# Seconds to wait for another server, which holds the lock for milliseconds.
LOCK_LIMIT = 30.0
LOCK_POLL = 0.01
# Seconds until a file that looks broken is read once more: an editor may not be done with it.
SETTLE = 0.2
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


class StateError(Exception):
    """A file cannot be read or written; the message names it. `forbidden`: the place is not for us to write in."""

    def __init__(self, path: Path, action: str, reason: str, forbidden: bool = False) -> None:
        super().__init__(f"cannot {action} {path}: {reason}")
        self.forbidden = forbidden


class Stamp(NamedTuple):
    """Differs whenever the file was replaced: the old one still has its inode while the new one is made."""

    inode: int
    modified: int
    size: int


class Parsed(NamedTuple, Generic[T]):
    """What a file says. With a complaint, `value` is what could be saved of it, and the file is set aside."""

    value: T
    complaint: str | None = None


@dataclass(frozen=True)
class Format(Generic[T]):
    """How a file's bytes and its value become each other. Values are never changed in place."""

    parse: Callable[[bytes], Parsed[T]]
    render: Callable[[T], bytes]
    empty: T


class Snapshot(NamedTuple, Generic[T]):
    """`stamp` is None where there is no file."""

    value: T
    stamp: Stamp | None


class Store(Generic[T]):
    def __init__(self, path: Path, format_: Format[T]) -> None:
        self.path = Path(os.path.realpath(path))  # a link stays a link
        self._format = format_
        self._parsed: tuple[bytes, Parsed[T]] | None = None

    def stamp(self) -> Stamp | None:
        """Cheap enough for an event loop. None where there is no file, or none that can be seen."""
        try:
            return _stamp(os.stat(self.path))
        except OSError:
            return None

    def read(self) -> Snapshot[T]:
        """The file as it is now; a broken one is set aside, if that can be done. Raises StateError."""
        snapshot, complaint = self._read()
        if complaint is None:
            return snapshot
        try:
            with self.locked():
                return self.read_locked()
        except StateError as error:
            log.warning("broken file", path=str(self.path), reason=complaint, kept=str(error))
            return snapshot

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep all others from writing. Raises StateError."""
        lock = self.lock()
        try:
            yield
        finally:
            lock.release()

    def lock(self) -> FileLock:
        """The lock, held; it may be released in another thread. Raises StateError."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # One for each time: those of one process exclude each other too.
            lock = FileLock(self._beside("lock"), timeout=LOCK_LIMIT, thread_local=False, poll_interval=LOCK_POLL)
            lock.acquire()
        except Timeout:
            reason = f"another process has held its lock for {LOCK_LIMIT:.0f} s"
            raise StateError(self.path, "write", reason) from None
        except (OSError, NotImplementedError) as error:
            raise _error(self.path, "write", error) from error
        return lock

    def read_locked(self) -> Snapshot[T]:
        """As `read`, by who holds the lock."""
        snapshot, complaint = self._read()
        if complaint is None:
            return snapshot
        time.sleep(SETTLE)
        snapshot, complaint = self._read()
        if complaint is None:
            return snapshot
        aside = self.path.with_name(
            f"{self.path.name}.broken-{time.strftime('%Y%m%d-%H%M%S')}-{time.time_ns() % 10**9}"
        )
        try:
            os.replace(self.path, aside)
        except OSError as error:
            raise _error(self.path, "set aside", error) from error
        log.warning("broken file set aside", path=str(self.path), reason=complaint, aside=str(aside))
        return Snapshot(snapshot.value, self.write(snapshot.value))

    def write(self, value: T) -> Stamp:
        """Replace the file, with the lock held; what returned survives a loss of power. Raises StateError."""
        data = self._format.render(value)
        try:
            stamp = _replace(self.path, self._beside("tmp"), data)
        except OSError as error:
            raise _error(self.path, "write", error) from error
        self._parsed = (data, Parsed(value))
        return stamp

    def update(self, change: Callable[[T], tuple[T, R]]) -> R:
        """Lock, read again, write what `change` makes of it. Raises StateError and what `change` raises."""
        with self.locked():
            value, result = change(self.read_locked().value)
            self.write(value)
            return result

    def _beside(self, purpose: str) -> Path:
        return self.path.with_name(f".{self.path.name}.{purpose}")

    def _read(self) -> tuple[Snapshot[T], str | None]:
        try:
            with open(self.path, "rb") as file:
                stamp = _stamp(os.fstat(file.fileno()))
                data = file.read()
        except FileNotFoundError:
            return Snapshot(self._format.empty, None), None
        except OSError as error:
            raise _error(self.path, "read", error) from error
        parsed = self._parse(data)
        return Snapshot(parsed.value, stamp), parsed.complaint

    def _parse(self, data: bytes) -> Parsed[T]:
        known = self._parsed
        if known is None or known[0] != data:
            known = self._parsed = (data, self._format.parse(data))
        return known[1]


def _replace(path: Path, temporary: Path, data: bytes) -> Stamp:
    """One writer at a time, so one name for the new file is enough, and a crash leaves one at most."""
    with open(temporary, "wb") as file:
        file.write(data)
        with contextlib.suppress(FileNotFoundError):
            os.fchmod(file.fileno(), os.stat(path).st_mode)
        file.flush()
        os.fsync(file.fileno())
        stamp = _stamp(os.fstat(file.fileno()))
    os.replace(temporary, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return stamp


def _stamp(status: os.stat_result) -> Stamp:
    return Stamp(status.st_ino, status.st_mtime_ns, status.st_size)


def _error(path: Path, action: str, error: Exception) -> StateError:
    number = error.errno if isinstance(error, OSError) else None
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return StateError(path, action, reason, forbidden=number in _FORBIDDEN)
