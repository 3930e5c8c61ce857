"""Pictures and samples of voices: in base64, or at addresses named by the hash of their content."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path

from koegumi.schema.models import SpeakerInfo, StyleInfo
from koegumi.voices.catalog import Catalog
from koegumi.voices.interface import Speaker, Style


class Resources:
    """Reads files: call its methods in a thread."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._edition = -1
        self._known: dict[Path, str] = {}

    @property
    def _hashes(self) -> dict[Path, str]:
        """Of all files, read once for each edition of the catalog."""
        if self._edition != (edition := self._catalog.edition):
            paths = {path for speaker in self._catalog.speakers for path in _files(speaker)}
            self._known = {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
            self._edition = edition
        return self._known

    def find(self, digest: str) -> Path | None:
        return next((path for path, known in self._hashes.items() if known == digest), None)

    def info(self, speaker: Speaker, styles: list[Style], base_url: str | None) -> SpeakerInfo:
        """With addresses below `base_url`, or in base64 without one. Raises OSError."""

        def show(path: Path) -> str:
            if base_url is None:
                return base64.b64encode(path.read_bytes()).decode()
            return f"{base_url}_resources/{self._hashes[path]}"

        infos = [
            StyleInfo(
                id=style.id,
                icon=show(style.files.icon),
                portrait=show(style.files.portrait) if style.files.portrait else None,
                voice_samples=[show(path) for path in style.files.samples],
            )
            for style in styles
        ]
        return SpeakerInfo(policy=speaker.policy, portrait=show(speaker.portrait), style_infos=infos)


def _files(speaker: Speaker) -> Iterator[Path]:
    yield speaker.portrait
    for style in speaker.styles:
        yield style.files.icon
        yield from style.files.samples
        if style.files.portrait:
            yield style.files.portrait
