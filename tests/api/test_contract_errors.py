"""Errors: as the reference answers them, and those that only this server has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import structlog

from koegumi import __version__
from koegumi.api.front import Limits
from koegumi.dispatch.job import Job, Outcome, QueueFull, Stopping, WorkFailed, WorkLost
from koegumi.wire.messages import AccentPhrasesCall, Call, Failure
from tests.api.fake import BARK, PHRASE, QUERY, SING, FakeDispatcher, House, Reply, outcome

# Where the reference answers 500 by accident, and where monitors need more than it gives.
BETTER = {
    "sampling rate 0": 422,
    "head not allowed": 200,
    "no queries (500 in the engine)": 422,
    "dict: import with a bad uuid (500 in the engine)": 422,
    "dict: import with a part of speech of no known context id (500 in the engine)": 422,
}
FOUND_BY_WORKERS = {"/connect_waves", "/validate_kana", "/sing_frame_audio_query", "/frame_synthesis"}
KANA_DETAIL: dict[str, object] = {
    "text": "アクセントを指定していないアクセント句があります: コンニチワ",
    "error_name": "ACCENT_NOTFOUND",
    "error_args": {"text": "コンニチワ"},
}
UNKNOWN_STYLE = {"message": "指定されたスタイルが見つかりませんでした。"}
UNSUPPORTED_STYLE = {"message": "指定されたスタイルはこの機能をサポートしていません。"}
INTERNAL = {"detail": "Internal Server Error"}


def worker(job: Job) -> Outcome | Exception:
    call = msgspec.msgpack.decode(job.call, type=Call)
    if isinstance(call, AccentPhrasesCall) and call.is_kana:
        return WorkFailed(Failure("kana", "no kana", KANA_DETAIL))
    return outcome()


def house(reply: Reply = worker) -> House:
    return House(FakeDispatcher(reply))


def failing(error: Exception) -> House:
    return house(lambda job: error)


def is_answered_here(case: dict[str, Any], paths: set[str]) -> bool:
    """Origins are checked elsewhere; so is what a worker finds wrong in songs, sounds and kana."""
    if case["path"] in FOUND_BY_WORKERS and not isinstance(case["body"]["detail"], list):
        return False
    return case["path"] in paths and "headers" not in case and (case["status"] >= 400 or case["status"] == 204)


def before_pydantic_s_own(body: dict[str, Any]) -> dict[str, Any]:
    """What follows ` [type=` in a message is pydantic's, of its version."""
    detail = body.get("detail")
    return {"detail": detail.partition(" [type=")[0]} if isinstance(detail, str) else body


def test_the_reference_s_errors(reference: Path) -> None:
    ours = house()
    cases = json.loads((reference / "http_error_cases.json").read_text(encoding="utf-8"))["cases"]
    paths = {*ours.app.openapi()["paths"], "/_resources/xyz", "/nope", "/user_dict_word/nope"}
    cases = [case for case in cases if is_answered_here(case, paths)]
    assert len(cases) >= 20
    for case in cases:
        name = case["name"]
        sent = {key: case[key] for key in ("params", "json", "data") if key in case}
        answer = ours.ask(case["method"], case["path"], **sent)
        assert answer.status_code == BETTER.get(name, case["status"]), name
        assert answer.headers["content-type"] == case["content_type"], name
        if "body" in case and name not in BETTER:
            assert before_pydantic_s_own(answer.json()) == before_pydantic_s_own(case["body"]), name


@pytest.mark.parametrize("style_id", ["-1", "99999", str(2**31), str(2**63), str(2**64), str(-(10**30))])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/audio_query?text=a"),
        ("POST", "/accent_phrases?text=a"),
        ("POST", "/mora_data?"),
        ("POST", "/synthesis?"),
        ("POST", "/initialize_speaker?"),
        ("GET", "/is_initialized_speaker?"),
    ],
)
def test_unknown_styles(method: str, path: str, style_id: str) -> None:
    body = QUERY if path == "/synthesis?" else [PHRASE]
    ours = house()
    answer = ours.ask(method, f"{path}&speaker={style_id}", json=body)
    assert (answer.status_code, answer.json()) == (422, UNKNOWN_STYLE)
    assert ours.dispatcher.jobs == []


def test_styles_that_cannot_do_it() -> None:
    assert house().ask("POST", f"/audio_query?text=a&speaker={SING}").json() == UNSUPPORTED_STYLE
    assert house().ask("POST", f"/synthesis?speaker={SING}", json=QUERY).json() == UNSUPPORTED_STYLE
    assert house().ask("POST", f"/audio_query?text=a&speaker={BARK}").json() == UNSUPPORTED_STYLE
    assert house().ask("POST", f"/synthesis?speaker={BARK}", json=QUERY).status_code == 200


