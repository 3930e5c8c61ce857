"""The user dictionary of a running server: one version of it is in force, and every text call carries its file.

A write, under the lock of the file: the file is read again, the new words are compiled by a worker, the file is
replaced, and then the version is in force. Whatever fails on the way changes nothing. A call asks for the version in
force when it begins, so a word is used from the moment its writer has an answer; another server's write is noticed by
the stamp of the file.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import structlog

from koegumi.state.compiled import CompiledFolder
from koegumi.state.files import Stamp, StateError, Store
from koegumi.state.user_dict import FORMAT, Words, rows

log = structlog.get_logger("koegumi.state")

R = TypeVar("R")
# Compiles rows to a dictionary, from one file of so many bytes to another. Raises CompileFailed.
Compile = Callable[[Path, Path, int], Awaitable[None]]

ROWS_SUFFIX = ".rows"


class CompileFailed(Exception):  # noqa: N818 - reads as a sentence where it is raised
    """No dictionary came of these words; the message says why."""


@dataclass(eq=False)
class Version:
    """A compiled dictionary, None where there are no words, and how many calls have it that may still load it."""

    path: Path | None
    users: int = 0


class UserDictionary:
    """For the event loop, which never waits for a disk here."""

    def __init__(self, path: Path, compile_: Compile) -> None:
        self.store = Store(path, FORMAT)
        self._compile = compile_
        self._folder = CompiledFolder(self.store.path.parent)
        self._version = Version(None)
        self._seen: Stamp | None = None  # of the file that was taken over last, or could not be
        self._turn = asyncio.Lock()  # of writers
        self._publishing = asyncio.Lock()  # while the file and the version in force may differ
        self._writes: set[asyncio.Task[object]] = set()

    async def words(self) -> Words:
        """Raises StateError."""
        return (await asyncio.to_thread(self.store.read)).value

    async def change(self, change: Callable[[Words], tuple[Words, R]]) -> R:
        """Put in force what `change` makes of the words. Raises StateError, CompileFailed and what `change` raises.

        It is seen to its end even if the caller is cancelled: the lock is held meanwhile.
        """
        write = asyncio.create_task(self._change(change))
        self._writes.add(write)
        write.add_done_callback(self._writes.discard)
        return await asyncio.shield(write)

    @contextlib.asynccontextmanager
    async def in_force(self) -> AsyncIterator[str]:
        """The compiled dictionary for one call, "" for none; it stays where it is as long as this lasts."""
        if self.store.stamp() != self._seen:
            await self._refresh()
        version = self._version
        version.users += 1
        try:
            yield str(version.path or "")
        finally:
            version.users -= 1
            self._drop(version)

    def close(self) -> None:
        """Remove the compiled files."""
        self._folder.close()

    async def _change(self, change: Callable[[Words], tuple[Words, R]]) -> R:
        async with self._turn:
            lock = await asyncio.to_thread(self.store.lock)
            try:
                words, result = await asyncio.to_thread(lambda: change(self.store.read_locked().value))
                path = await self._compiled(words)
                async with self._publishing:
                    try:
                        stamp = await asyncio.to_thread(self.store.write, words)
                    except BaseException:
                        _forget(path)
                        raise
                    self._publish(Version(path), stamp)
            finally:
                lock.release()
            return result

    async def _refresh(self) -> None:
        """Take over what another server wrote, or what was there at the start. What cannot be used is left alone.

        It does not wait for the writers that wait for their turn.
        """
        async with self._publishing:
            stamp = self.store.stamp()
            if stamp == self._seen:
                return
            try:
                snapshot = await asyncio.to_thread(self.store.read)
                self._publish(Version(await self._compiled(snapshot.value)), snapshot.stamp)
            except (StateError, CompileFailed) as error:
                self._seen = stamp
                log.error("user dictionary not taken over", reason=str(error))

    async def _compiled(self, words: Words) -> Path | None:
        if not words:
            return None
        try:
            path, size = await asyncio.to_thread(self._lay_out, words)
        except OSError as error:
            raise StateError(self.store.path, "compile", str(error)) from error
        source = path.with_suffix(ROWS_SUFFIX)
        try:
            await self._compile(source, path, size)
        except BaseException:
            _forget(path)
            raise
        finally:
            _forget(source)
        return path

    def _lay_out(self, words: Words) -> tuple[Path, int]:
        path = self._folder.new_path()
        return path, path.with_suffix(ROWS_SUFFIX).write_bytes(rows(words))

    def _publish(self, version: Version, stamp: Stamp | None) -> None:
        old, self._version, self._seen = self._version, version, stamp
        self._drop(old)

    def _drop(self, version: Version) -> None:
        if version is not self._version and not version.users:
            _forget(version.path)


def _forget(path: Path | None) -> None:
    """Remove a small file, if it is there, without waiting for it."""
    if path is not None:
        asyncio.get_running_loop().run_in_executor(None, _unlink, path)


def _unlink(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
