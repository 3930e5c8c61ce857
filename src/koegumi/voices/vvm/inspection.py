"""A VVM looked through: what it holds, and everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from koegumi.voices.vvm.container import MAX_MODEL_BYTES, Container, VvmError, open_container
from koegumi.voices.vvm.domains import DOMAINS
from koegumi.voices.vvm.manifest import Character, Manifest, Operation, read_manifest, read_metas
from koegumi.voices.vvm.signature import NotOnnx, Signature, read_signature

VV_BIN = "is encrypted for VOICEVOX's own runtime (vv_bin), and nothing else can open it"


@dataclass(frozen=True, eq=False)
class VvmFile:
    """A VVM that was read; its models are still in the file."""

    path: Path
    manifest: Manifest
    characters: tuple[Character, ...]

    @property
    def style_ids(self) -> list[int]:
        return [style.id for character in self.characters for style in character.styles]

    def read_model(self, filename: str) -> bytes:
        """Raises VvmError."""
        with open_container(self.path) as container:
            return container.read(filename, MAX_MODEL_BYTES)


@dataclass(frozen=True)
class ModelReport:
    """One model. `signature` is None where it could not be read."""

    domain: str
    operation: str
    file: Operation
    signature: Signature | None
    complaints: tuple[str, ...]


@dataclass(frozen=True)
class Inspection:
    """`file` is None where not even manifest and metas are right. `complaints` are sentences; without any the file is
    good."""

    file: VvmFile | None
    models: tuple[ModelReport, ...]
    complaints: tuple[str, ...]


def inspect(path: Path) -> Inspection:
    """Reads every model, and runs none."""
    try:
        with open_container(path) as container:
            manifest = read_manifest(container)
            file = VvmFile(path, manifest, read_metas(container, manifest))
            models = tuple(_models(container, manifest))
    except VvmError as error:
        return Inspection(None, (), (str(error),))
    complaints = [f"{model.domain}.{model.operation} {text}" for model in models for text in model.complaints]
    return Inspection(file, models, tuple(complaints))


def read_vvm(path: Path) -> VvmFile:
    """The file, if everything in it is as it should be. Raises VvmError with the first complaint."""
    inspection = inspect(path)
    if inspection.complaints or inspection.file is None:
        first, *others = inspection.complaints
        more = f" ({len(others)} more: koegumi voices check {path})" if others else ""
        raise VvmError(f"{path}: {first}{more}")
    return inspection.file


def _models(container: Container, manifest: Manifest) -> Iterator[ModelReport]:
    signatures: dict[str, Signature | str] = {}
    for domain, models in manifest.domains.items():
        for operation, file in models.operations.items():
            if file.type == "vv_bin":
                yield ModelReport(domain, operation, file, None, (VV_BIN,))
                continue
            if file.filename not in signatures:
                signatures[file.filename] = _signature(container, file.filename)
            found = signatures[file.filename]
            if isinstance(found, str):
                yield ModelReport(domain, operation, file, None, (found,))
                continue
            complaints = (f"({file.filename}): its {text}" for text in found.complaints(DOMAINS[domain][operation]))
            yield ModelReport(domain, operation, file, found, tuple(complaints))


def _signature(container: Container, filename: str) -> Signature | str:
    """Or what is wrong, as the end of a sentence."""
    try:
        return read_signature(container.read(filename, MAX_MODEL_BYTES))
    except (VvmError, NotOnnx) as error:
        return f"cannot be used: {error}" if isinstance(error, VvmError) else f"({filename}) is no ONNX model: {error}"
