from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--keep-bark", action="store_true", help="write tests/data/bark_expected.npz anew")
