"""The licences of what runs in this server: every package that it needs, and every voice that it has."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata

from packaging.requirements import Requirement

from koegumi.schema.engine import LicenseInfo
from koegumi.voices.catalog import Catalog

_NAMES = ("licen", "copying", "notice", "third_party")


def licences(catalog: Catalog) -> list[LicenseInfo]:
    """Reads files: call it in a thread. Voices first; their terms are what users have to know."""
    return [*_voices(catalog), *map(_licence, _packages("koegumi"))]


def _voices(catalog: Catalog) -> Iterator[LicenseInfo]:
    """Each text once, with the names of those who have it."""
    named: dict[str, list[str]] = {}
    for speaker in catalog.speakers:
        named.setdefault(speaker.policy, []).append(speaker.name)
    for policy, names in named.items():
        yield LicenseInfo(name=", ".join(names), text=policy)


def _packages(root: str) -> list[metadata.Distribution]:
    """The package and all that it needs here, in order of their names."""
    found: dict[str, metadata.Distribution] = {}
    waiting = [root]
    while waiting:
        name = waiting.pop()
        if name.lower() in found:
            continue
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # another platform's
        found[name.lower()] = package
        needed = map(Requirement, package.requires or [])
        waiting += [each.name for each in needed if each.marker is None or each.marker.evaluate({"extra": ""})]
    return [found[name] for name in sorted(found)]


def _licence(package: metadata.Distribution) -> LicenseInfo:
    fields = ("License-Expression", "License")
    names = [*(name for field in fields for name in package.metadata.get_all(field) or []), *_classified(package)]
    short = next((name for name in names if name and "\n" not in name), None)
    text = "\n\n".join(filter(str.strip, _texts(package))) or short or "See the package."
    return LicenseInfo(name=package.metadata["Name"], version=package.version, license=short, text=text)


def _classified(package: metadata.Distribution) -> list[str]:
    classifiers = package.metadata.get_all("Classifier") or []
    return [line.rpartition(" :: ")[2] for line in classifiers if line.startswith("License ::")]


def _texts(package: metadata.Distribution) -> Iterator[str]:
    for file in package.files or []:
        if file.suffix in ("", ".txt", ".md", ".rst") and any(name in file.name.lower() for name in _NAMES):
            try:
                yield file.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue
