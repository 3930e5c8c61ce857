"""The images, built once as the docs say, and nothing left behind."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest

from tests.docker import lines
from tests.docker.engine import free_port, run

BUILD_LIMIT = 900.0


@pytest.fixture(scope="session")
def environment() -> Iterator[dict[str, str]]:
    """Names of our own for everything that compose makes, so that nobody's are touched."""
    name = f"koegumi-test-{os.getpid()}"
    found = {
        "COMPOSE_PROJECT_NAME": name,
        "COMPOSE_PROGRESS": "plain",
        "KOEGUMI_BUILD_NETWORK": "host",
        "KOEGUMI_IMAGE": f"{name}:cpu",
        "KOEGUMI_PROXY_IMAGE": f"{name}-proxy",
        "KOEGUMI_PUBLISH": f"127.0.0.1:{free_port()}",
        "KOEGUMI_SYNTHESIS_WORKERS": "2",
    }
    yield found
    for image in (found["KOEGUMI_IMAGE"], found["KOEGUMI_PROXY_IMAGE"]):
        subprocess.run(["docker", "image", "rm", "--force", image], capture_output=True)


@pytest.fixture(scope="session")
def address(environment: dict[str, str]) -> str:
    return environment["KOEGUMI_PUBLISH"]


@pytest.fixture(scope="session")
def image(environment: dict[str, str]) -> str:
    run(lines.BUILD, environment, limit=BUILD_LIMIT)
    return environment["KOEGUMI_IMAGE"]
