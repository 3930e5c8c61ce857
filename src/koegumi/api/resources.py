"""Pictures and samples of voices: in base64, or at addresses named by the hash of their content."""

from __future__ import annotations

import base64
import contextlib
import hashlib
from collections.abc import Iterator

from koegumi.schema.models import SpeakerInfo, StyleInfo
from koegumi.voices.catalog import Catalog
from koegumi.voices.interface import Readable, Speaker, Style


class Resources:
    """Reads files: call its methods in a thread."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._edition = -1
        self._known: dict[Readable, str] = {}

    @property
    def _hashes(self) -> dict[Readable, str]:
        """Of all files, read once for each edition of the catalog."""
        if self._edition != (edition := self._catalog.edition):
            known: dict[Readable, str] = {}
            for file in {file for speaker in self._catalog.speakers for file in _files(speaker)}:
                with contextlib.suppress(OSError):
                    known[file] = hashlib.sha256(file.read_bytes()).hexdigest()
            self._known, self._edition = known, edition
        return self._known

    def find(self, digest: str) -> Readable | None:
        return next((file for file, known in self._hashes.items() if known == digest), None)

    def info(self, speaker: Speaker, styles: list[Style], base_url: str | None) -> SpeakerInfo:
        """With addresses below `base_url`, or in base64 without one. Raises OSError."""

        def show(file: Readable) -> str:
            if base_url is None:
                return base64.b64encode(file.read_bytes()).decode()
            if file not in self._hashes:
                raise FileNotFoundError(file.name)
            return f"{base_url}_resources/{self._hashes[file]}"

        infos = [
            StyleInfo(
                id=style.id,
                icon=show(style.files.icon),
                portrait=show(style.files.portrait) if style.files.portrait else None,
                voice_samples=[show(file) for file in style.files.samples],
            )
            for style in styles
        ]
        return SpeakerInfo(policy=speaker.policy, portrait=show(speaker.portrait), style_infos=infos)


def _files(speaker: Speaker) -> Iterator[Readable]:
    yield speaker.portrait
    for style in speaker.styles:
        yield style.files.icon
        yield from style.files.samples
        if style.files.portrait:
            yield style.files.portrait
