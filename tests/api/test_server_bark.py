"""Bark over HTTP, on a real worker: a model of random numbers, but everything else as it is."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
import soundfile

from koegumi.voices.bark.texts import sentences
from tests.fault.load import until
from tests.harness import Server, serving
from tests.little_bark import prepare_model

NO_PRESET = 1000
PRESETS = tuple(f"v2/en_speaker_{number}" for number in range(8))
STYLES = range(1001, 1009)
UNSUPPORTED = "指定されたスタイルはこの機能をサポートしていません。"
# Half an hour, as it is guessed: seconds of work for the little model.
LONG = "Hello world, one two. " * 1100


@pytest.fixture(scope="module")
def bark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    cache = prepare_model(tmp_path_factory.mktemp("bark"), PRESETS)
    with serving("--cache-dir", cache, "--enable_cancellable_synthesis") as server:
        yield server


@pytest.fixture
def client(bark: Server) -> Iterator[httpx.Client]:
    with bark.client() as client:
        yield client


def ask(client: httpx.Client, text: str, style: int = NO_PRESET) -> dict[str, Any]:
    answer = client.post("/audio_query", params={"text": text, "speaker": style})
    assert answer.status_code == 200
    query: dict[str, Any] = answer.json()
    return query


def speak(
    server: Server, text: str, style: int = NO_PRESET, headers: dict[str, str] | None = None, **parameters: Any
) -> httpx.Response:
    with server.client() as client:
        query = ask(client, text, style)
        return client.post("/synthesis", params={"speaker": style, **parameters}, json=query, headers=headers or {})


def jobs(server: Server) -> list[dict[str, Any]]:
    with server.client() as client:
        found: list[dict[str, Any]] = client.get("/admin/queue").json()
        return found


@contextmanager
def stopped_worker(server: Server) -> Iterator[None]:
    pid = server.worker_pids("bark")["bark-1"]
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def seconds(answer: httpx.Response) -> float:
    assert answer.status_code == 200, answer.text
    return float(soundfile.info(io.BytesIO(answer.content)).duration)


def test_the_two_calls_of_any_voice(client: httpx.Client) -> None:
    text = "HELLO [laughs] ♪ hello world ♪ 声。"
    query = ask(client, text)
    assert (query["kana"], query["accent_phrases"]) == (text, [])
    answer = client.post("/synthesis", params={"speaker": NO_PRESET, "seed": 1}, json=query)
    assert answer.headers["content-type"] == "audio/wav"
    assert seconds(answer) > 0.2


def test_who_speaks_is_listed_with_what_it_lacks(client: httpx.Client) -> None:
    (speaker,) = (each for each in client.get("/speakers").json() if each["styles"][0]["id"] == NO_PRESET)
    assert [style["name"] for style in speaker["styles"]] == ["no preset", *PRESETS]
    assert [style["id"] for style in speaker["styles"]] == [NO_PRESET, *STYLES]
    assert "speedScale" in speaker["supported_features"]["unsupported_query_fields"]
    assert "seed" in speaker["supported_features"]["synthesis_parameters"]
    info = client.get("/speaker_info", params={"speaker_uuid": speaker["speaker_uuid"]}).json()
    assert "MIT License" in info["policy"]
    assert info["style_infos"][0]["voice_samples"] == []


def test_a_seed_gives_the_same_sound_and_none_another(bark: Server) -> None:
    said = [speak(bark, "hello world", seed=5, temperature=0.8, top_k=20, top_p=0.9).content for _ in range(2)]
    assert said[0] == said[1]
    several = "hello world one two. " * 40
    assert speak(bark, several).content != speak(bark, several).content
    assert speak(bark, "hello world", temperature=0).content == speak(bark, "hello world", temperature=0).content


def test_the_query_s_sound_is_honoured(client: httpx.Client) -> None:
    query = ask(client, "hello world")
    plain = client.post("/synthesis", params={"speaker": 1001, "seed": 1}, json=query)
    edited = query | {"prePhonemeLength": 0.5, "postPhonemeLength": 0.25, "volumeScale": 0.5}
    other = edited | {"outputSamplingRate": 48000, "outputStereo": True}
    louder = client.post("/synthesis", params={"speaker": 1001, "seed": 1}, json=other)
    assert seconds(louder) == pytest.approx(seconds(plain) - 0.2 + 0.75, abs=1e-3)
    info = soundfile.info(io.BytesIO(louder.content))
    assert (info.samplerate, info.channels) == (48000, 2)


PHRASE = {"moras": [{"text": "ア", "vowel": "a", "vowel_length": 0.1, "pitch": 5.5}], "accent": 1}


@pytest.mark.parametrize(
    ("field", "value", "neutral"),
    [
        ("speedScale", 1.2, "1.0"),
        ("pitchScale", 0.1, "0.0"),
        ("intonationScale", 0.5, "1.0"),
        ("pauseLength", 0.3, "null"),
        ("pauseLengthScale", 2.0, "1.0"),
        ("accent_phrases", [PHRASE], "[]"),
    ],
)
def test_what_it_cannot_do_is_refused_by_name(client: httpx.Client, field: str, value: Any, neutral: str) -> None:
    query = ask(client, "hello") | {field: value}
    answer = client.post("/synthesis", params={"speaker": NO_PRESET}, json=query)
    assert answer.status_code == 422
    (error,) = answer.json()["detail"]
    assert (error["type"], error["loc"]) == ("unsupported_field", ["body", field])
    assert error["msg"].endswith(f"{field} should be {neutral}")
    several = client.post("/multi_synthesis", params={"speaker": NO_PRESET}, json=[ask(client, "hello"), query])
    assert several.json()["detail"][0]["loc"] == ["body", 1, field]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", "-1"),
        ("temperature", "nan"),
        ("top_k", "0"),
        ("top_p", "1.5"),
        ("min_eos_p", "0"),
        ("seed", "-1"),
    ],
)
def test_values_out_of_range_are_refused_by_name(client: httpx.Client, name: str, value: Any) -> None:
    answer = client.post("/synthesis", params={"speaker": NO_PRESET, name: value}, json=ask(client, "hello"))
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["query", name]


def test_calls_of_phrases_are_not_for_it(client: httpx.Client) -> None:
    for path in ("accent_phrases?text=hello&", "mora_data?", "mora_length?", "mora_pitch?"):
        answer = client.post(f"/{path}speaker={NO_PRESET}", json=[])
        assert (answer.status_code, answer.json()) == (422, {"message": UNSUPPORTED}), path
    params = {"base_speaker": 1001, "target_speaker": 1002, "morph_rate": 0.5}
    assert client.post("/synthesis_morphing", params=params, json=ask(client, "hello")).status_code == 400


def test_other_ways_to_speak(client: httpx.Client) -> None:
    queries = [ask(client, text) for text in ("hello", "world")]
    assert client.post("/multi_synthesis", params={"speaker": 1001}, json=queries).status_code == 200
    answer = client.post("/cancellable_synthesis", params={"speaker": 1001, "seed": 3}, json=queries[0])
    assert answer.content == client.post("/synthesis", params={"speaker": 1001, "seed": 3}, json=queries[0]).content
    (speaker,) = (each for each in client.get("/speakers").json() if each["styles"][0]["id"] == NO_PRESET)
    preset = {"id": 1, "name": "soft", "speaker_uuid": speaker["speaker_uuid"], "style_id": 1002}
    neutral = {"speedScale": 1.0, "pitchScale": 0.0, "intonationScale": 1.0}
    values = {"volumeScale": 0.5, "prePhonemeLength": 0.0, "postPhonemeLength": 0.0}
    number = client.post("/add_preset", json=preset | neutral | values).json()
    query = client.post("/audio_query_from_preset", params={"text": "hello", "preset_id": number}).json()
    assert (query["kana"], query["volumeScale"], query["prePhonemeLength"]) == ("hello", 0.5, 0.0)
    assert client.post("/initialize_speaker", params={"speaker": 1001}).status_code == 204


def test_an_empty_text_is_a_short_silence(client: httpx.Client) -> None:
    for text in ("", " \n"):
        answer = client.post("/synthesis", params={"speaker": 1001}, json=ask(client, text))
        assert seconds(answer) == pytest.approx(0.2)
        assert not soundfile.read(io.BytesIO(answer.content))[0].any()
    nothing = {name: value for name, value in ask(client, "").items() if name != "kana"}
    assert seconds(client.post("/synthesis", params={"speaker": 1001}, json=nothing)) == pytest.approx(0.2)


def test_500_words_are_spoken_in_sentences(bark: Server) -> None:
    text = "Hello world, one two hello. " * 100
    parts = sentences(text)
    assert 10 < len(parts) < 40
    whole = seconds(speak(bark, text, 1003, seed=7))
    each = [seconds(speak(bark, part, 1003, seed=7 + number)) - 0.2 for number, part in enumerate(parts)]
    assert whole == pytest.approx(0.2 + sum(each) + 0.25 * (len(parts) - 1), abs=0.01)


def test_a_text_without_end_is_refused(bark: Server) -> None:
    answer = speak(bark, "hello world " * 3000)
    assert (answer.status_code, answer.json()["detail"][0]["type"]) == (422, "sound_too_long")


def test_eight_presets_at_once_sound_as_each_alone(bark: Server) -> None:
    """16 are at work together, for 8 of which there are places in the batch; more wait in the queue."""

    def one(number: int) -> bytes:
        return speak(bark, "hello world one two", STYLES[number % 8], seed=number // 8).content

    alone = [one(number) for number in range(18)]
    assert len(set(alone)) == len(alone)
    with ThreadPoolExecutor(18) as threads:
        with stopped_worker(bark):
            answers = [threads.submit(one, number) for number in range(18)]
            until(lambda: len(jobs(bark)) == 18)
            assert [job["worker"] for job in jobs(bark)] == ["bark-1"] * 16 + [None] * 2
        assert [answer.result() for answer in answers] == alone


def test_long_texts_show_how_far_they_are_and_let_others_in(bark: Server) -> None:
    short = speak(bark, "hello world", 1001, seed=1).content
    with ThreadPoolExecutor(2) as threads:
        long = [threads.submit(speak, bark, LONG, 1002, seed=number) for number in range(2)]
        until(lambda: any((job["share"] or 0) > 0.01 for job in jobs(bark)))
        job = max(jobs(bark), key=lambda job: float(job["share"] or 0))
        assert (job["worker"], job["kind"], job["voice"]) == ("bark-1", "synthesis", 1002)
        assert job["stage"] in ("semantic", "coarse", "fine", "codec")
        assert 0 < job["share"] < 1
        assert speak(bark, "hello world", 1001, seed=1).content == short
        assert not any(each.done() for each in long)
        assert all(seconds(each.result()) > 60 for each in long)


def test_who_leaves_frees_its_place_at_once_and_nobody_else_s(bark: Server) -> None:
    pids = bark.worker_pids()
    with ThreadPoolExecutor(1) as threads, bark.client() as client:
        query = ask(client, LONG)
        other = threads.submit(speak, bark, "hello world one two. " * 300, 1001, seed=2)
        until(lambda: len(jobs(bark)) == 1)
        with pytest.raises(httpx.TimeoutException):
            client.post("/synthesis", params={"speaker": NO_PRESET}, json=query, timeout=0.3)
        until(lambda: all(job["voice"] == 1001 for job in jobs(bark)))
        assert seconds(other.result()) > 10
    assert bark.worker_pids() == pids


def test_a_deadline(bark: Server) -> None:
    for _ in range(6):  # so that the cost is known
        speak(bark, "hello world")
    late = speak(bark, LONG, headers={"X-Koegumi-Deadline": "0.1"})
    assert (late.status_code, "Retry-After" in late.headers) == (503, True)
    pids = bark.worker_pids()
    with stopped_worker(bark):
        answer = speak(bark, "hello world", headers={"X-Koegumi-Deadline": "1"})
    assert (answer.status_code, answer.json()) == (504, {"detail": "the deadline has passed"})
    until(lambda: not jobs(bark))
    assert speak(bark, "hello world").status_code == 200
    assert bark.worker_pids() == pids
