"""What is kept survives: kills, restarts, a second server, broken files, places that take nothing."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import yaml

from tests.api.test_server_state_words import SMALL, TEXT, WITHOUT, add, all_kana, kana, preset, word
from tests.harness import CAST, FAULTY, Server, serving

LOCAL = {"Origin": "http://localhost"}


def test_a_kill_loses_nothing_that_was_answered(tmp_path: Path) -> None:
    """200 words and presets from 8 clients at once, and kill -9 in the middle of it."""
    words, names = set[str](), set[str]()
    halfway = threading.Event()
    with serving(*SMALL, "--state-dir", tmp_path) as server, ThreadPoolExecutor(8) as threads:
        writes = [
            threads.submit(until_killed, server, write, number, done, halfway)
            for number in range(100)
            for write, done in ((write_word, words), (write_preset, names))
        ]
        assert halfway.wait(60)
        server.process.send_signal(signal.SIGKILL)
        for each in writes:
            each.result()
        server.process.wait()
    presets = yaml.safe_load((tmp_path / "presets.yaml").read_bytes())
    assert words <= set(json.loads((tmp_path / "user_dict.json").read_bytes()))
    assert names <= {each["name"] for each in presets}
    assert len({each["id"] for each in presets}) == len(presets)
    assert len(words) > 40
    with serving(*SMALL, "--state-dir", tmp_path) as server, server.client() as client:
        assert words <= set(client.get("/user_dict").json())
        assert names <= {each["name"] for each in client.get("/presets").json()}
        add(client, "犬猫鳥")
        assert kana(client) == "テ'_ストデ_ス"
        # The folder of the killed server went when this one made its own.
        assert len([path for path in (tmp_path / "compiled").iterdir() if path.is_dir()]) == 1
        assert not server.log.events("broken file set aside")


def until_killed(
    server: Server,
    write: Callable[[httpx.Client, str], str],
    number: int,
    done: set[str],
    halfway: threading.Event,
) -> None:
    with server.client() as client:
        try:
            done.add(write(client, str(number)))
        except httpx.TransportError:
            assert halfway.is_set()
    if number == 50:
        halfway.set()


def write_word(client: httpx.Client, name: str) -> str:
    return add(client, f"word{name}")


def write_preset(client: httpx.Client, name: str) -> str:
    client.post("/add_preset", json=preset(name=name)).raise_for_status()
    return name


def test_two_servers_on_one_folder_lose_nothing(tmp_path: Path) -> None:
    with (
        serving(*SMALL, "--state-dir", tmp_path) as one,
        serving(*SMALL, "--query-workers", "2", "--state-dir", tmp_path) as two,
        one.client() as left,
        two.client() as right,
        ThreadPoolExecutor(16) as threads,
    ):
        keys = list(threads.map(lambda number: add((left, right)[number % 2], f"word{number}"), range(40)))
        assert set(keys) == set(left.get("/user_dict").json()) == set(right.get("/user_dict").json())
        list(threads.map(lambda number: write_preset((left, right)[number % 2], str(number)), range(40)))
        for client in (left, right):
            kept = client.get("/presets").json()
            assert (len(kept), len({each["id"] for each in kept})) == (40, 40)
        key = add(left, "犬猫鳥")
        assert all_kana(right, threads)[0] == {"テ'_ストデ_ス"}
        assert right.put(f"/user_dict_word/{key}", params=word("犬猫鳥", "カナリヤ")).status_code == 204
        assert all_kana(left, threads)[0] == {"カ'ナリヤデ_ス"}
        assert left.delete(f"/user_dict_word/{key}").status_code == 204
        assert all_kana(right, threads)[0] == {WITHOUT}


def test_a_restart_keeps_everything(tmp_path: Path) -> None:
    more = ("--state-dir", tmp_path, "--preset_file", tmp_path / "mine.yaml", "--setting_file", tmp_path / "mine.yml")
    evil = {"Origin": "https://a.example"}
    with serving(*SMALL, *more) as server, server.client() as client:
        key = add(client, "犬猫鳥", priority=9)
        client.post("/add_preset", json=preset())
        form = {"cors_policy_mode": "localapps", "allow_origin": "https://b.example https://a.example"}
        assert client.post("/setting", data=form, headers=LOCAL).status_code == 204
        before = client.get("/user_dict").json(), client.get("/presets").json()
        assert client.get("/version", headers=evil).status_code == 403  # until the next start
    assert not list(tmp_path.glob("compiled/*"))
    with serving(*SMALL, *more, "--disable_mutable_api") as server, server.client() as client:
        assert kana(client) == "テ'_ストデ_ス"
        assert (client.get("/user_dict").json(), client.get("/presets").json()) == before
        assert before[0][key]["priority"] == 9
        assert client.get("/version", headers=evil).headers["access-control-allow-origin"] == "https://a.example"
        assert client.delete(f"/user_dict_word/{key}").status_code == 403
    assert {path.name for path in tmp_path.glob("[a-z]*")} == {"compiled", "mine.yaml", "mine.yml", "user_dict.json"}


def test_broken_files_are_set_aside_with_a_warning(tmp_path: Path) -> None:
    good = {"name": "good", **{key: value for key, value in preset().items() if key != "name"}}
    (tmp_path / "user_dict.json").write_text('{"a11196ad-caa8-4f4e-8eb3-3d2261c798fd": {"surface": "犬", "co')
    (tmp_path / "presets.yaml").write_text(yaml.safe_dump([good, {"id": 2}]))
    (tmp_path / "setting.yml").write_text("cors_policy_mode: nobody\n")
    with serving(*SMALL, "--state-dir", tmp_path) as server, server.client() as client:
        warned = server.log.events("broken file set aside")
        assert len(warned) == 3
        assert all(Path(line["aside"]).is_file() for line in warned)
        assert client.get("/user_dict").json() == {}
        assert [each["name"] for each in client.get("/presets").json()] == ["good"]
        add(client, "犬猫鳥")
        assert kana(client) == "テ'_ストデ_ス"


def test_a_place_that_takes_nothing_is_named_and_pages_can_read_every_error(query: dict[str, Any]) -> None:
    voices = ("--voices", CAST, FAULTY, "--synthesis-workers", "1")
    with serving(*voices, "--state-dir", "/sys/koegumi") as server, server.client(headers=LOCAL) as client:
        answers = [
            (403, "/sys/koegumi/presets.yaml", client.post("/add_preset", json=preset())),
            (403, "/sys/koegumi/user_dict.json", client.post("/user_dict_word", params=word("犬"))),
            (422, "speaker", client.post("/audio_query", params={"text": TEXT})),
            (500, "Internal Server Error", client.post("/synthesis", params={"speaker": 93}, json=query)),
        ]
        for status, said, answer in answers:
            assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json")
            assert said in str(answer.json()["detail"])
            assert answer.headers["access-control-allow-origin"] == LOCAL["Origin"]
        assert kana(client) == WITHOUT
