"""What a request says of its work: its client, priority and deadline; and what it hears when they cannot be met."""

from __future__ import annotations

from typing import Any

import pytest

from koegumi.api.keys import Keys
from koegumi.dispatch.job import DeadlinePassed, DeadlineTooShort, Job, Quarantined, ShareUsed, WorkLost
from tests.api.fake import PHRASE, QUERY, FakeDispatcher, House


def jobs(headers: dict[str, str], house: House | None = None, path: str = "/synthesis", body: Any = QUERY) -> list[Job]:
    house = house or House()
    assert house.ask("POST", f"{path}?speaker=0", json=body, headers=headers).status_code == 200
    return house.dispatcher.jobs


def test_without_a_word_a_job_is_interactive_and_has_no_deadline() -> None:
    (job,) = jobs({})
    assert (job.client, job.batch, job.deadline, job.kind, job.voice) == ("127.0.0.1", False, None, "synthesis", 0)


def test_the_client_is_its_key_where_there_are_keys() -> None:
    keys = Keys(["one", "two"])
    clients = {jobs({"X-API-Key": key}, House(keys=keys))[0].client for key in ("one", "two", "one")}
    assert len(clients) == 2
    assert not clients & {"one", "two", "127.0.0.1"}


def test_priority_and_deadline_reach_the_job() -> None:
    (job,) = jobs({"X-Koegumi-Priority": "batch", "X-Koegumi-Deadline": "2.5"})
    assert job.batch
    assert job.deadline is not None
    assert 0.0 < job.deadline < 2.5  # it counts from the request's arrival
    (job,) = jobs({"X-Koegumi-Priority": "interactive"}, path="/mora_data", body=[PHRASE])
    assert (job.batch, job.kind) == (False, "mora")


def test_several_queries_at_once_are_batch() -> None:
    assert [job.batch for job in jobs({}, path="/multi_synthesis", body=[QUERY, QUERY])] == [True, True]


@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "1e999", "", "soon", "１２", "1,5"])
def test_a_bad_deadline_is_named(value: str) -> None:
    house = House()
    answer = house.ask("POST", "/synthesis?speaker=0", json=QUERY, headers={"X-Koegumi-Deadline": value.encode()})
    (error,) = answer.json()["detail"]
    assert (answer.status_code, error["loc"]) == (422, ["header", "X-Koegumi-Deadline"])
    assert house.dispatcher.jobs == []


def test_a_bad_priority_is_named() -> None:
    answer = House().ask("POST", "/synthesis?speaker=0", json=QUERY, headers={"X-Koegumi-Priority": "high"})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["header", "X-Koegumi-Priority"]
    assert "batch" in answer.json()["detail"][0]["msg"]


def test_a_deadline_that_has_passed_before_there_is_a_job() -> None:
    house = House()
    answer = house.ask("POST", "/synthesis?speaker=0", json=QUERY, headers={"X-Koegumi-Deadline": "1e-9"})
    assert (answer.status_code, answer.json()) == (504, {"detail": "the deadline has passed"})
    assert house.dispatcher.jobs == []


@pytest.mark.parametrize(
    ("error", "status", "retry_after"),
    [
        (ShareUsed(7), 429, "7"),
        (DeadlineTooShort(3), 503, "3"),
        (DeadlinePassed(), 504, None),
        (Quarantined(90), 422, "90"),
        (WorkLost("signal 11"), 422, None),
    ],
    ids=repr,
)
def test_what_a_client_hears(error: Exception, status: int, retry_after: str | None) -> None:
    answer = House(FakeDispatcher(lambda job: error)).ask("POST", "/synthesis?speaker=0", json=QUERY)
    assert (answer.status_code, answer.headers.get("retry-after")) == (status, retry_after)
    assert answer.headers["content-type"] == "application/json"
    body = answer.json()
    assert body.get("kind") == ("quarantined" if status == 422 else None)
    assert str(error) in body["message" if status == 422 else "detail"]
