"""What the routes of several sounds ask of the workers, and in which order."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from koegumi import __version__
from koegumi.api.front import Features, Limits
from koegumi.dispatch.job import Job, Outcome, WorkFailed
from koegumi.schema import plain
from koegumi.wire.messages import (
    Call,
    ConnectCall,
    Failure,
    FrameSynthesisCall,
    KanaCall,
    MorphCall,
    SongCurveCall,
    SongQueryCall,
    SynthesisCall,
    WaveCall,
)
from tests.api.fake import BARK, QUERY, SING, FakeDispatcher, House, outcome

NOTES = [{"key": None, "frame_length": 10, "lyric": ""}]
FRAMES = {
    "f0": [0.0],
    "volume": [0.0],
    "phonemes": [{"phoneme": "pau", "frame_length": 1}],
    "volumeScale": 1,
    "outputSamplingRate": 24000,
    "outputStereo": False,
}


def sounding(job: Job) -> Outcome:
    """Two samples that tell the style, or a sound."""
    call = msgspec.msgpack.decode(job.call, type=Call)
    if isinstance(call, WaveCall):
        return outcome(bytes([call.style_id % 256]) * 8, "application/octet-stream")
    return outcome(b"RIFF", "audio/wav")


def queries(count: int, **changes: Any) -> list[dict[str, Any]]:
    return [QUERY | {"speedScale": 1.0 + number} | changes for number in range(count)]


def test_several_queries_are_jobs_of_their_own() -> None:
    house = House(FakeDispatcher(sounding))
    answer = house.ask("POST", "/multi_synthesis?speaker=2&enable_interrogative_upspeak=no", json=queries(3))
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/zip")
    assert zipfile.ZipFile(io.BytesIO(answer.content)).namelist() == ["001.wav", "002.wav", "003.wav"]
    alone = House(FakeDispatcher(sounding))
    for query in queries(3):
        alone.ask("POST", "/synthesis?speaker=2&enable_interrogative_upspeak=no", json=query)
    assert house.dispatcher.jobs == [replace(job, batch=True) for job in alone.dispatcher.jobs]


def test_rates_are_compared_before_any_work() -> None:
    house = House()
    mixed = [*queries(2), QUERY | {"outputSamplingRate": 48000}]
    answer = house.ask("POST", "/multi_synthesis?speaker=0", json=mixed)
    assert (answer.status_code, answer.json()) == (422, {"detail": "サンプリングレートが異なるクエリがあります"})
    assert house.dispatcher.jobs == []


def test_a_bad_query_of_several_is_named() -> None:
    house = House()
    answer = house.ask("POST", "/multi_synthesis?speaker=0", json=[*queries(1), QUERY | {"speedScale": 0}])
    assert answer.json()["detail"][0]["loc"] == ["body", 1, "speedScale"]
    assert house.dispatcher.jobs == []


def test_all_sounds_together_are_bounded() -> None:
    house = House()
    long = queries(3, prePhonemeLength=1500.0, outputSamplingRate=48000, speedScale=1.0)
    assert house.ask("POST", "/multi_synthesis?speaker=0", json=long[:2]).status_code == 200
    answer = house.ask("POST", "/multi_synthesis?speaker=0", json=[*long, *long])
    assert answer.json()["detail"][0]["loc"] == ["body", 2]
    assert "samples" in answer.json()["detail"][0]["msg"]


def morph(house: House, rate: float, target: int = 2, **changes: Any) -> Any:
    params = {"base_speaker": 0, "target_speaker": target, "morph_rate": rate}
    return house.ask("POST", "/synthesis_morphing", params=params, json=QUERY | changes)


def test_a_morphing_is_two_halves_and_their_mixture() -> None:
    house = House(FakeDispatcher(sounding))
    answer = morph(house, 0.25, volumeScale=0.5, outputSamplingRate=48000, outputStereo=True)
    assert (answer.content, answer.headers["content-type"]) == (b"RIFF", "audio/wav")
    first, second, mixture = house.dispatcher.calls
    assert (first.style_id, second.style_id) == (0, 2)
    assert msgspec.msgpack.decode(first.query, type=plain.AudioQuery).volume_scale == 0.5
    assert mixture == MorphCall(b"\0" * 8, b"\2" * 8, 0.25, 48000, True)
    assert {job.lane for job in house.dispatcher.jobs} == {"synthesis"}


def test_the_halves_are_kept_for_the_next_rate() -> None:
    house = House(FakeDispatcher(sounding))
    for rate in (0.25, 0.75):
        morph(house, rate)
    morph(house, 0.5, outputSamplingRate=8000)
    assert [type(call) for call in house.dispatcher.calls] == [WaveCall, WaveCall, MorphCall, MorphCall, MorphCall]
    morph(house, 0.5, volumeScale=2.0)
    assert [type(call) for call in house.dispatcher.calls[5:]] == [WaveCall, WaveCall, MorphCall]


def test_a_style_with_itself_is_one_half_and_each_half_runs_on_its_lane() -> None:
    house = House(FakeDispatcher(sounding))
    morph(house, 0.5, target=0)
    assert [type(call) for call in house.dispatcher.calls] == [WaveCall, MorphCall]
    morph(house, 0.5, target=BARK)
    assert [job.lane for job in house.dispatcher.jobs[2:]] == ["bark", "synthesis"]


def test_a_long_morphing_is_refused_before_any_work() -> None:
    house = House(FakeDispatcher(sounding))
    answer = morph(house, 0.5, prePhonemeLength=60.0)
    assert (answer.status_code, house.dispatcher.jobs) == (422, [])
    assert "60 s" in answer.json()["detail"]


def test_songs() -> None:
    house = House()
    both = {"score": {"notes": NOTES}, "frame_audio_query": FRAMES}
    assert house.ask("POST", f"/sing_frame_audio_query?speaker={SING}", json={"notes": NOTES}).status_code == 200
    assert house.ask("POST", f"/sing_frame_f0?speaker={SING}", json=both).status_code == 200
    assert house.ask("POST", f"/sing_frame_volume?speaker={SING}", json=both).status_code == 200
    assert house.ask("POST", "/frame_synthesis?speaker=4", json=FRAMES).status_code == 200
    calls = house.dispatcher.calls
    assert [type(call) for call in calls] == [SongQueryCall, SongCurveCall, SongCurveCall, FrameSynthesisCall]
    assert [call.volume for call in calls[1:3]] == [False, True]
    assert [job.lane for job in house.dispatcher.jobs] == ["query", "query", "query", "synthesis"]


@pytest.mark.parametrize(
    ("path", "body", "style_id"),
    [
        ("/sing_frame_audio_query", {"notes": NOTES}, 0),
        ("/sing_frame_audio_query", {"notes": NOTES}, 4),  # frame_decode
        ("/sing_frame_f0", {"score": {"notes": NOTES}, "frame_audio_query": FRAMES}, 4),
        ("/sing_frame_volume", {"score": {"notes": NOTES}, "frame_audio_query": FRAMES}, 0),
        ("/frame_synthesis", FRAMES, 0),
        ("/frame_synthesis", FRAMES, BARK),
        ("/multi_synthesis", [QUERY], SING),
        ("/cancellable_synthesis", QUERY, SING),
    ],
)
def test_styles_of_the_wrong_kind(path: str, body: Any, style_id: int) -> None:
    house = House(features=Features(cancellable_synthesis=True))
    answer = house.ask("POST", f"{path}?speaker={style_id}", json=body)
    assert answer.status_code == 422
    assert answer.json() == {"message": "指定されたスタイルはこの機能をサポートしていません。"}
    assert house.dispatcher.jobs == []


def test_cancellable_synthesis_is_there_when_it_was_asked_for() -> None:
    answer = House().ask("POST", "/cancellable_synthesis?speaker=0", json=QUERY)
    assert answer.status_code == 404
    assert answer.json()["detail"].startswith("実験的機能は")
    house = House(FakeDispatcher(sounding), features=Features(cancellable_synthesis=True))
    assert house.ask("POST", "/cancellable_synthesis?speaker=0", json=QUERY).content == b"RIFF"
    (call,) = house.dispatcher.calls
    assert isinstance(call, SynthesisCall)
    answer = house.ask("POST", "/cancellable_synthesis?speaker=0&core_version=4.0.4", json=QUERY)
    assert (answer.status_code, answer.json()) == (422, {"detail": "不明なバージョンです"})
    assert house.ask("POST", f"/cancellable_synthesis?speaker=0&core_version={__version__}", json=QUERY).is_success


def test_waves_go_to_a_worker_as_they_came() -> None:
    house = House(FakeDispatcher(sounding))
    body = json.dumps(["UklGRg=="], indent=4).encode()
    assert house.ask("POST", "/connect_waves", content=body).content == b"RIFF"
    assert house.dispatcher.calls == [ConnectCall(body)]
    assert house.dispatcher.jobs[0].lane == "synthesis"


@pytest.mark.parametrize(
    ("kind", "detail", "status", "answer"),
    [
        ("score", None, 400, {"detail": "so"}),
        ("wave", None, 422, {"detail": "so"}),
        ("body", {"errors": [{"type": "missing"}]}, 422, {"detail": [{"type": "missing"}]}),
    ],
)
def test_what_workers_find_wrong(kind: str, detail: Any, status: int, answer: Any) -> None:
    house = House(FakeDispatcher(lambda job: WorkFailed(Failure(kind, "so", detail))))
    got = house.ask("POST", "/connect_waves", json=[])
    assert (got.status_code, got.json()) == (status, answer)


def test_each_kind_of_body_has_its_limit() -> None:
    house = House(limits=Limits(body_bytes=3000, list_bytes=6000, upload_bytes=9000))
    calls = [
        ("/synthesis?speaker=0", 3000),
        ("/mora_data?speaker=0", 3000),
        ("/morphable_targets", 3000),
        ("/audio_query?speaker=0", 3000),
        ("/synthesis_morphing?base_speaker=0&target_speaker=0&morph_rate=0", 3000),
        ("/multi_synthesis?speaker=0", 6000),
        ("/sing_frame_audio_query?speaker=7", 6000),
        ("/frame_synthesis?speaker=7", 6000),
        ("/connect_waves", 9000),
    ]
    for path, limit in calls:
        answer = house.ask("POST", path, content=b" " * (limit + 1))
        assert (answer.status_code, str(limit) in answer.text) == (413, True), path
        assert house.ask("POST", path, content=b" " * limit).status_code != 413


def test_lists_have_no_more_elements_than_make_sense() -> None:
    house = House()
    for path, body in (("/morphable_targets", [0] * 1001), ("/multi_synthesis?speaker=0", [{}] * 101)):
        answer = house.ask("POST", path, json=body)
        assert (answer.status_code, answer.json()["detail"][0]["type"]) == (422, "too_long")
    assert house.ask("POST", "/morphable_targets", json=[0] * 1000).status_code == 200


def test_kana_is_asked_of_a_worker() -> None:
    house = House(FakeDispatcher(lambda job: outcome(b"true")))
    assert house.ask("POST", "/validate_kana", params={"text": "ア'"}).json() is True
    assert house.dispatcher.calls == [KanaCall("ア'")]