@pytest.mark.parametrize(
    ("path", "stop"), [("/speakers", ""), ("/speaker_info", ""), ("/supported_devices", "。"), ("/audio_query", "。")]
)
def test_core_versions(path: str, stop: str) -> None:
    method = "POST" if path == "/audio_query" else "GET"
    params: dict[str, Any] = {"speaker_uuid": "uuid-of-bark", "text": "a", "speaker": 0}
    for version in ("", __version__):
        assert house().ask(method, path, params={**params, "core_version": version}).status_code == 200
    answer = house().ask(method, path, params={**params, "core_version": "4.0.4"})
    assert (answer.status_code, answer.json()) == (422, {"message": f"バージョン 4.0.4 のコアが見つかりません{stop}"})


def test_a_bad_value_is_named_and_its_echo_is_json() -> None:
    body = json.dumps(QUERY | {"speedScale": float("nan")})
    answer = house().ask("POST", "/synthesis?speaker=0", content=body)
    (error,) = answer.json()["detail"]
    assert (answer.status_code, error["loc"], error["input"]) == (422, ["body", "speedScale"], "nan")


@pytest.mark.parametrize(("path", "status"), [("/mora_pitch", 422), ("/mora_data", 422), ("/mora_length", 200)])
def test_accents_beyond_the_morae(path: str, status: int) -> None:
    body = [PHRASE | {"accent": 9}]
    answer = house().ask("POST", f"{path}?speaker=0", json=body)
    assert answer.status_code == status
    if status == 422:
        assert answer.json()["detail"][0]["loc"] == ["body", 0, "accent"]
    assert house().ask("POST", "/synthesis?speaker=0", json=QUERY | {"accent_phrases": body}).status_code == 200


@pytest.mark.parametrize(
    ("error", "status", "body"),
    [
        (QueueFull(7), 503, {"detail": "the queue is full; try again in 7 s"}),
        (Stopping(), 503, {"detail": "the server is shutting down"}),
        (WorkFailed(Failure("kana", "x", KANA_DETAIL)), 400, {"detail": KANA_DETAIL}),
        (WorkFailed(Failure("invalid", "too odd")), 422, {"message": "too odd"}),
        (WorkFailed(Failure("unsupported", "no")), 422, UNSUPPORTED_STYLE),
        (WorkFailed(Failure("internal", "secret")), 500, INTERNAL),
        (WorkFailed(Failure("cancelled", "secret")), 500, INTERNAL),
    ],
    ids=repr,
)
def test_what_can_become_of_a_job(error: Exception, status: int, body: object) -> None:
    answer = failing(error).ask("POST", "/synthesis?speaker=0", json=QUERY, headers={"X-Request-Id": "abc-1"})
    assert (answer.status_code, answer.json()) == (status, body)
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-request-id"] == "abc-1"
    come_back = {QueueFull: "7", Stopping: "5"}.get(type(error))
    assert answer.headers.get("retry-after") == come_back


def test_a_handler_that_fails_is_logged_and_answered() -> None:
    with structlog.testing.capture_logs() as lines:
        answer = failing(RuntimeError("secret")).ask("POST", "/synthesis?speaker=0", json=QUERY)
    assert (answer.status_code, answer.json()) == (500, INTERNAL)
    assert len(answer.headers["x-request-id"]) == 32
    failed, request = lines
    assert (failed["event"], failed["exc_info"]) == ("handler failed", True)
    assert (request["event"], request["path"], request["status"]) == ("request", "/synthesis", 500)


def test_a_request_that_ended_two_workers_hears_so() -> None:
    answer = failing(WorkLost("signal 11")).ask("POST", "/synthesis?speaker=0", json=QUERY)
    assert answer.status_code == 422
    assert "worker" in answer.json()["message"]
    assert "signal 11" in answer.json()["message"]


def test_bodies_are_read_to_their_limit_only() -> None:
    ours = House(limits=Limits(body_bytes=1000))
    read = 0

    async def endless() -> Any:
        nonlocal read
        while True:
            read += 100
            yield b" " * 100

    for body in (endless(), b" " * 1001):
        answer = ours.ask("POST", "/synthesis?speaker=0", content=body)
        assert (answer.status_code, answer.json()) == (413, {"detail": "the body is over the limit of 1000 bytes"})
    assert read == 1100
    assert ours.ask("POST", "/mora_data?speaker=0", content=b"[]".ljust(1000)).status_code == 200


def test_odd_ids_of_requests_are_not_taken() -> None:
    for given in ("", "a b", "x" * 200, "a\\n", "é".encode()):
        answer = house().ask("GET", "/version", headers={"X-Request-Id": given})
        assert len(answer.headers["x-request-id"]) == 32
