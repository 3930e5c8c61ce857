"""The docker command, and servers that it runs."""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).parents[2]
LIMIT = 240.0
# Runs inside a container, where admin routes are open: prints what it heard as JSON.
ASK = """
import json, sys, urllib.request
method, path, body = json.load(sys.stdin)
request = urllib.request.Request(f"http://127.0.0.1:50021{path}", method=method)
if body is not None:
    request.data = json.dumps(body).encode()
    request.add_header("Content-Type", "application/json")
answer = urllib.request.urlopen(request).read()
print(answer.hex())
"""


def run(line: str, environment: Mapping[str, str] | None = None, given: str | None = None, limit: float = LIMIT) -> str:
    """What the line prints. It is not given to a shell. Fails with all its output."""
    done = subprocess.run(
        shlex.split(line),
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        input=given,
        capture_output=True,
        text=True,
        timeout=limit,
    )
    assert done.returncode == 0, f"{line}\n{done.stdout[-4000:]}\n{done.stderr[-8000:]}"
    return done.stdout


@dataclass(frozen=True)
class Container:
    name: str

    def ask(self, method: str, path: str, body: Any = None) -> bytes:
        """By a client inside, on its loopback."""
        command = ["docker", "exec", "-i", self.name, "python", "-c", ASK]
        return bytes.fromhex(run(shlex.join(command), given=json.dumps([method, path, body])).strip())

    def ask_json(self, method: str, path: str, body: Any = None) -> Any:
        return json.loads(self.ask(method, path, body))

    def execute(self, *command: str) -> str:
        return run(shlex.join(["docker", "exec", self.name, *command]))

    def kill(self, pid: int) -> None:
        self.execute("python", "-c", f"import os; os.kill({pid}, 9)")

    def state(self) -> dict[str, Any]:
        (found,) = json.loads(run(f"docker inspect {self.name}"))
        state: dict[str, Any] = found["State"] | {"RestartCount": found["RestartCount"]}
        return state

    def log(self) -> list[dict[str, Any]]:
        done = subprocess.run(["docker", "logs", self.name], capture_output=True, text=True, check=True)
        return [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]

    def wait_healthy(self) -> None:
        until(lambda: self.state().get("Health", {}).get("Status") == "healthy", self)

    def speak(self, text: str, speaker: int = 1) -> bytes:
        from urllib.parse import quote

        query = self.ask_json("POST", f"/audio_query?speaker={speaker}&text={quote(text)}")
        return self.ask("POST", f"/synthesis?speaker={speaker}", query)


def until(condition: Callable[[], bool], of: Container | None = None, limit: float = LIMIT) -> None:
    end = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < end, of.log()[-20:] if of else "it did not hold in time"
        time.sleep(0.1)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def client(address: str) -> httpx.Client:
    return httpx.Client(base_url=f"http://{address}", timeout=120, trust_env=False, verify=False)


def query(address: str, text: str, speaker: int = 1) -> dict[str, Any]:
    with client(address) as http:
        answer = http.post("/audio_query", params={"text": text, "speaker": speaker})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def speak(address: str, query: dict[str, Any], speaker: int = 1) -> httpx.Response:
    with client(address) as http:
        return http.post("/synthesis", params={"speaker": speaker}, json=query)


def is_wave(data: bytes) -> bool:
    return data[:4] == b"RIFF" and data[8:12] == b"WAVE" and len(data) > 20_000
