"""The folder of one server's compiled dictionaries: nobody else's, so that only its owner says when one may go.

It is locked for as long as its server lives; folders of servers that died are removed by the next that makes one.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

FOLDER = "compiled"


class CompiledFolder:
    """Made when the first file is asked for. Its methods wait for the disk: call them in a thread."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._numbers = itertools.count(1)
        self._folder: Path | None = None
        self._lock: FileLock | None = None
        self._making = threading.Lock()

    def new_path(self) -> Path:
        """For a dictionary, not there yet. Raises OSError."""
        with self._making:
            if self._folder is None:
                self._folder = self._make()
            return self._folder / f"{next(self._numbers)}.dic"

    def close(self) -> None:
        """Remove all of it."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        if self._lock is not None:
            self._lock.release()
            _unlink(Path(self._lock.lock_file))

    def _make(self) -> Path:
        try:
            home = self._state / FOLDER
            home.mkdir(parents=True, exist_ok=True)
            _sweep(home)
            folder = home / f"{os.getpid()}-{secrets.token_hex(4)}"
            lock = _lock_of(folder)
            lock.acquire()  # before the folder is there, which nobody may take for a dead server's
            self._lock = lock
            folder.mkdir()
        except OSError:  # a dictionary that can only be read is used all the same
            folder = Path(tempfile.mkdtemp(prefix="koegumi-"))
        return folder


def _lock_of(folder: Path) -> FileLock:
    return FileLock(folder.with_name(f"{folder.name}.lock"), timeout=0, thread_local=False)


def _sweep(home: Path) -> None:
    for folder in _folders(home):
        lock = _lock_of(folder)
        with contextlib.suppress(Timeout), lock:
            shutil.rmtree(folder, ignore_errors=True)
            _unlink(Path(lock.lock_file))


def _folders(home: Path) -> Iterator[Path]:
    yield from (path for path in list(home.iterdir()) if path.is_dir())


def _unlink(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
