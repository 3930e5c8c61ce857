"""API keys: where they are set, nothing but signs of life is answered without one; who may see the admin's side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.datastructures import Headers

from koegumi import cli
from koegumi.api.keys import Keys
from koegumi.settings import Settings
from tests.api.fake import QUERY, House

KEYS = Keys(["first", "鍵"])


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer first"}, 200),
        ({"authorization": "bearer  first "}, 200),
        ({"X-API-Key": "first"}, 200),
        ({"X-API-Key": "鍵".encode()}, 200),
        ({"X-API-Key": ""}, 401),
        ({"X-API-Key": "firs"}, 401),
        ({"X-API-Key": "first\t鍵".encode()}, 401),
        ({"Authorization": "Basic first"}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"Authorization": "Bearer wrong", "X-API-Key": "first"}, 401),
    ],
    ids=repr,
)
def test_a_key_is_needed_where_keys_are_set(headers: dict[str, Any], status: int) -> None:
    house = House(keys=KEYS)
    answer = house.ask("POST", "/synthesis?speaker=0", json=QUERY, headers=headers)
    assert answer.status_code == status
    assert answer.headers["x-request-id"]
    assert (len(house.dispatcher.jobs) == 1) == (status == 200)
    if status == 401:
        assert answer.headers["www-authenticate"] == "Bearer"
        assert "X-API-Key" in answer.json()["detail"]


def test_signs_of_life_need_no_key_and_all_else_does() -> None:
    house = House(keys=KEYS)
    for path in ("/livez", "/readyz", "/version"):
        assert house.ask("GET", path).status_code == 200
    for path in ("/", "/speakers", "/metrics", "/docs", "/openapi.json", "/admin/queue", "/nope", "/livez/", "//livez"):
        assert house.ask("GET", path).status_code == 401, path


def test_a_page_asks_before_it_sends_its_key() -> None:
    headers = {"Origin": "http://localhost:3000", "Access-Control-Request-Method": "POST"}
    asked = House(keys=KEYS).ask("OPTIONS", "/synthesis", headers=headers)
    assert asked.status_code == 200
    refused = House(keys=KEYS).ask("GET", "/speakers", headers={"Origin": "http://localhost:3000"})
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, "http://localhost:3000")


def test_without_keys_everyone_may() -> None:
    assert House().ask("GET", "/speakers", headers={"X-API-Key": "any"}).status_code == 200


def test_names_of_clients_tell_nothing_of_their_keys() -> None:
    holder = KEYS.holder(Headers({"X-API-Key": "first"}))
    assert holder is not None
    assert "first" not in holder
    assert holder != KEYS.holder(Headers(raw=[(b"x-api-key", "鍵".encode())]))


def test_keys_come_from_a_file_and_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "keys"
    file.write_text("# ours\n\n one \r\n", encoding="utf-8")
    monkeypatch.setenv("KOEGUMI_API_KEYS", "two\nthree")
    assert Settings(api_keys_file=file).all_api_keys == ["two", "three", "one"]
    assert "two" not in repr(Settings(api_keys_file=file))
    monkeypatch.setenv("KOEGUMI_API_KEYS", "")
    assert Settings().all_api_keys == []


@pytest.mark.parametrize("text", [None, "", "# nothing\n"])
def test_a_server_without_the_keys_it_was_told_of_does_not_start(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "keys"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit) as error:
        cli.main(["serve", "--api-keys", str(file)])
    assert str(file) in str(error.value.code)
