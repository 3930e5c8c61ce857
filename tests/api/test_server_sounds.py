"""Joined, morphed, archived and sung sounds, and long texts, through real workers with the reference's mock voices."""

from __future__ import annotations

import base64
import io
import zipfile
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest
import soundfile
import soxr

from koegumi.schema.phonemes import IDS, PHONEMES
from tests.harness import CAST, Server, serving

Query = dict[str, Any]
FRAME = 256


@pytest.fixture(scope="module")
def client(cast: Server) -> Iterator[httpx.Client]:
    with cast.client() as client:
        yield client


def sound(answer: httpx.Response) -> tuple[Any, int]:
    assert answer.status_code == 200, answer.text
    samples, rate = soundfile.read(io.BytesIO(answer.content), always_2d=True)
    return samples, rate


def post(client: httpx.Client, path: str, body: Any, **params: Any) -> httpx.Response:
    return client.post(path, params=params, json=body)


def test_an_archive_holds_what_each_synthesis_gives(client: httpx.Client, query: Query) -> None:
    queries = [query | {"volumeScale": scale} for scale in (0.5, 1.0, 1.5)]
    answer = post(client, "/multi_synthesis", queries, speaker=1)
    with zipfile.ZipFile(io.BytesIO(answer.content)) as file:
        waves = [file.read(name) for name in file.namelist()]
    assert waves == [post(client, "/synthesis", each, speaker=1).content for each in queries]
    assert len(set(waves)) == 3


def test_waves_of_an_archive_can_be_joined(client: httpx.Client, query: Query) -> None:
    wave = post(client, "/synthesis", query, speaker=1).content
    other = post(client, "/synthesis", query | {"outputSamplingRate": 48000, "outputStereo": True}, speaker=1).content
    samples, rate = sound(post(client, "/connect_waves", [base64.b64encode(each).decode() for each in (wave, other)]))
    half, _ = soundfile.read(io.BytesIO(other))
    assert (rate, samples.shape) == (48000, (2 * len(half), 2))
    assert np.abs(samples[len(half) :] - half).max() < 1e-4


@pytest.mark.parametrize(
    ("body", "location"), [(b'["YWJj", 1]', ["body", 1]), (b"{}", ["body"]), (b"[", ["body", 1]), (b"", ["body"])]
)
def test_a_body_that_is_no_list_of_texts_is_named(client: httpx.Client, body: bytes, location: list[object]) -> None:
    answer = client.post("/connect_waves", content=body)
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, location)


def morph(client: httpx.Client, query: Query, rate: float, **changes: Any) -> tuple[Any, int]:
    params = {"base_speaker": 0, "target_speaker": 2, "morph_rate": rate}
    return sound(client.post("/synthesis_morphing", params=params, json=query | changes))


def test_a_morphing_sounds_as_its_halves_and_other_rates_do_not_click(client: httpx.Client, query: Query) -> None:
    speech, _ = sound(post(client, "/synthesis", query, speaker=0))
    morphed, rate = morph(client, query, 0.5)
    assert rate == 24000
    assert abs(len(morphed) - len(speech)) <= 48
    assert 0.5 < np.sqrt(np.mean(morphed**2)) / np.sqrt(np.mean(speech**2)) < 2.0
    other, rate = morph(client, query, 0.5, outputSamplingRate=44100, outputStereo=True)
    assert (rate, other.shape[1]) == (44100, 2)
    assert np.array_equal(other[:, 0], other[:, 1])
    again = soxr.resample(other[:, 0], 44100, 24000)
    length = min(len(again), len(morphed))
    difference = again[:length] - morphed[:length, 0]  # what lies just below 12 kHz is not the same
    assert np.sqrt(np.mean(difference**2)) < 0.05 * np.sqrt(np.mean(morphed**2))
    assert np.abs(difference).max() < 0.05


def test_the_volume_of_a_morphing_is_applied_once(client: httpx.Client, query: Query) -> None:
    loud, _ = morph(client, query, 0.5)
    quiet, _ = morph(client, query, 0.5, volumeScale=0.25)
    assert np.abs(quiet).max() == pytest.approx(0.25 * np.abs(loud).max(), rel=0.05)


