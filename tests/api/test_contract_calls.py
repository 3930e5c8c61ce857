"""What each route asks of the workers, and how their answers come back."""

from __future__ import annotations

import json
from typing import Any

import httpx
import msgspec
import pytest

from koegumi.api.front import Limits
from koegumi.dispatch.job import Job, Outcome
from koegumi.schema import plain
from koegumi.wire.messages import AccentPhrasesCall, AudioQueryCall, DecodeCall, MoraCall, SynthesisCall
from tests.api.fake import BARK, PHRASE, QUERY, FakeDispatcher, House, outcome

PHRASES = msgspec.json.decode(json.dumps([PHRASE]), type=list[plain.AccentPhrase])


def sounding(job: Job) -> Outcome:
    return outcome(b"RIFF", "audio/wav")


def test_text() -> None:
    house = House()
    house.ask("POST", "/audio_query", params={"text": "こんにちは", "speaker": 8})
    house.ask("POST", "/audio_query", params={"text": "", "speaker": "8.0", "enable_katakana_english": "no"})
    house.ask("POST", "/accent_phrases", params={"text": "ア'", "speaker": 0, "is_kana": True, "core_version": ""})
    assert house.dispatcher.calls == [
        AudioQueryCall("こんにちは", 8),
        AudioQueryCall("", 8, enable_katakana_english=False),
        AccentPhrasesCall("ア'", 0, is_kana=True),
    ]
    first, second, _ = house.dispatcher.jobs
    assert {job.lane for job in house.dispatcher.jobs} == {"query"}
    assert {job.rate_key for job in house.dispatcher.jobs} == {"query/cast"}
    assert first.units - second.units == len("こんにちは")
    assert second.units > 0


@pytest.mark.parametrize(
    ("path", "length", "pitch"),
    [("/mora_data", True, True), ("/mora_length", True, False), ("/mora_pitch", False, True)],
)
def test_morae(path: str, length: bool, pitch: bool) -> None:
    house = House()
    house.ask("POST", f"{path}?speaker=2", json=[PHRASE])
    (call,) = house.dispatcher.calls
    assert call == MoraCall(call.accent_phrases, 2, length, pitch)
    assert msgspec.msgpack.decode(call.accent_phrases, type=list[plain.AccentPhrase]) == PHRASES
    assert house.dispatcher.jobs[0].lane == "query"


def test_synthesis() -> None:
    house = House(FakeDispatcher(sounding))
    answer = house.ask("POST", "/synthesis?speaker=2&enable_interrogative_upspeak=false", json=QUERY)
    (call,) = house.dispatcher.calls
    assert call == SynthesisCall(call.query, 2, enable_interrogative_upspeak=False)
    assert msgspec.msgpack.decode(call.query, type=plain.AudioQuery).accent_phrases == PHRASES
    (job,) = house.dispatcher.jobs
    assert (job.lane, job.rate_key, job.first_rate) == ("synthesis", "synthesis/cast/2", 0.01)
    assert job.units == pytest.approx(0.78)
    assert (answer.status_code, answer.content, answer.headers["content-type"]) == (200, b"RIFF", "audio/wav")


def test_a_speaker_may_have_a_lane_of_its_own() -> None:
    house = House(FakeDispatcher(sounding))
    house.ask("POST", f"/synthesis?speaker={BARK}", json=QUERY)
    (job,) = house.dispatcher.jobs
    assert (job.lane, job.first_rate) == ("bark", 4.0)


def test_the_answer_says_where_the_time_went() -> None:
    headers = House().ask("POST", "/audio_query?text=a&speaker=0").headers
    assert headers["x-koegumi-queue-time"] == "0.250"
    assert headers["x-koegumi-synthesis-time"] == "1.500"
    assert headers["x-koegumi-worker"] == "query-1"
    assert headers["server-timing"] == "queue;dur=250.0, work;dur=1500.0"
    assert headers["content-type"] == "application/json"


@pytest.mark.parametrize("content_type", [None, "application/json", "application/x-www-form-urlencoded", "text/plain"])
def test_a_body_is_json_whatever_its_type(content_type: str | None) -> None:
    headers = {} if content_type is None else {"Content-Type": content_type}
    house = House()
    assert house.ask("POST", "/synthesis?speaker=0", content=json.dumps(QUERY), headers=headers).status_code == 200
    assert len(house.dispatcher.jobs) == 1


def ask_large(body: Any) -> tuple[House, httpx.Response]:
    house = House(limits=Limits(inline_bytes=100))
    return house, house.ask("POST", "/synthesis?speaker=0", json=body)


def test_large_bodies_are_decoded_by_a_worker() -> None:
    house, answer = ask_large(QUERY)
    decoding, speaking = house.dispatcher.calls
    assert isinstance(decoding, DecodeCall)
    assert json.loads(decoding.body) == QUERY
    assert house.dispatcher.jobs[0].lane == "query"
    small = House()
    small.ask("POST", "/synthesis?speaker=0", json=QUERY)
    assert small.dispatcher.calls == [speaking]
    assert small.dispatcher.jobs == house.dispatcher.jobs[1:]
    assert answer.status_code == 200


def test_large_bodies_have_the_same_errors() -> None:
    bad = QUERY | {"speedScale": -1}
    house, answer = ask_large(bad)
    assert len(house.dispatcher.jobs) == 1
    assert answer.status_code == 422
    assert answer.json() == House().ask("POST", "/synthesis?speaker=0", json=bad).json()


def test_initialising_waits_for_workers_that_load() -> None:
    ready = House()
    answer = ready.ask("POST", "/initialize_speaker?speaker=2&skip_reinit=true")
    assert (answer.status_code, answer.content, answer.headers["content-type"]) == (204, b"", "application/json")
    assert ready.dispatcher.jobs == []
    loading = House(ready=False)
    assert loading.ask("POST", f"/initialize_speaker?speaker={BARK}").status_code == 204
    assert [job.lane for job in loading.dispatcher.jobs] == ["query", "bark"]


def test_is_initialized() -> None:
    assert House().ask("GET", "/is_initialized_speaker?speaker=0").json() is True
    assert House(ready=False).ask("GET", "/is_initialized_speaker?speaker=0").json() is False
