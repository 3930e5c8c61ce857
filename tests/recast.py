"""A VVM under the names and style ids of the tests' cast, so that tests of the cast run against its voices."""

from __future__ import annotations

import json
import zipfile
from itertools import cycle
from pathlib import Path
from typing import Any

from koegumi.voices.catalog import plugin_families
from koegumi.voices.interface import Places, Speaker
from koegumi.voices.vvm.container import open_container
from koegumi.voices.vvm.domains import NEEDED
from koegumi.voices.vvm.manifest import INNER_IDS
from tests.harness import CAST

MAX_BYTES = 1_000_000_000


def recast(source: Path, target: Path) -> Path:
    """Its voices take the roles of the cast in turn, with all terms of the cast."""
    (family,) = plugin_families([CAST])
    cast: list[Speaker] = family.find(Places(CAST))
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        manifest: dict[str, Any] = json.loads(old.read("manifest.json"))
        for domain in ("talk", "streaming_talk", "singing_teacher", "frame_decode"):
            voices = cycle(sorted(set(manifest[domain][INNER_IDS].values())))
            styles = [style for speaker in cast for style in speaker.styles if domain in NEEDED[style.type]]
            manifest[domain][INNER_IDS] = {str(style.id): next(voices) for style in styles}
        metas = [_meta(speaker) for speaker in cast]
        new.writestr("manifest.json", json.dumps(manifest))
        new.writestr(manifest["metas_filename"], json.dumps(metas))
        for speaker in cast:
            folder = f"character_info/{speaker.uuid}"
            new.writestr(f"{folder}/policy.md", speaker.policy)
            new.writestr(f"{folder}/portrait.png", speaker.portrait.read_bytes())
            new.writestr(f"{folder}/metas.json", json.dumps({"supported_features": speaker.supported_features}))
            for style in speaker.styles:
                new.writestr(f"{folder}/icons/{style.id}.png", style.files.icon.read_bytes())
                for number, sample in enumerate(style.files.samples, start=1):
                    new.writestr(f"{folder}/voice_samples/{style.id}_{number:03}.wav", sample.read_bytes())
        with open_container(source) as container:
            for name in sorted({name for name in old.namelist() if name.endswith(".onnx")}):
                new.writestr(name, container.read(name, MAX_BYTES))
    return target


def _meta(speaker: Speaker) -> dict[str, Any]:
    return {
        "name": speaker.name,
        "speaker_uuid": speaker.uuid,
        "version": speaker.version,
        "styles": [{"name": style.name, "id": style.id, "type": style.type} for style in speaker.styles],
    }