NOTES = [
    {"id": "a", "key": None, "frame_length": 15, "lyric": ""},
    {"id": "b", "key": 60, "frame_length": 45, "lyric": "ド"},
    {"id": "c", "key": 62, "frame_length": 40, "lyric": "れ"},
    {"id": "d", "key": 64, "frame_length": 30, "lyric": "ア"},
    {"id": None, "key": None, "frame_length": 15, "lyric": ""},
]


def test_a_song_by_the_mock_s_formulas(client: httpx.Client) -> None:
    style = 7
    query = post(client, "/sing_frame_audio_query", {"notes": NOTES}, speaker=style).json()
    d = IDS["d"] % 3 + IDS["o"] % 5 + 45 % 7 + style
    r = IDS["r"] % 3 + IDS["e"] % 5 + 40 % 7 + style
    assert [(each["phoneme"], each["frame_length"], each["note_id"]) for each in query["phonemes"]] == [
        ("pau", 15 - d, "a"),
        ("d", d, "b"),
        ("o", 45 - r, "b"),
        ("r", r, "c"),
        ("e", 40, "c"),
        ("a", 30, "d"),
        ("pau", 15, None),
    ]
    keys = [-1, 60, 60, 62, 62, 64, -1]
    f0, volume = [], []
    for key, each in zip(keys, query["phonemes"], strict=True):
        number = PHONEMES.index(each["phoneme"])
        hertz = 0.0 if key == -1 else 2 ** ((key - 69) / 12) * (440 + number / 10 + style)
        f0 += [hertz] * each["frame_length"]
        loud = 0.0 if key == -1 else number / 40 * (key / 88) * (hertz / 440) * 0.5**style * 10
        volume += [loud] * each["frame_length"]
    assert query["f0"] == pytest.approx(f0, rel=1e-6)
    assert query["volume"] == pytest.approx(volume, rel=1e-6)
    both = {"score": {"notes": NOTES}, "frame_audio_query": query}
    assert post(client, "/sing_frame_f0", both, speaker=style).json() == query["f0"]
    assert post(client, "/sing_frame_volume", both, speaker=style).json() == query["volume"]
    samples, rate = sound(post(client, "/frame_synthesis", query, speaker=4))
    assert (len(samples), rate) == (len(f0) * FRAME, 24000)


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"f0": []}, 422),
        ({"f0": [-1.0]}, 422),
        ({"phonemes": [{"phoneme": "pau", "frame_length": -1}]}, 422),
        ({"phonemes": [{"phoneme": "pau", "frame_length": 10**9}]}, 422),
        ({"phonemes": [{"phoneme": "zz", "frame_length": 1}]}, 400),
        ({}, 200),
    ],
)
def test_frames_that_do_not_fit(client: httpx.Client, change: Query, status: int) -> None:
    one = {"phonemes": [{"phoneme": "a", "frame_length": 1}], "f0": [440.0], "volume": [1.0]}
    query = {"volumeScale": 1, "outputSamplingRate": 24000, "outputStereo": False, **one, **change}
    assert post(client, "/frame_synthesis", query, speaker=9).status_code == status


def test_other_phonemes_than_the_score_s(client: httpx.Client) -> None:
    query = post(client, "/sing_frame_audio_query", {"notes": NOTES}, speaker=9).json()
    both = {"score": {"notes": NOTES[:4]}, "frame_audio_query": query}
    answer = post(client, "/sing_frame_f0", both, speaker=9)
    assert (answer.status_code, "一致しません" in answer.json()["detail"]) == (400, True)
    both = {"score": {"notes": NOTES}, "frame_audio_query": query | {"f0": [1.0]}}
    assert post(client, "/sing_frame_volume", both, speaker=9).status_code == 400
    first = {"notes": [NOTES[1]]}
    answer = post(client, "/sing_frame_audio_query", first, speaker=9)
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("consonant_lengths[0] must be 0, but ")
    empty = post(client, "/sing_frame_audio_query", {"notes": []}, speaker=9).json()
    assert (empty["f0"], empty["volume"], empty["phonemes"]) == ([], [], [])


