"""A real server for tests: `koegumi serve` in a process of its own, watched through its log."""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

TESTS = Path(__file__).parent
CAST, FAULTY, SINE = TESTS / "cast", TESTS / "faulty", TESTS / "sine"
REFERENCE = Path(os.environ.get("KOEGUMI_REFERENCE_DATA", TESTS.parent.parent / "shared" / "data"))
START_LIMIT = 120.0
# Every server keeps what it keeps in a folder of its own, unless a test gives it one; never in the user's.
STATES = tempfile.TemporaryDirectory()
atexit.register(STATES.cleanup)


@dataclass
class Log:
    """The lines that the server wrote, as they come."""

    lines: list[dict[str, Any]] = field(default_factory=list)
    ended: bool = False
    changed: threading.Condition = field(default_factory=threading.Condition)

    def read(self, stream: Any) -> None:
        for line in stream:
            try:
                entry = json.loads(line)
            except ValueError:
                entry = {"event": line.rstrip("\n")}
            with self.changed:
                self.lines.append(entry)
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def wait(self, matches: Callable[[dict[str, Any]], bool], since: int = 0, limit: float = START_LIMIT) -> int:
        """The index after the first matching line from `since` on; fails where the server ends or time is up."""
        with self.changed:
            found = self.changed.wait_for(lambda: self.ended or self._find(matches, since) is not None, limit)
            index = self._find(matches, since)
            assert found and index is not None, f"the line did not come; the log:\n{self.text()}"
            return index + 1

    def _find(self, matches: Callable[[dict[str, Any]], bool], since: int) -> int | None:
        return next((index for index in range(since, len(self.lines)) if matches(self.lines[index])), None)

    def text(self) -> str:
        return "\n".join(json.dumps(line, ensure_ascii=False) for line in self.lines)

    def events(self, event: str, count: int = 0) -> list[dict[str, Any]]:
        """All such lines, once there are `count`: a line may come after the answer that it is of."""
        since = 0
        for _ in range(count):
            since = self.wait(lambda line: line.get("event") == event, since)
        with self.changed:
            return [line for line in self.lines if line.get("event") == event]


@dataclass
class Server:
    url: str
    process: subprocess.Popen[str]
    log: Log

    def client(self, **options: Any) -> httpx.Client:
        """No limits on time: a test that hangs is ended by its suite. No TLS: its set-up costs more than a call."""
        return httpx.Client(base_url=self.url, timeout=None, trust_env=False, verify=False, **options)

    def worker_pids(self, lane: str = "") -> dict[str, int]:
        """The workers that were last said to be ready, by name."""
        return {
            line["worker"]: line["pid"] for line in self.log.events("worker ready") if line["worker"].startswith(lane)
        }

    def wait_for_return(self, worker: str, since: int) -> int:
        return self.log.wait(lambda line: line.get("event") == "worker ready" and line["worker"] == worker, since)


def start(arguments: Sequence[str | Path], environment: dict[str, str] | None = None) -> tuple[Any, Log]:
    command = [sys.executable, "-m", "koegumi", "serve", "--port", "0", *map(str, arguments)]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={
            **os.environ,
            "ORT_DISABLE_TELEMETRY": "1",
            "KOEGUMI_STATE_DIR": tempfile.mkdtemp(dir=STATES.name),
            **(environment or {}),
        },
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    log = Log()
    threading.Thread(target=log.read, args=[process.stderr], daemon=True).start()
    return process, log


def ask(server: Server, text: str, speaker: int) -> dict[str, Any]:
    """A text's AudioQuery."""
    with server.client() as client:
        answer = client.post("/audio_query", params={"text": text, "speaker": speaker})
        assert answer.status_code == 200
        query: dict[str, Any] = answer.json()
        return query


@contextmanager
def serving(*arguments: str | Path, environment: dict[str, str] | None = None) -> Iterator[Server]:
    """A ready server; ended by SIGTERM, which it must obey, unless the test has ended it."""
    process, log = start(arguments, environment)
    try:
        index = log.wait(lambda line: line.get("event") == "listening")
        url = next(url for url in log.lines[index - 1]["urls"] if "[" not in url)
        log.wait(lambda line: line.get("event") == "ready")
        yield Server(url, process, log)
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0, log.text()
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        with log.changed:
            log.changed.wait_for(lambda: log.ended, 10)
        process.stderr.close()


@contextmanager
def ended(*arguments: str | Path) -> Iterator[tuple[int, Log]]:
    """A server that ends by itself: its exit code and its whole log."""
    process, log = start(arguments)
    with process:
        code = process.wait(START_LIMIT)
        with log.changed:
            log.changed.wait_for(lambda: log.ended, 10)
        yield code, log
