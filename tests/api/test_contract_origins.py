"""Which pages may use the server, and the headers that let them read every answer, errors too."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
import structlog

from koegumi.api.front import Limits
from koegumi.api.origins import Origins
from koegumi.dispatch.job import QueueFull
from tests.api.fake import FakeDispatcher, House

ALLOW = "access-control-allow-origin"
LOCAL = "http://localhost:5173"
PREFLIGHT = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type, x-mine"}


def ask(origin: str | None, house: House | None = None, method: str = "GET", path: str = "/version") -> httpx.Response:
    headers = {} if origin is None else {"Origin": origin}
    return (house or House()).ask(method, path, headers=headers)


def test_the_recorded_cases(reference: Path) -> None:
    cases = json.loads((reference / "http_error_cases.json").read_text(encoding="utf-8"))["cases"]
    cases = [case for case in cases if "headers" in case]
    assert len(cases) >= 16
    house = House()
    for case in cases:
        answer = house.ask(case["method"], case["path"], headers=case["headers"])
        assert answer.status_code == case["status"], case["name"]
        assert answer.headers["content-type"] == case["content_type"], case["name"]
        assert answer.headers.get(ALLOW) == case["access_control_allow_origin"], case["name"]
        if "body" in case:
            assert answer.json() == case["body"], case["name"]


@pytest.mark.parametrize(
    "origin",
    [LOCAL, "http://foo.localhost", "http://[::1]:3000", "http://127.0.0.1:5173", "https://localhost", "app://."],
)
def test_pages_of_this_machine_may_read_answers(origin: str) -> None:
    answer = ask(origin)
    assert (answer.status_code, answer.headers[ALLOW]) == (200, origin)
    assert answer.headers["access-control-allow-credentials"] == "true"
    assert "Origin" in answer.headers["vary"]


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "",
        "http://localhost.evil.example",
        "http://evil.example/localhost",
        "http://127.0.0.1.evil.example",
        "http://localhost:80@evil.example",
        "http://localhost\t",
        "http://[::1]evil.example",
        "xchrome-extension://abc",
        "app://.evil",
    ],
)
def test_others_may_not_even_ask(origin: str) -> None:
    for house in (House(), House(origins=Origins(allowed=("https://a.example",)))):
        answer = ask(origin, house, "POST", "/audio_query?text=a&speaker=0")
        assert (answer.status_code, answer.json()) == (403, {"detail": "Origin not allowed"})
        assert ALLOW not in answer.headers
        assert house.dispatcher.jobs == []


def test_who_sends_no_origin_is_no_page() -> None:
    answer = ask(None)
    assert answer.status_code == 200
    assert ALLOW not in answer.headers


def test_origins_that_are_allowed_by_name() -> None:
    house = House(origins=Origins(allowed=("https://a.example", "https://b.example:8443")))
    for origin in ("https://a.example", "https://b.example:8443", LOCAL):
        assert ask(origin, house).headers[ALLOW] == origin
    for origin in ("https://a.example.evil", "http://a.example", "https://b.example"):
        assert ask(origin, house).status_code == 403


@pytest.mark.parametrize("origin", ["https://example.com", "null", "chrome-extension://abc", LOCAL])
def test_everyone_may_come(origin: str) -> None:
    house = House(origins=Origins(everyone=True))
    answer = ask(origin, house)
    assert (answer.status_code, answer.headers[ALLOW]) == (200, origin)
    answer = house.ask("OPTIONS", "/synthesis", headers={"Origin": origin, **PREFLIGHT})
    assert (answer.status_code, answer.headers[ALLOW]) == (200, origin)


def test_a_star_among_the_allowed_is_everyone() -> None:
    answer = ask("https://example.com", House(origins=Origins(allowed=("*",))))
    assert (answer.status_code, answer.headers[ALLOW]) == (200, "https://example.com")


def test_preflight() -> None:
    answer = House().ask("OPTIONS", "/synthesis", headers={"Origin": LOCAL, **PREFLIGHT})
    assert (answer.status_code, answer.text) == (200, "OK")
    assert answer.headers["access-control-allow-credentials"] == "true"
    assert {"GET", "POST", "PUT", "DELETE"} <= set(answer.headers["access-control-allow-methods"].split(", "))
    assert answer.headers["access-control-allow-headers"] == "content-type, x-mine"
    assert answer.headers["access-control-max-age"] == "600"


@pytest.mark.parametrize("kind", ["chrome", "moz", "ms-browser", "safari", "safari-web"])
def test_extensions_pass_without_a_header(kind: str) -> None:
    origin = f"{kind}-extension://abc"
    answer = ask(origin)
    assert answer.status_code == 200
    assert ALLOW not in answer.headers
    answer = House().ask("OPTIONS", "/synthesis", headers={"Origin": origin, **PREFLIGHT})
    assert (answer.status_code, answer.text) == (400, "Disallowed CORS origin")


@pytest.mark.parametrize(
    ("status", "house", "method", "path"),
    [
        (500, House(FakeDispatcher(lambda job: RuntimeError("a bug"))), "POST", "/audio_query?text=a&speaker=0"),
        (503, House(FakeDispatcher(lambda job: QueueFull(7))), "POST", "/audio_query?text=a&speaker=0"),
        (413, House(limits=Limits(body_bytes=-1)), "POST", "/synthesis?speaker=0"),
        (422, House(), "POST", "/synthesis?speaker=x"),
        (404, House(), "GET", "/nope"),
        (405, House(), "GET", "/synthesis"),
        (403, House(mutable=False), "POST", "/delete_preset"),
    ],
    ids=lambda value: str(value) if isinstance(value, int) else "",
)
def test_errors_can_be_read_too(status: int, house: House, method: str, path: str) -> None:
    with structlog.testing.capture_logs():
        answer = ask(LOCAL, house, method, path)
    assert (answer.status_code, answer.headers.get(ALLOW)) == (status, LOCAL)
    assert answer.json()["detail"]
