"""`docker compose up`, from outside: what people do with it, and what may happen to it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.docker import lines
from tests.docker.engine import ROOT, Container, client, is_wave, query, run, speak, until

pytestmark = pytest.mark.docker

TEXT = "雨が降りました。三つ目の駅で降ります。"
JOBS = 8


@pytest.fixture(scope="module", autouse=True)
def project(environment: dict[str, str], image: str) -> Iterator[None]:
    yield
    run(f"{lines.DOWN} --volumes", environment)


@pytest.fixture
def server(environment: dict[str, str]) -> Container:
    run(lines.UP, environment)
    return Container(run("docker compose ps -q koegumi", environment).strip())


def curls() -> str:
    """The lines by which README speaks."""
    return "\n".join(re.findall(r"^curl .*$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)[:2])


def test_the_lines_of_the_readme(server: Container, address: str, tmp_path: Path) -> None:
    script = curls().replace("127.0.0.1:50021", address)
    assert script.count(address) == 2
    subprocess.run(["bash", "-ec", script], cwd=tmp_path, check=True, timeout=120)
    assert is_wave((tmp_path / "speech.wav").read_bytes())


def test_two_at_once_overlap(server: Container, address: str) -> None:
    asked = query(address, TEXT)
    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(lambda _: speak(address, asked), range(2)))
    assert all(is_wave(answer.content) for answer in answers)
    assert len({answer.headers["X-Koegumi-Worker"] for answer in answers}) == 2
    waited = max(float(answer.headers["X-Koegumi-Queue-Time"]) for answer in answers)
    worked = min(float(answer.headers["X-Koegumi-Synthesis-Time"]) for answer in answers)
    print(f"\ntwo at once: waited {waited:.3f} s at most, worked {worked:.3f} s at least")
    assert waited < worked / 2


def test_admin_is_for_those_inside(server: Container, address: str) -> None:
    with client(address) as http:
        assert http.get("/admin/workers").status_code == 403


def test_a_killed_worker_costs_no_answer(server: Container, address: str) -> None:
    asked = query(address, TEXT)
    alone = speak(address, asked).content
    with ThreadPoolExecutor(4) as threads:
        answers = [threads.submit(speak, address, asked) for _ in range(4)]
        killed = []

        def kill_one() -> bool:
            crew = server.ask_json("GET", "/admin/workers")
            busy = [worker["pid"] for worker in crew if worker["state"] == "busy" and worker["lane"] == "synthesis"]
            if busy:
                server.kill(busy[0])
                killed.append(busy[0])
            return bool(killed)

        until(kill_one, server)
        assert [answer.result().content == alone for answer in answers] == [True] * 4
    until(lambda: all(worker["state"] == "ready" for worker in server.ask_json("GET", "/admin/workers")), server)
    assert killed[0] not in {worker["pid"] for worker in server.ask_json("GET", "/admin/workers")}


def test_a_front_that_dies_comes_back(server: Container, address: str, environment: dict[str, str]) -> None:
    (front,) = server.execute("cat", "/proc/1/task/1/children").split()
    server.kill(int(front))
    until(lambda: server.state()["RestartCount"] == 1, server)
    server.wait_healthy()
    run(f"docker kill {server.name}")
    run(lines.UP, environment)
    assert is_wave(speak(address, query(address, TEXT)).content)


def test_sigterm_under_load_loses_nothing_and_state_survives(
    server: Container, address: str, environment: dict[str, str]
) -> None:
    word: dict[str, str | int] = {"surface": "声組", "pronunciation": "コエグミ", "accent_type": 0}
    preset = {
        **dict.fromkeys(("speedScale", "intonationScale", "volumeScale"), 1),
        **dict.fromkeys(("pitchScale", "prePhonemeLength", "postPhonemeLength"), 0),
        "id": 7,
        "name": "a",
        "speaker_uuid": "x",
        "style_id": 1,
    }
    with client(address) as http:
        key = http.post("/user_dict_word", params=word).json()
        assert http.post("/add_preset", json=preset).json() == 7
    asked = query(address, TEXT)
    with ThreadPoolExecutor(JOBS) as threads:
        answers = [threads.submit(speak, address, asked) for _ in range(JOBS)]
        until(lambda: len(server.ask_json("GET", "/admin/queue")) + sum(one.done() for one in answers) == JOBS, server)
        run("docker compose stop", environment)
        assert [answer.result().status_code for answer in answers] == [200] * JOBS
    assert server.state()["ExitCode"] == 0
    run(lines.DOWN, environment)
    run(lines.UP, environment)
    with client(address) as http:
        assert http.get("/user_dict").json()[key]["surface"] == "声組"
        assert [found["id"] for found in http.get("/presets").json()] == [7]
    assert query(address, "声組")["kana"].startswith("コエグミ")
