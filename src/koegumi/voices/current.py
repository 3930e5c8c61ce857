"""The folder of a family in the cache, in which one prepared folder is the current one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

# The file that names it.
CURRENT = "current"


def current_folder(folder: Path, layout: int) -> Path | None:
    """The folder that was prepared last, if it is there and of this layout: the end of its name."""
    try:
        name = (folder / CURRENT).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None
    return folder / name if name.endswith(f"-{layout}") and (folder / name).is_dir() else None


def make_current(folder: Path, name: str) -> None:
    write_text(folder / CURRENT, name)


def write_json(path: Path, value: Any) -> None:
    """Whole, or not at all."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=1))


def write_text(path: Path, text: str) -> None:
    """Whole, or not at all."""
    temporary = path.with_name(f"{path.name}.new")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)
