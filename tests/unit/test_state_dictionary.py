"""Which dictionary is in force when, with a compiler that is told what to do."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from koegumi.state.compiled import CompiledFolder
from koegumi.state.dictionary import CompileFailed, UserDictionary
from koegumi.state.files import StateError
from koegumi.state.user_dict import FORMAT, Words, added, new_word, removed

COMPILED = "compiled/*/*"


def adding(surface: str) -> Any:
    word = new_word(surface, "テスト", 1, None, None)
    return lambda words: added(words, word)


def copy(source: Path, target: Path, size: int) -> None:
    assert target.write_bytes(source.read_bytes()) == size


class Compiler:
    """Copies the rows, so that a dictionary says which words are in it."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.runs = 0
        self.started = asyncio.Event()
        self.held: asyncio.Event | None = None

    async def __call__(self, source: Path, target: Path, size: int) -> None:
        self.runs += 1
        held = self.held
        self.started.set()
        await asyncio.to_thread(copy, source, target, size)
        if held is not None:
            await held.wait()
        if self.error is not None:
            raise self.error


class Server:
    def __init__(self, folder: Path) -> None:
        self.compiler = Compiler()
        self.dictionary = UserDictionary(folder / "user_dict.json", self.compiler)

    async def add(self, surface: str) -> str:
        word_uuid: str = await self.dictionary.change(adding(surface))
        return word_uuid

    async def in_force(self) -> list[str]:
        async with self.dictionary.in_force() as path:
            return surfaces(path)


def surfaces(path: str) -> list[str]:
    return [line.split(",")[0] for line in Path(path).read_text().splitlines()] if path else []


async def settled() -> None:
    """Files are removed behind everybody's back, in threads."""
    await asyncio.get_running_loop().shutdown_default_executor()


def files(folder: Path, pattern: str) -> list[bytes]:
    return [path.read_bytes() for path in folder.glob(pattern)]


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 30))


def test_without_words_there_is_no_dictionary(tmp_path: Path) -> None:
    async def work() -> None:
        server = Server(tmp_path)
        assert await server.in_force() == []
        word_uuid = await server.add("犬")
        assert await server.in_force() == ["犬"]
        await server.dictionary.change(lambda words: (removed(words, word_uuid), None))
        assert await server.in_force() == []
        assert server.compiler.runs == 1

    run(work())


def test_writes_at_once_lose_nothing(tmp_path: Path) -> None:
    async def work() -> None:
        one, two = Server(tmp_path), Server(tmp_path)
        names = [f"犬{number}" for number in range(10)], [f"猫{number}" for number in range(10)]
        await asyncio.gather(*map(one.add, names[0]), *map(two.add, names[1]))
        for server in (one, two):
            assert sorted(await server.in_force()) == sorted(
                new_word(name, "ア", 0, None, None).surface for name in names[0] + names[1]
            )

    run(work())


def test_another_server_s_word_is_in_force_here(tmp_path: Path) -> None:
    async def work() -> None:
        one, two = Server(tmp_path), Server(tmp_path)
        await one.add("犬")
        assert await two.in_force() == ["犬"]
        await two.add("猫")
        assert await one.in_force() == ["犬", "猫"]
        runs = one.compiler.runs
        assert await one.in_force() == ["犬", "猫"]
        assert one.compiler.runs == runs

    run(work())


def test_many_calls_take_a_change_over_once(tmp_path: Path) -> None:
    async def work() -> None:
        await Server(tmp_path).add("犬")
        server = Server(tmp_path)
        assert await asyncio.gather(*(server.in_force() for _ in range(20))) == [["犬"]] * 20
        assert server.compiler.runs == 1

    run(work())


def test_a_failed_compile_changes_nothing(tmp_path: Path) -> None:
    async def work() -> None:
        server = Server(tmp_path)
        await server.add("犬")
        before = server.dictionary.store.path.read_bytes()
        server.compiler.error = CompileFailed("no")
        with pytest.raises(CompileFailed):
            await server.add("猫")
        assert await server.in_force() == ["犬"]
        assert server.dictionary.store.path.read_bytes() == before
        server.compiler.error = None
        await server.add("鳥")
        assert await server.in_force() == ["犬", "鳥"]
        await settled()
        assert len(files(tmp_path, COMPILED)) == 1

    run(work())


