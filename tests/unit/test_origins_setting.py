"""Who may come by the settings: the command line beats the file, and the file the default."""

from __future__ import annotations

from pathlib import Path

import pytest

from koegumi.api.origins import Origins
from koegumi.schema.stored import CorsPolicyMode, Setting
from koegumi.server import _origins
from koegumi.settings import Settings
from koegumi.state.state import Places, State, open_state


async def no_compiler(source: Path, target: Path, size: int) -> None:
    raise AssertionError


def state(folder: Path) -> State:
    return open_state(Places(folder), no_compiler)


@pytest.fixture
def stored(tmp_path: Path) -> State:
    kept = state(tmp_path)
    setting = Setting(cors_policy_mode=CorsPolicyMode.all, allow_origin="https://a.example  https://b.example")
    kept.setting.update(lambda _: (setting, None))
    return kept


def test_without_a_file(tmp_path: Path) -> None:
    assert _origins(Settings(), state(tmp_path)) == Origins(everyone=False, allowed=())
    assert _origins(Settings(), state(Path("/dev/null/koegumi"))) == Origins(everyone=False, allowed=())


def test_the_file(stored: State) -> None:
    expected = Origins(everyone=True, allowed=("https://a.example", "https://b.example"))
    assert _origins(Settings(), stored) == expected


def test_the_command_line_beats_the_file(stored: State) -> None:
    local = Settings(cors_policy_mode=CorsPolicyMode.localapps)
    assert _origins(local, stored) == Origins(everyone=False, allowed=("https://a.example", "https://b.example"))
    one = Settings(allow_origin=["https://c.example"])
    assert _origins(one, stored) == Origins(everyone=True, allowed=("https://c.example",))
    assert _origins(Settings(allow_origin=[]), stored).allowed == ()