@pytest.mark.parametrize("style", [0, 1, 2, 3, 8])
def test_talk_by_the_mock_s_formulas(client: httpx.Client, style: int) -> None:
    query = client.post(
        "/audio_query", params={"text": "こんにちは、ヒホです。聞こえますか？", "speaker": style}
    ).json()
    assert len(query["accent_phrases"]) > 2
    for phrase in query["accent_phrases"]:
        moras, accent = phrase["moras"], phrase["accent"]
        for index, mora in enumerate(moras):
            marks = [index == (0 if accent == 1 else 1), index == accent - 1, index == 0, index == len(moras) - 1]
            assert mora["vowel_length"] == round(IDS[mora["vowel"]] * 0.0625 + style, 2)
            consonant = -1
            if mora["consonant"] is not None:
                consonant = IDS[mora["consonant"]]
                assert mora["consonant_length"] == round(consonant * 0.0625 + style, 2)
            voiced = mora["vowel"] in "aiueoN"
            pitch = round((IDS[mora["vowel"]] + consonant + sum(marks)) * 0.0625 + style, 2) if voiced else 0
            assert mora["pitch"] == pitch
        if phrase["pause_mora"] is not None:
            assert (phrase["pause_mora"]["vowel_length"], phrase["pause_mora"]["pitch"]) == (style, 0)


LONG = "本日は晴天なり。" * 12_500  # 100,000 characters


def test_a_long_text_in_the_body(client: httpx.Client) -> None:
    alone = client.post("/audio_query", params={"text": LONG[:8], "speaker": 0}).json()["accent_phrases"]
    answer = client.post("/audio_query", params={"speaker": 0}, data={"text": LONG})
    assert answer.status_code == 200
    assert len(answer.json()["accent_phrases"]) == 12_500 * len(alone)


def test_where_the_text_comes_from(client: httpx.Client) -> None:
    def kana(**options: Any) -> Any:
        answer = client.post("/audio_query", **options)
        return answer.json()["kana"] if answer.is_success else answer.json()["detail"][0]["loc"]

    here = {"speaker": 0, "text": "あ"}
    assert kana(params=here) == kana(params=here, json={}) == kana(params=here, json={"text": "い"}) == "ア'"
    assert kana(params=here, content=b"\0 no json") == "ア'"
    assert kana(params={"speaker": 0}, json={"text": "い", "more": 1}) == "イ'"
    assert kana(params={"speaker": 0}, data={"text": "い"}) == "イ'"
    assert kana(params={"speaker": 0, "text": ""}, json={"text": "い"}) == ""
    nothings: list[dict[str, Any]] = [
        {},
        {"json": {}},
        {"json": {"text": 1}},
        {"data": {"x": "y"}},
        {"content": b"[\xff"},
    ]
    for nothing in nothings:
        assert kana(params={"speaker": 0}, **nothing) == ["query", "text"]
    phrases = client.post("/accent_phrases", params={"speaker": 0, "is_kana": True}, json={"text": "イ'"})
    assert phrases.json()[0]["moras"][0]["text"] == "イ"


def test_a_server_by_the_reference_s_options(query: Query) -> None:
    options = ("--enable_mock", "--enable_cancellable_synthesis", "--init_processes", "1", "--max-query-bytes", "4000")
    with serving(*options, "--manage_library", environment={"VV_OUTPUT_LOG_UTF8": "1"}) as server:
        assert list(server.worker_pids("synthesis")) == ["synthesis-1"]
        with server.client() as client:
            plain = post(client, "/synthesis", query, speaker=0)
            assert post(client, "/cancellable_synthesis", query, speaker=0).content == plain.content
            assert client.post("/synthesis?speaker=0", content=b" " * 4001).status_code == 413
            assert client.post("/install_library/x", content=b"x").status_code == 422


def test_a_client_that_leaves_cancellable_synthesis_frees_its_worker(query: Query, tmp_path: Any) -> None:
    from tests.faulty.family import SLOW
    from tests.harness import FAULTY

    with serving(
        *("--voices", CAST, FAULTY, "--synthesis-workers", "1", "--enable_cancellable_synthesis"),
        environment={"KOEGUMI_TEST_MARKS": str(tmp_path)},
    ) as server:
        with server.client() as client, pytest.raises(httpx.ReadTimeout):
            client.post("/cancellable_synthesis", params={"speaker": SLOW}, json=query, timeout=1.0)
        with server.client() as client:
            assert post(client, "/synthesis", query, speaker=0).status_code == 200
        assert not server.log.events("worker ended")
