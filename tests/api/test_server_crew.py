"""The crew as it is shown, replaced and recycled while it works, and what its libraries print."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.harness import SINE, Server, serving

Query = dict[str, Any]

FAMILY = """
from tests.sine.family import Sine, FILES
from koegumi.voices.interface import Style
from dataclasses import replace

class Changed(Sine):
    def find(self, places):
        styles = tuple(Style(number, "changed", FILES) for number in {styles})
        return [replace(speaker, styles=styles) for speaker in super().find(places)]

    def open_synthesis(self, places, device):
        {body}
        return super().open_synthesis(places, device)

FAMILY = Changed()
"""


def family(styles: tuple[int, ...], body: str = "pass") -> str:
    return FAMILY.replace("{styles}", str(styles)).replace("{body}", body)


def workers(server: Server) -> dict[str, dict[str, Any]]:
    with server.client() as client:
        return {worker["name"]: worker for worker in client.get("/admin/workers").json()}


def speak(server: Server, query: Query, request_id: str = "", speaker: int = 1) -> int:
    with server.client() as client:
        headers = {"X-Request-Id": request_id}
        return client.post("/synthesis", params={"speaker": speaker}, json=query, headers=headers).status_code


def styles(server: Server) -> list[int]:
    with server.client() as client:
        return [style["id"] for speaker in client.get("/speakers").json() for style in speaker["styles"]]


def test_the_crew_is_shown(query: Query) -> None:
    with serving("--voices", SINE, "--synthesis-workers", "1") as server:
        assert speak(server, query) == 200
        crew = workers(server)
        worker = crew["synthesis-1"]
        assert set(crew) == {"query-1", "synthesis-1"}
        assert (worker["state"], worker["jobs_done"], worker["restarts"]) == ("ready", 1, 0)
        assert worker["pid"] == server.worker_pids()["synthesis-1"]
        assert worker["resident_bytes"] > 10_000_000
        assert worker["age"] > 0
        assert Path(f"/proc/{worker['pid']}/oom_score_adj").read_text().strip() == "500"


def test_a_reload_brings_new_voices_and_loses_no_job(tmp_path: Path, query: Query) -> None:
    (tmp_path / "family.py").write_text(family((1,)))
    with (
        serving("--voices", tmp_path, "--synthesis-workers", "2") as server,
        ThreadPoolExecutor(4) as threads,
        server.client() as client,
    ):
        before = workers(server)
        running = [threads.submit(speak, server, query | {"kana": "sleep 0.2"}) for _ in range(20)]
        (tmp_path / "family.py").write_text(family((1, 7)))
        assert (client.post("/admin/reload").status_code, styles(server)) == (200, [1, 7])
        assert speak(server, query, speaker=7) == 200
        assert [future.result() for future in running] == [200] * 20
        after = workers(server)
        assert set(after) == set(before)
        assert all(after[name]["pid"] != before[name]["pid"] for name in before)
        assert all(worker["restarts"] == 0 for worker in after.values())
        since = len(server.log.lines)
        (tmp_path / "family.py").write_text(family((7, 8)))
        server.process.send_signal(signal.SIGHUP)
        server.log.wait(lambda line: line.get("event") == "reloaded", since)
        assert styles(server) == [7, 8]


def test_a_reload_that_fails_changes_nothing(tmp_path: Path, query: Query) -> None:
    (tmp_path / "family.py").write_text(family((1,)))
    with serving("--voices", tmp_path, "--synthesis-workers", "2") as server, server.client() as client:
        before = workers(server)
        (tmp_path / "family.py").write_text(family((1, 7), "raise OSError('the model is missing')"))
        answer = client.post("/admin/reload")
        assert (answer.status_code, answer.json()) == (500, {"detail": "worker synthesis-1: the model is missing"})
        (tmp_path / "family.py").write_text("this is no Python")
        assert "cannot be read" in client.post("/admin/reload").json()["detail"]
        after = workers(server)
        assert styles(server) == [1]
        assert speak(server, query) == 200
        assert client.get("/readyz").status_code == 200
        assert [worker["pid"] for name, worker in after.items() if name != "query-1"] == [
            worker["pid"] for name, worker in before.items() if name != "query-1"
        ]


TWO_LANES = """
class TwoLanes(Changed):
    def find(self, places):
        (speaker,) = super().find(places)
        uuid = "00000000-0000-4000-8000-000000000009"
        other = replace(speaker, name="other", uuid=uuid, lane="other", styles=(Style(9, "other", FILES),))
        return [speaker, other]

