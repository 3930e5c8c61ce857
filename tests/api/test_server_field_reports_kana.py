"""Field reports on kana and on texts of nothing: C022, C023, C025, C027, C029, C031."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.harness import Server

SPEAKER = 1


@pytest.fixture(scope="module")
def client(cast: Server) -> Iterator[httpx.Client]:
    with cast.client() as client:
        yield client


def phrases(client: httpx.Client, text: str, *, is_kana: bool, status: int = 200) -> Any:
    """By a form: thousands of kana do not fit into a URL."""
    params: dict[str, str | int] = {"speaker": SPEAKER, "is_kana": is_kana}
    if text == "":
        answer = client.post("/accent_phrases", params=params | {"text": ""})
    else:
        answer = client.post("/accent_phrases", params=params, data={"text": text})
    assert answer.status_code == status, answer.text
    return answer.json()


@pytest.mark.parametrize(
    ("kana", "error_name"),
    [
        ("ホ'ゲホ'ゲ", "ACCENT_TWICE"),
        ("こんにちは", "UNKNOWN_TEXT"),
        ("ア'//ア'", "EMPTY_PHRASE"),
        ("'ア", "ACCENT_TOP"),
        ("ア'？ア", "INTERROGATION_MARK_NOT_AT_END"),
        ("ア", "ACCENT_NOTFOUND"),
        ("", "EMPTY_PHRASE"),
    ],
)
def test_clients_can_tell_errors_apart(client: httpx.Client, kana: str, error_name: str) -> None:
    detail = phrases(client, kana, is_kana=True, status=400)["detail"]
    assert set(detail) == {"text", "error_name", "error_args"}
    assert detail["error_name"] == error_name


def test_a_question_is_one_in_text_and_in_kana(client: httpx.Client) -> None:
    (spoken,) = phrases(client, "ですか？", is_kana=False)
    (written,) = phrases(client, "デ_スカ'？", is_kana=True)
    assert spoken["is_interrogative"] and written["is_interrogative"]
    names = ("text", "consonant", "vowel")
    both = [[[mora[name] for name in names] for mora in phrase["moras"]] for phrase in (spoken, written)]
    assert both[0] == both[1] == [["デ", "d", "e"], ["ス", "s", "U"], ["カ", "k", "a"]]


@pytest.mark.parametrize(("kana", "vowel"), [("ァ", "a"), ("ヲ", "o"), ("ェ", "e")])
def test_small_kana_alone(client: httpx.Client, kana: str, vowel: str) -> None:
    (phrase,) = phrases(client, f"{kana}'", is_kana=True)
    (mora,) = phrase["moras"]
    assert (mora["text"], mora["consonant"], mora["vowel"]) == (kana, None, vowel)
    valid = client.post("/validate_kana", params={"text": f"{mora['text']}'"})
    assert (valid.status_code, valid.json()) == (200, True)


@pytest.mark.parametrize(
    ("kana", "error_name"),
    [
        ("ア" * 5000 + "'", "INFINITE_LOOP"),
        ("_ア" * 5000, "INFINITE_LOOP"),
        ("/" * 5000, "EMPTY_PHRASE"),
        ("ア'/" * 3000, "EMPTY_PHRASE"),
        ("'" * 5000, "ACCENT_TOP"),
        ("？" * 5000, "INTERROGATION_MARK_NOT_AT_END"),
    ],
    ids=lambda value: value[:4],
)
def test_thousands_of_morae_and_stray_separators_end(client: httpx.Client, kana: str, error_name: str) -> None:
    assert phrases(client, kana, is_kana=True, status=400)["detail"]["error_name"] == error_name


def test_thousands_of_phrases_are_read(client: httpx.Client) -> None:
    assert len(phrases(client, "/".join(["ア'"] * 3000), is_kana=True)) == 3000


@pytest.mark.parametrize("text", ['😊"', "?", "！？", "　"])
def test_nothing_to_say_is_silence(client: httpx.Client, text: str) -> None:
    query = client.post("/audio_query", params={"text": text, "speaker": SPEAKER}).json()
    assert (query["accent_phrases"], query["kana"]) == ([], "")
    sound = client.post("/synthesis", params={"speaker": SPEAKER}, json=query)
    assert sound.status_code == 200
    assert set(sound.content[44:]) == {0}


def test_an_empty_kana_and_unknown_keys_change_no_sound(client: httpx.Client, query: dict[str, Any]) -> None:
    def speak(body: dict[str, Any]) -> bytes:
        answer = client.post("/synthesis", params={"speaker": SPEAKER}, json=body)
        assert answer.status_code == 200, answer.text
        return answer.content

    assert speak(query | {"kana": "", "tempoDynamicsScale": 1.0}) == speak(query)
