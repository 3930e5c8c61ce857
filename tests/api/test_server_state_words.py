"""A word is used by every worker from the moment its writer has an answer, and nowhere lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.harness import CAST, Server, serving

SMALL: tuple[str | Path, ...] = ("--voices", CAST, "--synthesis-workers", "1")
TEXT = "犬猫鳥です"
WITHOUT = "イヌネコ'トリデ_ス"


@pytest.fixture(scope="module")
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(20) as pool:
        yield pool


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("状態 state")


@pytest.fixture(scope="module")
def server(state: Path) -> Iterator[Server]:
    """Two query workers; every test leaves it without words and presets."""
    with serving(*SMALL, "--query-workers", "2", "--state-dir", state) as running:
        yield running


@pytest.fixture
def client(server: Server) -> Iterator[httpx.Client]:
    with server.client() as session:
        yield session
        for key in session.get("/user_dict").json():
            session.delete(f"/user_dict_word/{key}")
        for preset in session.get("/presets").json():
            session.post("/delete_preset", params={"id": preset["id"]})


def word(surface: str, pronunciation: str = "テスト", **more: Any) -> dict[str, Any]:
    return {"surface": surface, "pronunciation": pronunciation, "accent_type": 1, "priority": 10, **more}


def add(client: httpx.Client, surface: str, pronunciation: str = "テスト", **more: Any) -> str:
    answer = client.post("/user_dict_word", params=word(surface, pronunciation, **more))
    assert answer.status_code == 200, answer.text
    key: str = answer.json()
    return key


def kana(client: httpx.Client, text: str = TEXT) -> str:
    answer = client.post("/audio_query", params={"text": text, "speaker": 0})
    assert answer.status_code == 200, answer.text
    spoken: str = answer.json()["kana"]
    return spoken


def all_kana(client: httpx.Client, threads: ThreadPoolExecutor) -> tuple[set[str], set[str]]:
    """What 40 calls at once answer, and which workers they had."""
    params: dict[str, str | int] = {"text": TEXT, "speaker": 0}
    answers = list(threads.map(lambda _: client.post("/audio_query", params=params), range(40)))
    return {answer.json()["kana"] for answer in answers}, {answer.headers["x-koegumi-worker"] for answer in answers}


def test_every_worker_uses_a_word_at_once(client: httpx.Client, threads: ThreadPoolExecutor) -> None:
    workers = set[str]()

    def spoken() -> set[str]:
        found, names = all_kana(client, threads)
        workers.update(names)
        return found

    assert spoken() == {WITHOUT}
    for _ in range(3):
        key = add(client, "犬猫鳥")
        assert spoken() == {"テ'_ストデ_ス"}
        path = f"/user_dict_word/{key}"
        assert client.put(path, params=word("犬猫鳥", "カナリヤ")).status_code == 204
        assert spoken() == {"カ'ナリヤデ_ス"}
        assert client.delete(path).status_code == 204
        assert spoken() == {WITHOUT}
    assert workers == {"query-1", "query-2"}


def test_twenty_words_at_once_are_twenty_words(client: httpx.Client, threads: ThreadPoolExecutor) -> None:
    keys = list(threads.map(lambda number: add(client, f"word{number}"), range(20)))
    kept = client.get("/user_dict").json()
    assert set(kept) == set(keys)
    assert len({each["surface"] for each in kept.values()}) == 20


def test_twenty_presets_at_once_are_twenty_presets(client: httpx.Client, threads: ThreadPoolExecutor) -> None:
    def post(number: int) -> httpx.Response:
        return client.post("/add_preset", json=preset(name=f"preset {number}"))

    answers = list(threads.map(post, range(20)))
    assert sorted(answer.json() for answer in answers) == list(range(1, 21))
    kept = client.get("/presets").json()
    assert sorted(each["id"] for each in kept) == list(range(1, 21))
    assert len({each["name"] for each in kept}) == 20


def preset(**changes: Any) -> dict[str, Any]:
    neutral = {"speedScale": 1, "pitchScale": 0, "intonationScale": 1, "volumeScale": 1}
    pauses = {"prePhonemeLength": 0.1, "postPhonemeLength": 0.1, "pauseLength": None, "pauseLengthScale": 1}
    return {"id": 1, "name": "普通", "speaker_uuid": "x", "style_id": 2} | neutral | pauses | changes


def test_a_neutral_preset_gives_the_plain_query(client: httpx.Client) -> None:
    add(client, "犬猫鳥")
    client.post("/add_preset", json=preset())
    client.post("/add_preset", json=preset(id=2, speedScale=1.5, pauseLength=0.25))
    plain = client.post("/audio_query", params={"text": TEXT, "speaker": 2}).json()
    path = "/audio_query_from_preset"
    assert client.post(path, params={"text": TEXT, "preset_id": 1}).json() == plain
    changed = plain | {"speedScale": 1.5, "pauseLength": 0.25}
    assert client.post(path, params={"text": TEXT, "preset_id": 2}).json() == changed
    assert changed["outputSamplingRate"] == 24000


def test_a_preset_s_id_is_fresh_and_unknown_ones_change_nothing(client: httpx.Client) -> None:
    assert [client.post("/add_preset", json=preset(id=5)).json() for _ in range(2)] == [5, 6]
    before = client.get("/presets").json()
    assert client.post("/update_preset", json=preset(id=9999)).status_code == 422
    assert client.post("/delete_preset", params={"id": 9999}).status_code == 422
    assert client.get("/presets").json() == before


def test_the_priority_comes_back(client: httpx.Client) -> None:
    keys = {priority: add(client, f"犬{priority}", priority=priority) for priority in (0, 5, 8, 10)}
    kept = client.get("/user_dict").json()
    assert {priority: kept[key]["priority"] for priority, key in keys.items()} == {each: each for each in keys}


@pytest.mark.parametrize("surface", ["Soncho", "N Air", "dB", "ローファー", "C++", "C#"])
def test_words_match_in_both_widths_and_in_their_case(client: httpx.Client, surface: str) -> None:
    add(client, surface, "ヌヌネネ")
    assert "ヌ'ヌネネ" in kana(client, f"これは{surface}です")
    wide = "".join(chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter for letter in surface)
    assert "ヌ'ヌネネ" in kana(client, wide.replace(" ", "　"))
    if surface.lower() != surface:
        assert "ヌ'ヌネネ" not in kana(client, surface.lower())


@pytest.mark.parametrize("surface", ["百合", "百度", "百戦錬磨"])
def test_a_word_with_the_numeral_100_wins_at_a_high_priority(client: httpx.Client, surface: str) -> None:
    key = add(client, surface, "ヌヌ", priority=5)
    assert "ヌ'ヌ" not in kana(client, surface)
    client.put(f"/user_dict_word/{key}", params=word(surface, "ヌヌ", priority=10))
    assert "ヌ'ヌ" in kana(client, surface)


@pytest.mark.parametrize("surface", ["a\n犬,1348,1348,-9999,名詞,一般,*,*,*,*,*,ワン,ワン,1/2,*", 'a",b', "a,b", "\0a"])
def test_nothing_breaks_out_of_its_field(client: httpx.Client, surface: str) -> None:
    answer = client.post("/user_dict_word", params=word(surface))
    assert answer.status_code == (422 if {"\n", "\0"} & set(surface) else 200)
    assert kana(client) == WITHOUT


def test_importing_reaches_the_workers(client: httpx.Client) -> None:
    key = add(client, "犬猫鳥")
    words = client.get("/user_dict").json()
    client.delete(f"/user_dict_word/{key}")
    assert client.post("/import_user_dict", params={"override": False}, json=words).status_code == 204
    assert kana(client) == "テ'_ストデ_ス"
    bad = {key: words[key] | {"pronunciation": "カナリヤ"}, "zz": words[key]}
    assert client.post("/import_user_dict", params={"override": True}, json=bad).status_code == 422
    assert kana(client) == "テ'_ストデ_ス"


def test_a_large_dictionary_can_be_imported(client: httpx.Client, state: Path) -> None:
    key = add(client, "犬猫鳥")
    (fields,) = client.get("/user_dict").json().values()
    tail = key[8:]
    many = {f"{number:08x}{tail}": fields | {"surface": f"word{number}"} for number in range(2000)}
    assert client.post("/import_user_dict", params={"override": True}, json=many).status_code == 204
    assert len(client.get("/user_dict").json()) == 2001
    assert (kana(client, "word1999"), kana(client)) == ("テ'_スト", "テ'_ストデ_ス")
    (state / "user_dict.json").write_text("{}")  # by hand, as with an editor
    assert client.get("/user_dict").json() == {}
    assert kana(client) == WITHOUT


def test_workers_that_die_lose_no_word(client: httpx.Client, server: Server, threads: ThreadPoolExecutor) -> None:
    """Killed while they compile: a write fails with a reason or is there, and they come back with all words."""
    since = len(server.log.lines)
    writes = [threads.submit(client.post, "/user_dict_word", params=word(f"word{number}")) for number in range(20)]
    for pid in server.worker_pids("query").values():
        os.kill(pid, signal.SIGKILL)
    answers = [write.result() for write in writes]
    assert {answer.status_code for answer in answers} <= {200, 422}
    assert set(client.get("/user_dict").json()) == {answer.json() for answer in answers if answer.status_code == 200}
    add(client, "犬猫鳥")
    for name in ("query-1", "query-2"):
        server.wait_for_return(name, since)
    assert all_kana(client, threads) == ({"テ'_ストデ_ス"}, {"query-1", "query-2"})


def test_compiled_files_do_not_pile_up(client: httpx.Client, state: Path) -> None:
    for number in range(12):
        add(client, f"word{number}")
        kana(client)
    assert len(list(state.glob("compiled/*/*"))) < 6  # they go behind the answers' backs
