"""Where a server with these settings looks for voices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from koegumi.settings import Settings
from koegumi.voices.interface import Places


def places_of(settings: Settings, refuse: Callable[[str], None] = lambda sentence: None) -> Places:
    """Installed libraries speak beside named voices only where they are managed. `refuse` hears what is no voice."""
    libraries = settings.library_dir if settings.manage_library or not settings.voices else None
    return Places(settings.cache_dir, tuple(map(Path, settings.voices)), library_dir=libraries, refuse=refuse)
