"""`koegumi voices check` and `koegumi voices list`: what a file of voices holds, and what a server would offer."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from koegumi.places import places_of
from koegumi.settings import Settings
from koegumi.voices.catalog import read_catalog
from koegumi.voices.interface import NotPrepared, VoiceError
from koegumi.voices.vvm.family import vvm_paths
from koegumi.voices.vvm.inspection import ModelReport, VvmFile, inspect


def check(paths: Iterable[Path]) -> int:
    """Explain each VVM; 1 where one is not as it should be."""
    good = True
    for path in paths:
        found = vvm_paths(path) or ([path] if path.is_file() else [])
        if not found:
            print(f"{path}: it holds no VVM")
            good = False
        for one in found:
            good &= _check(one)
    return 0 if good else 1


def _check(path: Path) -> bool:
    inspection = inspect(path)
    print(path)
    if inspection.file is not None:
        _explain(inspection.file)
    for model in inspection.models:
        print(f"  {_line(model)}")
    complaints = list(inspection.complaints)
    if not complaints and inspection.file is not None:
        complaints += _opened(inspection.file)
    for complaint in complaints:
        print(f"  WRONG: {complaint}")
    if not complaints:
        print("  good: every model opens")
    return not complaints


def _explain(file: VvmFile) -> None:
    manifest = file.manifest
    print(f"  format version {manifest.version}, id {manifest.id}, domains {', '.join(manifest.domains)}")
    for character in file.characters:
        print(f"  {character.name} {character.version} ({character.speaker_uuid})")
        for style in character.styles:
            print(f"    style {style.id}: {style.name}, {style.type}")


def _line(model: ModelReport) -> str:
    state = "ok" if not model.complaints else "WRONG"
    line = f"{model.domain}.{model.operation}: {model.file.filename} ({model.file.type}), {state}"
    if model.signature is None:
        return line
    inputs, outputs = (", ".join(map(str, ports)) for ports in (model.signature.inputs, model.signature.outputs))
    return f"{line}\n    ({inputs})\n    -> {outputs}"


def _opened(file: VvmFile) -> list[str]:
    from koegumi.voices.vvm.models import open_all

    try:
        open_all(file)
    except VoiceError as error:
        return [str(error)]
    return []


def list_voices(settings: Settings) -> int:
    """What the server would offer with these settings; 1 where that is nothing."""
    try:
        catalog = read_catalog(places_of(settings, lambda sentence: print(f"refused: {sentence}")))
    except NotPrepared as error:
        print(f"koegumi: {error}")
        return 1
    for speaker in catalog.speakers:
        family = catalog.style(speaker.styles[0].id).family.name
        print(f"{speaker.name} {speaker.version} ({family}, {speaker.uuid})")
        for style in speaker.styles:
            source = f", {style.source}" if style.source is not None else ""
            print(f"  {style.id:>6} {style.type:<16} {style.name}{source}")
    for sentence in catalog.missing:
        print(f"not there: {sentence}")
    return 0
