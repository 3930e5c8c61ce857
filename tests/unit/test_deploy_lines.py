"""The files for containers say what the docs say, and what the server does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from koegumi.settings import Settings
from tests.docker import lines

ROOT = Path(__file__).parents[2]
DOCS = ("README.md", "README.ja.md", "docs/deploy.md")
WRITES = {
    *("add_preset", "update_preset", "delete_preset", "import_user_dict", "user_dict_word", "setting"),
    *("initialize_speaker", "install_library", "uninstall_library"),
}


@pytest.mark.parametrize("page", DOCS)
def test_docker_lines_are_those_that_are_run(page: str) -> None:
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    told = {line for block in blocks for line in block.splitlines() if line.startswith("docker ")}
    assert told <= lines.TESTED | lines.GPU


def test_all_lines_that_are_run_are_told() -> None:
    told = (ROOT / "docs/deploy.md").read_text(encoding="utf-8")
    assert [line for line in lines.TESTED - {lines.REPLICAS_DOWN} if line not in told] == []


@pytest.mark.parametrize("file", ["compose.yaml", "deploy/compose.replicas.yaml", "deploy/koegumi.service"])
def test_there_is_more_time_to_end_than_the_server_takes(file: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    times = [int(found) for found in re.findall(r"(?:stop_grace_period: |TimeoutStopSec=)(\d+)", text)]
    assert times and min(times) > Settings().drain + 5


def test_what_the_proxy_asks_again_writes_nothing() -> None:
    text = (ROOT / "deploy/proxy/nginx.conf").read_text(encoding="utf-8")
    (again,) = re.findall(r"location ~ \^/\((.*)\)\$ ", text)
    assert WRITES.isdisjoint(again.split("|"))
    assert {"audio_query", "synthesis", "multi_synthesis"} <= set(again.split("|"))
    assert text.count("non_idempotent") == 1