FAMILY = TwoLanes()
"""
ONLY_ONCE = "from pathlib import Path; Path({mark!r}).mkdir()"


def test_a_reload_may_bring_a_lane_but_take_none(tmp_path: Path, query: Query) -> None:
    file, mark = tmp_path / "family.py", tmp_path / "mark"
    file.write_text(family((1,)))
    with serving("--voices", tmp_path, "--synthesis-workers", "1") as server, server.client() as client:
        file.write_text(family((1,), ONLY_ONCE.format(mark=str(mark))) + TWO_LANES)  # the second worker fails
        assert "worker synthesis-1" in client.post("/admin/reload").json()["detail"]
        assert (set(workers(server)), styles(server)) == ({"query-1", "synthesis-1"}, [1])
        file.write_text(family((1,)) + TWO_LANES)
        assert client.post("/admin/reload").status_code == 200
        assert set(workers(server)) == {"query-1", "synthesis-1", "other-1"}
        assert [speak(server, query, speaker=number) for number in (1, 9)] == [200, 200]
        assert client.get("/readyz").status_code == 200
        file.write_text(family((1,)))
        assert "other" in client.post("/admin/reload").json()["detail"]
        assert [speak(server, query, speaker=number) for number in (1, 9)] == [200, 200]


def test_workers_are_recycled_after_so_many_jobs(query: Query) -> None:
    with (
        serving("--voices", SINE, "--synthesis-workers", "2", "--recycle-jobs", "10") as server,
        ThreadPoolExecutor(4) as threads,
    ):
        assert list(threads.map(lambda _: speak(server, query), range(60))) == [200] * 60
        server.log.wait(lambda line: line.get("event") == "worker replaced")
        assert all("jobs" in line["reason"] for line in server.log.events("worker is recycled"))
        assert not server.log.events("worker ended")


def test_a_worker_that_holds_too_much_memory_is_recycled(query: Query) -> None:
    with serving("--voices", SINE, "--synthesis-workers", "1", "--recycle-memory", "400MB") as server:
        before = workers(server)["synthesis-1"]["pid"]
        assert speak(server, query | {"kana": "leak 400000000"}) == 200
        server.log.wait(lambda line: line.get("event") == "worker replaced")
        after = workers(server)["synthesis-1"]
        assert (after["pid"] != before, after["resident_bytes"] < 400_000_000) == (True, True)
        assert speak(server, query) == 200
        assert [line["worker"] for line in server.log.events("worker is recycled")] == ["synthesis-1"]


def test_what_a_library_prints_is_logged_with_its_worker_and_a_flood_is_cut(query: Query) -> None:
    with serving("--voices", SINE, "--synthesis-workers", "1") as server:
        assert speak(server, query | {"kana": "print 100000"}) == 200
        server.log.wait(lambda line: line.get("lines_dropped", 0) > 0 or line.get("event") == "worker printed")
        assert speak(server, query) == 200
        printed = server.log.events("worker printed")
        assert {line["worker"] for line in printed} == {"synthesis-1"}
        assert printed[0]["line"] == "a warning of a native library"
        assert len(printed) < 1000


def test_a_printed_line_is_its_requests(query: Query) -> None:
    """The next job is there as soon as the one that prints has ended."""
    with serving("--voices", SINE, "--synthesis-workers", "1") as server, ThreadPoolExecutor(20) as threads:
        names = [f"{'loud' if number % 2 else 'quiet'}-{number}" for number in range(40)]
        kinds = {"loud": {"kana": "print 2"}, "quiet": {}}
        answers = [threads.submit(speak, server, query | kinds[name.split("-")[0]], name) for name in names]
        assert [answer.result() for answer in answers] == [200] * len(names)
        printed = [str(line.get("request_id")) for line in server.log.events("worker printed", len(names))]
    assert sorted(printed) == sorted(2 * [name for name in names if name.startswith("loud")])
