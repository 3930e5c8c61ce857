"""The image by itself, as tightly held as Docker can."""

from __future__ import annotations

import contextlib
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docker import lines
from tests.docker.engine import Container, free_port, is_wave, query, run, speak

pytestmark = pytest.mark.docker

TEXT = "こんにちは、音声合成の世界へようこそ。"


@contextlib.contextmanager
def started(line: str) -> Iterator[Container]:
    container = Container(run(line).strip())
    try:
        container.wait_healthy()
        yield container
    finally:
        subprocess.run(["docker", "rm", "--force", "--volumes", container.name], capture_output=True)


def workers(container: Container) -> int:
    return int(next(line["workers"] for line in container.log() if line["event"] == "listening"))


def mapped(container: Container) -> str:
    """The files that the synthesis worker has in memory."""
    (worker,) = [worker for worker in container.ask_json("GET", "/admin/workers") if worker["lane"] == "synthesis"]
    return container.execute("cat", f"/proc/{worker['pid']}/maps")


def test_held_tightly_it_speaks(image: str, tmp_path: Path) -> None:
    limits = "--read-only --cap-drop ALL --cpus 1 --memory 2g --network none"
    with started(f"docker run -d {limits} {image}") as container:
        sound = container.speak(TEXT)
        assert is_wave(sound)
        assert workers(container) == 2  # one for texts, one for sound: as many as --cpus allows
        assert container.execute("id", "-u").strip() != "0"
        assert "packed-" in mapped(container)
        run(f"docker stop -t 40 {container.name}")
        assert container.state()["ExitCode"] == 0
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("flags : another cpu\n")
    other = f"--read-only --cap-drop ALL --cpuset-cpus 0 --memory 2g --network none -v {cpuinfo}:/proc/cpuinfo:ro"
    with started(f"docker run -d {other} {image}") as container:
        assert workers(container) == 2
        assert "packed-" not in mapped(container)  # laid out for the CPU that built it, so not used here
        assert container.speak(TEXT) == sound


def test_the_documented_run(image: str, environment: dict[str, str]) -> None:
    name, address = environment["COMPOSE_PROJECT_NAME"], f"127.0.0.1:{free_port()}"
    words = {
        "koegumi": name,
        "127.0.0.1:50021:50021": f"{address}:50021",
        "koegumi:/var/lib/koegumi": f"{name}:/var/lib/koegumi",
        "koegumi:cpu": image,
    }
    told = [words.get(word, word) for word in shlex.split(lines.RUN)]
    told[2:2] = ["--network", name]  # an engine for tests may have no network by default
    try:
        run(f"docker network create {name}")
        with started(shlex.join(told)):
            assert is_wave(speak(address, query(address, TEXT)).content)
    finally:
        subprocess.run(["docker", "volume", "rm", name], capture_output=True)
        subprocess.run(["docker", "network", "rm", name], capture_output=True)
