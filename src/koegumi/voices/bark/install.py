"""Makes the prepared folder of a model's folder: once, whole or not at all, and by one process at a time."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from filelock import FileLock

from koegumi.voices import artwork
from koegumi.voices.bark.nodes import Precision
from koegumi.voices.bark.prepare import is_prepared, prepare
from koegumi.voices.bark.prepared import (
    LAYOUT,
    NO_PRESET,
    Prepared,
    family_folder,
    give_style_ids,
)
from koegumi.voices.bark.presets import Source, find_presets, read_preset, write_preset
from koegumi.voices.bark.tokenizer import FILES, TextTokenizer
from koegumi.voices.current import make_current, write_json
from koegumi.voices.interface import NotPrepared, Places, Progress

PRECISIONS: dict[str, Sequence[Precision]] = {"cpu": ("fp32", "int8"), "cuda": ("fp32", "fp16")}
HUE = 0.08
_TEMPORARY = "new-"
# Of larger files both ends are read.
_WHOLE = 1 << 20


def install(source: Path, places: Places, device: str, progress: Progress) -> None:
    """Raises OSError and ValueError: what is missing or wrong, by name."""
    if not source.is_dir():
        raise FileNotFoundError(f"{source} is no folder")
    presets = find_presets(source)
    folder = family_folder(places)
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "lock"):
        name = f"{_fingerprint(source, presets)}-{LAYOUT}"
        for left_over in folder.glob(f"{_TEMPORARY}*"):
            shutil.rmtree(left_over)
        if not (folder / name).is_dir():
            _build(source, presets, folder, name, device, progress)
        elif not is_prepared(Prepared(folder / name).models, PRECISIONS[device]):
            prepare(source, Prepared(folder / name).models, PRECISIONS[device], progress)
        make_current(folder, name)


def _build(source: Path, presets: Sequence[Source], folder: Path, name: str, device: str, progress: Progress) -> None:
    """Everything in a new folder that gets its name when it is whole."""
    temporary = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=folder))
    try:
        temporary.chmod(0o755)
        prepared = Prepared(temporary)
        _copy_tokenizer(source, prepared)
        loaded = {preset.name: read_preset(preset) for preset in presets}
        prepare(source, prepared.models, PRECISIONS[device], progress)
        progress(f"Bark: {len(loaded)} presets")
        ids = give_style_ids(folder, [NO_PRESET, *loaded])
        prepared.preset(0).parent.mkdir()
        for preset_name, preset in loaded.items():
            write_preset(preset, prepared.preset(ids[preset_name]))
        write_json(prepared.styles, ids)
        artwork.draw(prepared.icon, "B", HUE, artwork.ICON)
        artwork.draw(prepared.portrait, "B", HUE, artwork.PORTRAIT)
        temporary.rename(folder / name)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _copy_tokenizer(source: Path, prepared: Prepared) -> None:
    """The first of its files that is there, and is one."""
    prepared.tokenizer.mkdir()
    for name in FILES:
        if (source / name).is_file():
            shutil.copyfile(source / name, prepared.tokenizer / name)
            break
    try:
        TextTokenizer(prepared.tokenizer)
    except NotPrepared:
        raise FileNotFoundError(f"{source} has no {' and no '.join(FILES)}") from None


def _fingerprint(source: Path, presets: Iterable[Source]) -> str:
    """Of names, sizes and contents of all files that are read."""
    files = {path for path in source.iterdir() if path.is_file()}
    files |= {path for preset in presets for path in preset.parts.values()}
    digest = hashlib.sha256()
    for path in sorted(files):
        size = path.stat().st_size
        digest.update(f"{path.relative_to(source).as_posix()}\0{size}\0".encode())
        with path.open("rb") as file:
            digest.update(file.read(_WHOLE))
            file.seek(max(_WHOLE, size - _WHOLE))
            digest.update(file.read(_WHOLE))
    return digest.hexdigest()[:16]
