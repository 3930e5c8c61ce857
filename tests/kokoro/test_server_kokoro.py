"""The real voices over HTTP: concurrent answers are the right ones, and always the same."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import Any

import pytest

from tests.harness import Server, ask

pytestmark = pytest.mark.kokoro

SPEAKERS = (1, 2, 3, 4, 5)
# The talking styles of models/koegumi.vvm, which speak beside them.
SHIPPED = (101, 102, 103, 104, 105)
TEXTS = """はい いいえ おはよう こんばんは ありがとう 雨ですね 一つください また明日 猫がいる 待って
どうぞ 駅はどこ？ 赤い花 三時です 本を読む 寒いな 海へ行く 元気？ 窓を開けて さようなら""".split()


def speak(server: Server, query: dict[str, Any], speaker: int) -> bytes:
    with server.client() as client:
        answer = client.post("/synthesis", params={"speaker": speaker}, json=query)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "audio/wav"
        return answer.content


def test_twenty_texts_at_once_are_what_each_is_alone(kokoro: Server) -> None:
    jobs = [(text, SPEAKERS[number % 5]) for number, text in enumerate(TEXTS)]
    assert len(jobs) == 20
    alone = [speak(kokoro, ask(kokoro, *job), job[1]) for job in jobs]
    assert len(set(alone)) == 20
    with ThreadPoolExecutor(20) as threads:
        queries = list(threads.map(lambda job: ask(kokoro, *job), jobs))
        together = list(threads.map(lambda pair: speak(kokoro, pair[0], pair[1][1]), zip(queries, jobs, strict=True)))
    assert together == alone


def test_the_same_request_fifty_times_is_one_sound(kokoro: Server) -> None:
    query = ask(kokoro, TEXTS[0], 1)
    with ThreadPoolExecutor(4) as threads:
        hashes = set(threads.map(lambda _: sha256(speak(kokoro, query, 1)).hexdigest(), range(50)))
    assert len(hashes) == 1


def test_speakers_and_their_resources_agree(kokoro: Server) -> None:
    with kokoro.client() as client:
        speakers = client.get("/speakers").json()
        listed = [style["id"] for speaker in speakers for style in speaker["styles"]]
        assert listed == [*SPEAKERS, *SHIPPED]
        for speaker in speakers:
            info = client.get("/speaker_info", params={"speaker_uuid": speaker["speaker_uuid"]}).json()
            assert "Apache" in info["policy"]
            assert [style["id"] for style in info["style_infos"]] == [style["id"] for style in speaker["styles"]]
            assert all(len(style["voice_samples"]) == 3 and style["icon"] for style in info["style_infos"])
