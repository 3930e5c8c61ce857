"""Voices that speak a text as it is, without any process: what becomes a job, and what is refused before one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from koegumi.api.front import Front, Limits
from koegumi.schema.text_length import text_seconds
from koegumi.voices.catalog import Catalog
from koegumi.voices.interface import Capability
from tests.api.fake import BARK, PHRASE, QUERY, House, outcome

EXTRAS = {"temperature": 0.5, "top_k": 3, "top_p": 0.9, "min_eos_p": 0.1, "seed": 2**63 - 1}
TEXT_QUERY = QUERY | {"accent_phrases": [], "kana": "Hello [laughs] 声"}


def house(**options: Any) -> House:
    """Where the voice of a lane of its own speaks texts."""
    made = House(**options)
    front: Front = made.app.state.front
    entries = list(front.catalog.families())
    speakers = [
        replace(
            speaker,
            capabilities=frozenset({Capability.TALK_TEXT, Capability.TALK_SYNTHESIS, Capability.BATCH}),
            unsupported_fields=("accent_phrases", "speedScale", "pauseLength"),
            extras=tuple(EXTRAS),
        )
        if speaker.lane == "bark"
        else speaker
        for speaker in front.catalog.speakers
    ]
    front.catalog.become(Catalog((entries[0], speaker) for speaker in speakers))
    made.dispatcher.reply = lambda job: outcome(b"RIFF", "audio/wav")
    return made


def test_a_query_needs_no_worker() -> None:
    asked = house()
    answer = asked.ask("POST", "/audio_query", params={"text": "Hello\n[laughs]", "speaker": BARK})
    assert answer.json() == QUERY | {"accent_phrases": [], "kana": "Hello\n[laughs]"}
    assert asked.dispatcher.jobs == []
    assert asked.ask("POST", f"/audio_query?text=a&speaker={BARK}&core_version=9").status_code == 422


def test_its_job_says_what_it_will_cost_and_what_was_asked() -> None:
    asked = house()
    assert asked.ask("POST", "/synthesis", params={"speaker": BARK, **EXTRAS}, json=TEXT_QUERY).content == b"RIFF"
    (job,), (call,) = asked.dispatcher.jobs, asked.dispatcher.calls
    assert (job.lane, job.rate_key) == ("bark", "synthesis/cast")
    assert job.units == pytest.approx(text_seconds(TEXT_QUERY["kana"]) + 0.2)
    assert call.extras == EXTRAS
    large = house(limits=Limits(inline_bytes=10))
    assert large.ask("POST", "/synthesis", params={"speaker": BARK, **EXTRAS}, json=TEXT_QUERY).content == b"RIFF"
    assert large.dispatcher.jobs[1:] == [job]


@pytest.mark.parametrize("path", ["/synthesis", "/multi_synthesis", "/cancellable_synthesis"])
def test_extras_are_only_for_those_who_know_them(path: str) -> None:
    body: Any = [QUERY] if path.startswith("/multi") else QUERY
    asked = house()
    asked.app.state.front = replace(
        asked.app.state.front, features=replace(asked.app.state.front.features, cancellable_synthesis=True)
    )
    answer = asked.ask("POST", path, params={"speaker": 0, "top_k": 3, "seed": 1}, json=body)
    assert answer.status_code == 422
    assert [(error["type"], error["loc"]) for error in answer.json()["detail"]] == [
        ("unsupported_parameter", ["query", "top_k"]),
        ("unsupported_parameter", ["query", "seed"]),
    ]
    assert asked.dispatcher.jobs == []


def test_all_fields_that_are_not_neutral_are_named() -> None:
    asked = house()
    edited = TEXT_QUERY | {"accent_phrases": [PHRASE], "speedScale": 2, "pauseLength": 0.0}
    answer = asked.ask("POST", f"/synthesis?speaker={BARK}", json=edited)
    assert answer.json()["detail"] == [
        {
            "type": "unsupported_field",
            "loc": ["body", name],
            "msg": f"This voice speaks the text of `kana` as it is: {name} should be {neutral}",
            "input": value,
        }
        for name, neutral, value in (
            ("accent_phrases", "[]", None),
            ("speedScale", "1.0", 2),
            ("pauseLength", "null", 0),
        )
    ]
    assert asked.dispatcher.jobs == []


@pytest.mark.parametrize(("text", "status"), [("声" * 12_500, 200), ("声" * 12_900, 422)])
def test_half_an_hour_is_the_most(text: str, status: int) -> None:
    answer = house().ask("POST", f"/synthesis?speaker={BARK}", json=TEXT_QUERY | {"kana": text})
    assert answer.status_code == status
    both = house().ask("POST", f"/multi_synthesis?speaker={BARK}", json=[TEXT_QUERY, TEXT_QUERY | {"kana": text}])
    assert both.status_code == status
    if status != 200:
        assert both.json()["detail"][0]["loc"] == ["body", 1]
    half = TEXT_QUERY | {"kana": text[: len(text) // 2]}
    together = house().ask("POST", f"/multi_synthesis?speaker={BARK}", json=[half, half])
    assert together.status_code == status


def test_what_a_voice_lacks_is_listed_with_it_alone() -> None:
    features = {speaker["name"]: speaker["supported_features"] for speaker in house().ask("GET", "/speakers").json()}
    assert features.pop("bark") == {
        "permitted_synthesis_morphing": "ALL",
        "unsupported_query_fields": ["accent_phrases", "speedScale", "pauseLength"],
        "synthesis_parameters": list(EXTRAS),
    }
    assert all(list(each) == ["permitted_synthesis_morphing"] for each in features.values())
    for singer in house().ask("GET", "/singers").json():
        assert list(singer["supported_features"]) == ["permitted_synthesis_morphing"]
