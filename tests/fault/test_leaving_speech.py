"""A client that leaves in the middle of real speech: its worker is free within a second, and lives."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from bench.texts import SENTENCES
from tests.fault.load import gauge, until
from tests.harness import serving

pytestmark = [pytest.mark.fault, pytest.mark.kokoro]

FREE_WITHIN = 1.0


@pytest.mark.parametrize("path", ["/synthesis", "/cancellable_synthesis"])
def test_leaving_in_the_middle_of_speech(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    with serving("--synthesis-workers", "1", "--enable_cancellable_synthesis") as server, server.client() as client:
        text = "".join(SENTENCES)
        query: dict[str, Any] = client.post("/audio_query", params={"speaker": 1, "text": text}).json()
        with server.client() as leaving, pytest.raises(httpx.ReadTimeout):
            leaving.post(path, params={"speaker": 1}, json=query, timeout=httpx.Timeout(None, read=1.0))
        free = until(lambda: gauge(server, "koegumi_running_jobs") == 0)
        assert 'koegumi_jobs_total{lane="synthesis",outcome="cancelled"} 1.0' in client.get("/metrics").text
        short = client.post("/audio_query", params={"speaker": 1, "text": "はい"}).json()
        assert client.post("/synthesis", params={"speaker": 1}, json=short).status_code == 200
        assert not server.log.events("worker ended")
    with capsys.disabled():
        print(f"\n{path}: the worker was free {free:.2f} s after its client had left")
    assert free < FREE_WITHIN
