"""VVM files as a family. The front imports this: ONNX Runtime is imported only where models are opened."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import koegumi
from koegumi.voices.interface import Device, NotPrepared, Places, Progress, Speaker, VoiceError
from koegumi.voices.vvm.characters import speakers_of
from koegumi.voices.vvm.container import MANIFEST, VvmError
from koegumi.voices.vvm.inspection import VvmFile, read_vvm

if TYPE_CHECKING:
    from koegumi.voices.vvm.query import VvmQuery
    from koegumi.voices.vvm.synthesis import VvmSynthesis

SUFFIX = ".vvm"
SHIPPED = f"koegumi{SUFFIX}"


class VvmFamily:
    name = "vvm"

    def find(self, places: Places) -> list[Speaker]:
        refused: list[str] = []

        def refuse(sentence: str) -> None:
            refused.append(sentence)
            places.refuse(sentence)

        speakers = speakers_of(_read(_paths(places), refuse))
        if not speakers:
            raise NotPrepared("; ".join(refused) or "there is no VVM file")
        return speakers

    def prepare(self, places: Places, device: str, progress: Progress) -> None:
        """Nothing to make."""

    def open_query(self, places: Places, device: Device) -> VvmQuery:
        from koegumi.voices.vvm.models import Models
        from koegumi.voices.vvm.query import OPERATIONS, VvmQuery

        return VvmQuery(Models(_read(_paths(places)), OPERATIONS, device))

    def open_synthesis(self, places: Places, device: Device) -> VvmSynthesis:
        from koegumi.voices.vvm.models import Models
        from koegumi.voices.vvm.synthesis import OPERATIONS, VvmSynthesis

        return VvmSynthesis(Models(_read(_paths(places)), OPERATIONS, device))

    # voices.interface.ReadsFiles

    def reads(self, path: Path) -> bool:
        return bool(vvm_paths(path))

    def check(self, path: Path) -> list[Speaker]:
        from koegumi.voices.vvm.models import open_all

        refused: list[str] = []
        files = list(_read(vvm_paths(path), refused.append))
        if refused:
            raise ValueError("; ".join(refused))
        for file in files:
            try:
                open_all(file)
            except VoiceError as error:
                raise ValueError(str(error)) from error
        return speakers_of(files)


def vvm_paths(path: Path) -> list[Path]:
    """The VVMs that a path names: itself, if it is a file or a folder of members, or those that lie in the folder."""
    if path.suffix.lower() == SUFFIX and not path.is_dir():
        return [path]
    if not path.is_dir():
        return []
    itself = [path] if (path / MANIFEST).is_file() else []
    return itself + sorted(one for one in path.iterdir() if one.suffix.lower() == SUFFIX and one.is_file())


def shipped_voice() -> Path:
    """Ours: in the package where a wheel was installed, in the checkout where it runs from there."""
    package = Path(koegumi.__file__).parent
    installed = package / "models" / SHIPPED
    return installed if installed.is_file() else package.parents[1] / "models" / SHIPPED


def _paths(places: Places) -> Iterator[Path]:
    """Those that the user named, or else ours; then those of the libraries."""
    if places.voice_paths:
        for path in places.voice_paths:
            yield from vvm_paths(path)
    elif (ours := shipped_voice()).is_file():
        yield ours
    if places.library_dir is not None and places.library_dir.is_dir():
        for library in sorted(places.library_dir.iterdir()):
            if not library.name.startswith("."):
                yield from vvm_paths(library)


def _read(paths: Iterator[Path] | list[Path], refuse: Callable[[str], None] = lambda sentence: None) -> list[VvmFile]:
    """Those that are good, and have no style id that one before them has."""
    owners: dict[int, Path] = {}
    files: list[VvmFile] = []
    for path in paths:
        try:
            file = read_vvm(path)
        except VvmError as error:
            refuse(str(error))
            continue
        twice = next((style_id for style_id in file.style_ids if style_id in owners), None)
        if twice is not None:
            refuse(f"{path}: style id {twice} is also in {owners[twice]}")
            continue
        owners |= dict.fromkeys(file.style_ids, path)
        files.append(file)
    return files


FAMILY = VvmFamily()
