"""`koegumi prepare`: every family makes what it needs, once."""

from __future__ import annotations

import sys

from koegumi.settings import Settings
from koegumi.voices.catalog import families_of
from koegumi.voices.interface import Places


def prepare(settings: Settings) -> int:
    """Prepare all families, or only those that the user gave something to prepare from; 1 with a sentence where one
    cannot be."""
    sources = {"bark": settings.bark} if settings.bark is not None else {}
    places = Places(settings.cache_dir, tuple(settings.voices), sources)
    for family in families_of(places):
        if sources and family.name not in sources:
            continue
        try:
            family.prepare(places, settings.device_choice.kind, lambda step: print(step, file=sys.stderr, flush=True))
        except (OSError, ValueError) as error:
            print(f"koegumi: {family.name} cannot be prepared: {error}", file=sys.stderr)
            return 1
    return 0