def test_a_failed_write_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        server = Server(tmp_path)
        await server.add("犬")

        def fail(words: Words) -> Any:
            raise StateError(tmp_path, "write", "the disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(server.dictionary.store, "write", fail)
            with pytest.raises(StateError):
                await server.add("猫")
        assert await server.in_force() == ["犬"]
        await server.add("鳥")
        assert await server.in_force() == ["犬", "鳥"]

    run(work())


def test_a_dictionary_stays_for_those_who_have_it(tmp_path: Path) -> None:
    async def work() -> None:
        server = Server(tmp_path)
        await server.add("犬")
        async with server.dictionary.in_force() as old:
            await server.add("猫")
            assert await server.in_force() == ["犬", "猫"]
            await asyncio.to_thread(lambda: None)
            assert surfaces(old) == ["犬"]
        await settled()
        (kept,) = files(tmp_path, COMPILED)
        assert "猫" in kept.decode()

    run(work())


def test_a_call_does_not_wait_for_writers_that_wait(tmp_path: Path) -> None:
    async def work() -> None:
        server = Server(tmp_path)
        await Server(tmp_path).add("犬")
        held = server.compiler.held = asyncio.Event()
        writes = [asyncio.create_task(server.add(f"猫{number}")) for number in range(3)]
        await server.compiler.started.wait()
        await Server(tmp_path / "other").add("鳥")
        os.replace(tmp_path / "other" / "user_dict.json", tmp_path / "user_dict.json")
        server.compiler.held = None
        assert await server.in_force() == ["鳥"]
        held.set()
        await asyncio.gather(*writes)

    run(work())


def test_a_write_is_finished_even_if_its_client_has_gone(tmp_path: Path) -> None:
    async def work() -> None:
        server = Server(tmp_path)
        server.compiler.held = asyncio.Event()
        write = asyncio.create_task(server.add("犬"))
        await server.compiler.started.wait()
        write.cancel()
        with pytest.raises(asyncio.CancelledError):
            await write
        server.compiler.held.set()
        await server.add("猫")
        assert await server.in_force() == ["犬", "猫"]

    run(work())


def test_a_file_that_cannot_be_compiled_is_tried_once(tmp_path: Path) -> None:
    async def work() -> None:
        server = Server(tmp_path)
        await server.add("犬")
        await Server(tmp_path).add("猫")
        server.compiler.error = CompileFailed("no")
        runs = server.compiler.runs
        for _ in range(3):
            assert await server.in_force() == ["犬"]
        assert server.compiler.runs == runs + 1
        server.compiler.error = None
        await Server(tmp_path).add("鳥")
        assert await server.in_force() == ["犬", "猫", "鳥"]

    run(work())


def test_a_full_queue_is_no_verdict_on_the_file(tmp_path: Path) -> None:
    async def work() -> None:
        await Server(tmp_path).add("犬")
        server = Server(tmp_path)
        server.compiler.error = ConnectionError()  # any that is not CompileFailed
        with pytest.raises(ConnectionError):
            await server.in_force()
        server.compiler.error = None
        assert await server.in_force() == ["犬"]

    run(work())


def test_a_broken_file_silences_nobody(tmp_path: Path) -> None:
    async def work() -> None:
        server = Server(tmp_path)
        await server.add("犬")
        server.dictionary.store.path.write_bytes(b'{"half')
        assert await server.in_force() == []
        assert files(tmp_path, "user_dict.json.broken-*") == [b'{"half']
        await server.add("猫")
        assert FORMAT.parse(server.dictionary.store.path.read_bytes()).complaint is None

    run(work())


def test_words_of_a_place_that_can_only_be_read_are_used(tmp_path: Path) -> None:
    async def work() -> None:
        await Server(tmp_path).add("犬")
        shutil.rmtree(tmp_path / "compiled")
        (tmp_path / "compiled").touch()  # no folder can be made here
        server = Server(tmp_path)
        assert await server.in_force() == ["犬"]
        server.dictionary.close()

    run(work())


def test_folders_of_dead_servers_go_and_no_others(tmp_path: Path) -> None:
    living, closed = CompiledFolder(tmp_path), CompiledFolder(tmp_path)
    kept, removed_ = living.new_path().parent, closed.new_path().parent
    dead = tmp_path / "compiled" / "1-dead"
    dead.mkdir()
    (dead / "1.dic").touch()
    closed.close()
    assert not removed_.exists()
    CompiledFolder(tmp_path).new_path()
    assert kept.is_dir()
    assert not dead.exists()
