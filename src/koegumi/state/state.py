"""Everything that a server keeps on disk, in one hand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from koegumi.schema.stored import Setting
from koegumi.state import setting
from koegumi.state.dictionary import Compile, UserDictionary
from koegumi.state.files import StateError, Store
from koegumi.state.libraries import Libraries
from koegumi.state.presets import Presets


@dataclass(frozen=True)
class Places:
    """Where the files are: the reference's names in one folder, unless they are named one by one."""

    folder: Path
    preset_file: Path | None = None
    setting_file: Path | None = None

    @property
    def user_dict(self) -> Path:
        return self.folder / "user_dict.json"

    @property
    def presets(self) -> Path:
        return self.preset_file or self.folder / "presets.yaml"

    @property
    def libraries(self) -> Path:
        return self.folder / "libraries"

    @property
    def setting(self) -> Path:
        return self.setting_file or self.folder / "setting.yml"


@dataclass(frozen=True)
class State:
    """`mutable`: whether clients may change any of it."""

    words: UserDictionary
    presets: Presets
    setting: Store[Setting]
    libraries: Libraries
    mutable: bool = True


def open_state(places: Places, compile_: Compile, mutable: bool = True) -> State:
    """Touches no file; `check` does."""
    return State(
        UserDictionary(places.user_dict, compile_),
        Presets(places.presets),
        Store(places.setting, setting.FORMAT),
        Libraries(places.libraries),
        mutable,
    )


def check(state: State) -> list[str]:
    """Read every file, so that broken ones are set aside before anybody asks; what cannot be read, in words."""
    troubles: list[str] = []
    for store in (state.words.store, state.presets.store, state.setting):
        try:
            store.read()
        except StateError as error:
            troubles.append(str(error))
    return troubles
