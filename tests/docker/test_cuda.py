"""The image for GPUs, where there is none."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator

import pytest

from tests.docker.engine import Container, is_wave, run

pytestmark = pytest.mark.docker_cuda


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    name = f"koegumi-test-{os.getpid()}:cuda"
    run(f"docker buildx build --load --network host --build-arg FLAVOUR=cuda -t {name} .", limit=3600)
    yield name
    subprocess.run(["docker", "image", "rm", "--force", name], capture_output=True)


def test_it_speaks_on_the_cpu(image: str) -> None:
    container = Container(run(f"docker run -d --network none {image} serve --device cpu").strip())
    try:
        container.wait_healthy()
        assert is_wave(container.speak("こんにちは、音声合成の世界へようこそ。"))
    finally:
        subprocess.run(["docker", "rm", "--force", "--volumes", container.name], capture_output=True)


def test_without_a_gpu_it_says_so(image: str) -> None:
    line = f"docker run --rm --network none {image} serve --device cuda"
    done = subprocess.run(shlex.split(line), capture_output=True, text=True, timeout=300)
    print(done.stderr[-2000:])
    assert done.returncode == 1
    assert "is there a GPU with its driver" in done.stderr
