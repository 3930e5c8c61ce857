"""The prepared voices, opened once: one thread each. Where they are not prepared yet, that is done first."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs
import pytest

from koegumi.voices.interface import Device, Places
from koegumi.voices.kokoro import FAMILY
from tests.kokoro.sound import Voices


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.kokoro)


@pytest.fixture(scope="session")
def places() -> Places:
    places = Places(Path(os.environ.get("KOEGUMI_CACHE_DIR") or platformdirs.user_cache_dir("koegumi")))
    FAMILY.prepare(places, "cpu", print)
    return places


@pytest.fixture(scope="session")
def voices(places: Places) -> Voices:
    return Voices(FAMILY.open_query(places, Device()), FAMILY.open_synthesis(places, Device()))
