"""The prepared folder: what `koegumi prepare --bark` writes and all else only reads."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from koegumi.voices.current import current_folder, write_json
from koegumi.voices.interface import NotPrepared, Places

# Grows when the folder's content changes its meaning; older folders are then made anew.
LAYOUT = 1
FIRST_STYLE = 1000
NO_PRESET = ""


@dataclass(frozen=True)
class Prepared:
    """Paths inside `<cache>/bark/<the source's fingerprint>-<layout>/`."""

    root: Path

    @property
    def models(self) -> Path:
        """The engine's folder."""
        return self.root / "models"

    @property
    def tokenizer(self) -> Path:
        """The folder of the tokenizer's file."""
        return self.root / "tokenizer"

    @property
    def styles(self) -> Path:
        """The presets' names and their style ids, in order: a JSON object. The empty name is that of no preset."""
        return self.root / "styles.json"

    def preset(self, style_id: int) -> Path:
        return self.root / "presets" / f"{style_id}.npz"

    @property
    def icon(self) -> Path:
        return self.root / "icon.png"

    @property
    def portrait(self) -> Path:
        return self.root / "portrait.png"

    def style_ids(self) -> dict[str, int]:
        ids: dict[str, int] = json.loads(self.styles.read_text(encoding="utf-8"))
        return ids


def family_folder(places: Places) -> Path:
    return places.cache_dir / "bark"


def find_prepared(places: Places) -> Prepared:
    """The folder that was prepared last. Raises NotPrepared."""
    folder = family_folder(places)
    current = current_folder(folder, LAYOUT)
    if current is None:
        raise NotPrepared(f"no Bark model is prepared in {folder}: run `koegumi prepare --bark DIR`")
    return Prepared(current)


def give_style_ids(folder: Path, names: Iterable[str]) -> dict[str, int]:
    """The style id of each name, from the file that keeps all that were ever given: a name has its id for good, and no
    id is given twice. Raises ValueError where the file is broken."""
    path = folder / "style_ids.json"
    known = _read_ids(path)
    ids = dict(known)
    for name in names:
        if name not in ids:
            ids[name] = max(ids.values(), default=FIRST_STYLE - 1) + 1
    if ids != known:
        write_json(path, ids)
    return {name: ids[name] for name in names}


def _read_ids(path: Path) -> dict[str, int]:
    try:
        ids: dict[str, int] = json.loads(path.read_text(encoding="utf-8"))
        if len(set(ids.values())) != len(ids) or not all(type(value) is int for value in ids.values()):
            raise ValueError("an id is there twice, or is no number")
    except FileNotFoundError:
        return {}
    except (ValueError, AttributeError) as error:
        raise ValueError(f"{path} keeps the style ids of Bark's voices and cannot be read: {error}") from error
    return ids
