"""The HTTP side by itself: a dispatcher that answers as it is told, voices without models, no process."""

from __future__ import annotations

import asyncio
import atexit
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import msgspec
from fastapi import FastAPI

from koegumi.api.app import create_app
from koegumi.api.front import Features, Front, Limits
from koegumi.api.keys import Keys
from koegumi.api.origins import Origins
from koegumi.api.user_dict import compiler
from koegumi.dispatch.job import Job, Outcome
from koegumi.dispatch.statistics import DispatchStatistics, JobStatistics, LaneStatistics
from koegumi.pool.slot import SlotState, SlotStatistics
from koegumi.schema.http import decode
from koegumi.state.state import Places as StatePlaces
from koegumi.state.state import open_state
from koegumi.telemetry import Metrics
from koegumi.voices.catalog import Catalog, Entry, plugin_families
from koegumi.voices.interface import Capability, Places, Speaker, Style
from koegumi.wire.messages import Call, DecodeCall

TESTS = Path(__file__).parents[1]
SAMPLE, ICON = TESTS / "cast" / "sample.wav", TESTS / "cast" / "icon.png"
SING, BARK = 7, 1000
# For tests that keep nothing there; what does gets a folder of its own.
STATE = tempfile.TemporaryDirectory()
atexit.register(STATE.cleanup)

Reply = Callable[[Job], Outcome | Exception]

MORA = {"text": "テ", "consonant": "t", "consonant_length": 0.06, "vowel": "e", "vowel_length": 0.08, "pitch": 5.5}
PAUSE = {"text": "、", "consonant": None, "consonant_length": None, "vowel": "pau", "vowel_length": 0.3, "pitch": 0.0}
PHRASE = {"moras": [MORA, MORA], "accent": 1, "pause_mora": PAUSE, "is_interrogative": False}
QUERY: dict[str, Any] = {
    "accent_phrases": [PHRASE],
    "speedScale": 1.0,
    "pitchScale": 0.0,
    "intonationScale": 1.0,
    "volumeScale": 1.0,
    "prePhonemeLength": 0.1,
    "postPhonemeLength": 0.1,
    "pauseLength": None,
    "pauseLengthScale": 1.0,
    "outputSamplingRate": 24000,
    "outputStereo": False,
    "kana": "テ'テ、",
}


def outcome(body: bytes = b"[]", media_type: str = "application/json") -> Outcome:
    return Outcome(body, media_type, "query-1", queue_seconds=0.25, work_seconds=1.5, attempts=1)


@dataclass
class FakeDispatcher:
    """Keeps the jobs; decodes large bodies as a worker does. `held` jobs are answered when the event is set."""

    reply: Reply = lambda job: outcome()
    jobs: list[Job] = field(default_factory=list)
    explained: list[JobStatistics] = field(default_factory=list)
    held: asyncio.Event | None = None
    started: asyncio.Event | None = None
    running: int = 0

    def explain(self) -> list[JobStatistics]:
        return self.explained

    async def submit_all(self, jobs: Sequence[Job]) -> list[Outcome]:
        return await asyncio.gather(*map(self.submit, jobs))

    async def submit(self, job: Job) -> Outcome:
        self.jobs.append(job)
        self.running += 1
        try:
            if self.started is not None:
                self.started.set()
            if self.held is not None:
                await self.held.wait()
        finally:
            self.running -= 1
        call = msgspec.msgpack.decode(job.call, type=Call)
        if isinstance(call, DecodeCall):
            return outcome(msgspec.msgpack.encode(decode(call.model, call.body)), "application/msgpack")
        answer = self.reply(job)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def calls(self) -> list[Any]:
        return [msgspec.msgpack.decode(job.call, type=Call) for job in self.jobs]


def catalog() -> Catalog:
    """The cast of tests, which sings too, and one speaker on a lane of its own that has no query of its own."""
    (family,) = plugin_families([TESTS / "cast"])
    speakers = family.find(Places(TESTS))
    bark = replace(_like(speakers[0], "bark", BARK, "talk"), lane="bark", real_time_factor=4.0)
    bark = replace(bark, capabilities=frozenset({Capability.TALK_SYNTHESIS}))
    return Catalog((family, speaker) for speaker in [*speakers, bark])


def _like(speaker: Speaker, name: str, style_id: int, kind: str) -> Speaker:
    style = Style(style_id, f"style{style_id}", speaker.styles[0].files, kind)
    return replace(speaker, name=name, uuid=f"uuid-of-{name}", styles=(style,))


async def reloaded() -> str | None:
    return None


@dataclass
class House:
    dispatcher: FakeDispatcher = field(default_factory=FakeDispatcher)
    ready: bool = True
    device: str = "cpu"
    limits: Limits = field(default_factory=Limits)
    features: Features = field(default_factory=Features)
    slots: list[SlotStatistics] = field(default_factory=list)
    metrics: Metrics = field(default_factory=Metrics)
    state_dir: Path = Path(STATE.name)
    mutable: bool = True
    origins: Origins = field(default_factory=Origins)
    keys: Keys = field(default_factory=Keys)

    # Styles that are not loaded; with a sentence those that cannot be.
    cold: dict[int, str | None] = field(default_factory=dict)

    async def load(self, entry: Entry) -> str | None:
        reason = self.cold.get(entry.style.id)
        if reason is None:
            self.cold.pop(entry.style.id, None)
        return reason

    def __post_init__(self) -> None:
        self.slots.append(SlotStatistics("query-1", "query", SlotState.READY, 1, "cpu", 0, 0, 2))
        self.app: FastAPI = create_app(
            Front(
                dispatcher=self.dispatcher,
                catalog=catalog(),
                crew_statistics=lambda: self.slots,
                lane_statistics=lambda: DispatchStatistics({"query": LaneStatistics(3, 1, 4.5)}),
                is_ready=lambda: self.ready,
                out_of_service=list,
                is_loaded=lambda entry: entry.style.id not in self.cold,
                load=self.load,
                reload=reloaded,
                metrics=self.metrics,
                device=self.device,
                limits=self.limits,
                features=self.features,
                state=open_state(StatePlaces(self.state_dir), compiler(self.dispatcher), self.mutable),
                origins=self.origins,
                keys=self.keys,
            )
        )

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        """One request. An error that the application lets out is raised here."""

        async def ask() -> httpx.Response:
            async with httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://test") as client:
                return await client.request(method, path, **options)

        return asyncio.run(asyncio.wait_for(ask(), 10))
