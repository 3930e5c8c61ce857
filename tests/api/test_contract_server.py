"""Voices, life signs and metrics: what the front answers by itself."""

from __future__ import annotations

import base64
import hashlib
from urllib.parse import urlsplit

import pytest

from koegumi import __version__
from koegumi.pool.slot import SlotState, SlotStatistics
from tests.api.fake import BARK, ICON, SAMPLE, SING, House

DUMMY = "7ffcb7ce-00ec-4bdc-82cd-45a8889e43ff"
SINGER = "b1a81618-b27b-40d2-b0ea-27a9ad408c4b"  # who does not talk


def test_speakers_are_those_that_talk() -> None:
    speakers = House().ask("GET", "/speakers").json()
    styles = [style["id"] for speaker in speakers for style in speaker["styles"]]
    assert styles == [0, 2, 1, 3, 8, BARK]
    assert SING not in styles
    assert speakers[1] == {
        "name": "dummy2",
        "speaker_uuid": "388f246b-8c41-4ac1-8e2d-5d79f3ff56d9",
        "styles": [{"name": "style1", "id": 1, "type": "talk"}, {"name": "style3", "id": 3, "type": "talk"}],
        "version": "mock",
        "supported_features": {"permitted_synthesis_morphing": "SELF_ONLY"},
    }


def test_each_speaker_s_info_has_its_styles() -> None:
    house = House()
    for speaker in house.ask("GET", "/speakers").json():
        info = house.ask("GET", "/speaker_info", params={"speaker_uuid": speaker["speaker_uuid"]}).json()
        assert [each["id"] for each in info["style_infos"]] == [style["id"] for style in speaker["styles"]]
    assert house.ask("GET", f"/speaker_info?speaker_uuid={SINGER}").status_code == 404


def test_speaker_info_in_base64_and_as_urls_is_the_same() -> None:
    house = House()
    plain = house.ask("GET", "/speaker_info", params={"speaker_uuid": DUMMY}).json()
    linked = house.ask("GET", "/speaker_info", params={"speaker_uuid": DUMMY, "resource_format": "url"}).json()
    assert plain["policy"] == linked["policy"] == "For tests."
    assert base64.b64decode(plain["portrait"]) == ICON.read_bytes()
    (sample,), (url,) = (info["style_infos"][0]["voice_samples"] for info in (plain, linked))
    assert base64.b64decode(sample) == SAMPLE.read_bytes()
    assert plain["style_infos"][0]["portrait"] is None

    assert url == f"http://test/_resources/{hashlib.sha256(SAMPLE.read_bytes()).hexdigest()}"
    answer = House().ask("GET", urlsplit(url).path)  # after a restart too
    assert answer.content == SAMPLE.read_bytes()
    assert answer.headers["cache-control"] == "max-age=2592000"
    assert answer.headers["content-type"] in ("audio/x-wav", "audio/wav", "audio/vnd.wave")


def test_addresses_follow_the_host_that_was_asked() -> None:
    params = {"speaker_uuid": DUMMY, "resource_format": "url"}
    info = House().ask("GET", "/speaker_info", params=params, headers={"Host": "voice.example:8080"}).json()
    assert info["portrait"].startswith("http://voice.example:8080/_resources/")


@pytest.mark.parametrize("path", ["/version", "/livez", "/readyz"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_probes(method: str, path: str) -> None:
    answer = House().ask(method, path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")


def test_readiness_is_the_crew_s_and_life_is_not() -> None:
    loading = House(ready=False)
    assert [loading.ask("GET", path).status_code for path in ("/livez", "/readyz", "/version")] == [200, 503, 200]


def test_version_and_devices() -> None:
    assert House().ask("GET", "/version").json() == __version__
    assert House().ask("GET", "/supported_devices").json() == {"cpu": True, "cuda": False, "dml": False}
    assert House(device="cuda").ask("GET", "/supported_devices").json() == {"cpu": True, "cuda": True, "dml": False}


def test_metrics() -> None:
    house = House(slots=[SlotStatistics("s-1", "synthesis", SlotState.BUSY, 2, "cpu", 1, 9, 1)])
    house.metrics.job_finished("query", "done", 0.002, 0.02)
    house.metrics.job_finished("query", "cancelled", 0.2, 0.3)
    house.metrics.job_finished("query", "refused", 0, 0)
    house.metrics.job_refused("query", "share")
    house.metrics.job_quarantined("query")
    answer = house.ask("GET", "/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    lines = answer.text.splitlines()
    for line in (
        f'koegumi_info{{version="{__version__}"}} 1.0',
        'koegumi_queue_jobs{lane="query"} 3.0',
        'koegumi_running_jobs{lane="query"} 1.0',
        'koegumi_queue_backlog_seconds{lane="query"} 4.5',
        'koegumi_workers{lane="query",state="ready"} 1.0',
        'koegumi_workers{lane="synthesis",state="busy"} 1.0',
        'koegumi_workers{lane="synthesis",state="ready"} 0.0',
        'koegumi_worker_restarts_total{lane="query"} 2.0',
        'koegumi_jobs_total{lane="query",outcome="done"} 1.0',
        'koegumi_jobs_total{lane="query",outcome="refused"} 1.0',
        'koegumi_refusals_total{lane="query",reason="share"} 1.0',
        'koegumi_quarantines_total{lane="query"} 1.0',
        'koegumi_job_queue_seconds_count{lane="query"} 2.0',
        'koegumi_job_queue_seconds_bucket{lane="query",le="0.0025"} 1.0',
        'koegumi_job_work_seconds_count{lane="query"} 1.0',
    ):
        assert line in lines
