"""Files that several servers share: never half, never lost to another writer, never silently thrown away."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from koegumi.state import files
from koegumi.state.files import Format, Parsed, StateError, Store

Numbers = list[int]


def parse(data: bytes) -> Parsed[Numbers]:
    try:
        raw = json.loads(data)
    except ValueError as error:
        return Parsed([], str(error))
    good = [item for item in raw if isinstance(item, int)]
    return Parsed(good, None if good == raw else "not only numbers")


FORMAT: Format[Numbers] = Format(parse, lambda numbers: json.dumps(numbers).encode(), [])


def add(number: int) -> Callable[[Numbers], tuple[Numbers, int]]:
    return lambda numbers: ([*numbers, number], len(numbers))


def only(number: int) -> Callable[[Numbers], tuple[Numbers, None]]:
    return lambda _: ([number], None)


@pytest.fixture
def store(tmp_path: Path) -> Store[Numbers]:
    return Store(tmp_path / "deep" / "numbers.json", FORMAT)


def asides(store: Store[Numbers]) -> list[Path]:
    return list(store.path.parent.glob("numbers.json.broken-*"))


def test_without_a_file_there_is_nothing(store: Store[Numbers]) -> None:
    assert store.read() == ([], None)
    assert store.stamp() is None
    assert not store.path.parent.exists()


def test_a_change_is_there_for_everybody(store: Store[Numbers]) -> None:
    assert store.update(add(1)) == 0
    assert store.update(add(2)) == 1
    assert Store(store.path, FORMAT).read() == ([1, 2], store.stamp())


def test_a_change_that_fails_changes_nothing(store: Store[Numbers]) -> None:
    store.update(add(1))
    before = store.stamp()

    def fail(numbers: Numbers) -> tuple[Numbers, None]:
        raise KeyError

    with pytest.raises(KeyError):
        store.update(fail)
    assert store.stamp() == before
    store.update(add(2))  # the lock is free


def test_every_change_has_a_stamp_of_its_own(store: Store[Numbers]) -> None:
    """Even one of the same size, in the same tick of the clock."""
    stamps = []
    for number in range(9):
        store.update(only(number))
        stamps.append(store.stamp())
    assert all(one != other for one, other in pairwise(stamps))


def test_a_crash_before_the_replacing_leaves_the_old_file(
    store: Store[Numbers], monkeypatch: pytest.MonkeyPatch
) -> None:
    store.update(add(1))

    def crash(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", crash)
        with pytest.raises(StateError, match=r"numbers.json: No space left on device") as error:
            store.update(add(2))
    assert not error.value.forbidden
    assert store.read().value == [1]
    store.update(add(3))
    assert store.read().value == [1, 3]


def test_mode_and_link_stay(store: Store[Numbers], tmp_path: Path) -> None:
    store.update(add(1))
    store.path.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(store.path)
    Store(link, FORMAT).update(add(2))
    assert link.is_symlink()
    assert store.path.stat().st_mode & 0o777 == 0o640
    assert store.read().value == [1, 2]


def test_a_broken_file_is_set_aside(store: Store[Numbers]) -> None:
    store.path.parent.mkdir()
    store.path.write_bytes(b'[1, 2, "th')
    assert store.read() == ([], store.stamp())
    (aside,) = asides(store)
    assert aside.read_bytes() == b'[1, 2, "th'
    assert json.loads(store.path.read_bytes()) == []


def test_an_editor_may_finish(store: Store[Numbers], monkeypatch: pytest.MonkeyPatch) -> None:
    store.path.parent.mkdir()
    store.path.write_bytes(b"[1, 2")
    monkeypatch.setattr("time.sleep", lambda seconds: store.path.write_bytes(b"[1, 2]"))
    assert store.read() == ([1, 2], store.stamp())
    assert asides(store) == []


def test_what_can_be_saved_is_kept(store: Store[Numbers]) -> None:
    store.path.parent.mkdir()
    store.path.write_bytes(b'[1, "two", 3]')
    store.update(add(4))
    assert json.loads(store.path.read_bytes()) == [1, 3, 4]
    (aside,) = asides(store)
    assert aside.read_bytes() == b'[1, "two", 3]'


def test_a_broken_file_that_cannot_be_moved_is_read_all_the_same(
    store: Store[Numbers], monkeypatch: pytest.MonkeyPatch
) -> None:
    store.path.parent.mkdir()
    store.path.write_bytes(b'[1, "two"]')

    def refuse(source: object, target: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "replace", refuse)
    assert store.read().value == [1]
    with pytest.raises(StateError) as error:
        store.update(add(2))
    assert error.value.forbidden
    assert store.path.read_bytes() == b'[1, "two"]'


@pytest.mark.parametrize(("folder", "forbidden"), [("/sys/koegumi", True), ("/dev/null/koegumi", False)])
def test_a_place_that_takes_nothing_is_named(folder: str, forbidden: bool) -> None:
    with pytest.raises(StateError, match=f"cannot write {folder}/numbers.json: ") as error:
        Store(Path(folder, "numbers.json"), FORMAT).update(add(1))
    assert error.value.forbidden is forbidden


def test_a_lock_that_is_never_free_is_an_error(store: Store[Numbers], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LOCK_LIMIT", 0.0)
    with store.locked(), pytest.raises(StateError, match="lock"):
        Store(store.path, FORMAT).update(add(1))


def test_a_lock_may_be_released_by_another_thread(store: Store[Numbers]) -> None:
    lock = store.lock()
    thread = threading.Thread(target=lock.release)
    thread.start()
    thread.join()
    store.update(add(1))


ADD_MANY = """
import sys
from pathlib import Path
from koegumi.state.files import Store
from tests.unit.test_state_files import FORMAT, add
for number in range(25):
    Store(Path(sys.argv[1]), FORMAT).update(add(number))
"""


def test_processes_and_threads_lose_nothing(store: Store[Numbers]) -> None:
    command = [sys.executable, "-c", ADD_MANY, str(store.path)]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, cwd=root) as one, subprocess.Popen(command, cwd=root) as two:
        threads = [threading.Thread(target=lambda: [store.update(add(7)) for _ in range(10)]) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (one.wait(), two.wait()) == (0, 0)
    assert len(store.read().value) == 80
