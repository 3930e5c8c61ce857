"""Requests at times that were fixed before, whatever becomes of those before them: a load that does not wait.

A process of its own, `python -m tests.fault.open_loop`, so that no slowness of a test is taken for the server's: a
`Plan` in JSON on standard input, a list of `Answer` in JSON on standard output.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Sequence
from urllib.parse import urlsplit

import msgspec

from tests.harness import TESTS


class Asked(msgspec.Struct):
    """`at` counts in seconds from the start. One that is refused comes back when it was told to, if it is `patient`."""

    at: float
    path: str
    body: str = ""
    key: str = ""
    patient: bool = False


class Plan(msgspec.Struct):
    url: str
    requests: list[Asked]


class Answer(msgspec.Struct):
    """`number` is its request's in the plan, `again` whether it is the second try. Times are those of the monotonic
    clock: when it was to be sent, and when it was all there. `queued` and `worked` are what the server says."""

    number: int
    again: bool
    scheduled: float
    ended: float
    status: int
    retry_after: float = 0.0
    queued: float = 0.0
    worked: float = 0.0

    @property
    def seconds(self) -> float:
        return self.ended - self.scheduled

    @property
    def started(self) -> float:
        return self.ended - self.worked

    @property
    def admitted(self) -> float:
        return self.started - self.queued


def run(plan: Plan, seconds: float) -> list[Answer]:
    """Send all of it from another process, which has so long."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.fault.open_loop"],
        cwd=TESTS.parent,
        input=msgspec.json.encode(plan),
        stdout=subprocess.PIPE,
        timeout=seconds,
        check=True,
    )
    return msgspec.json.decode(done.stdout, type=list[Answer])


async def _send_all(plan: Plan) -> Sequence[Answer]:
    answers: list[Answer] = []
    start = time.monotonic() + 0.2
    async with asyncio.TaskGroup() as tasks:
        for number in sorted(range(len(plan.requests)), key=lambda each: plan.requests[each].at):
            at = start + plan.requests[number].at
            await asyncio.sleep(at - time.monotonic())
            tasks.create_task(_see_through(plan, number, at, answers))
    return answers


async def _see_through(plan: Plan, number: int, at: float, answers: list[Answer]) -> None:
    answer = await _send(plan, number, at)
    answers.append(answer)
    if plan.requests[number].patient and answer.status in (429, 503):
        await asyncio.sleep(answer.retry_after)
        again = await _send(plan, number, time.monotonic())
        again.again = True
        answers.append(again)


async def _send(plan: Plan, number: int, at: float) -> Answer:
    asked, address = plan.requests[number], urlsplit(plan.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        method = "POST" if asked.body else "GET"
        body = asked.body.encode()
        head = (
            f"{method} {asked.path} HTTP/1.1\r\nHost: {address.netloc}\r\nConnection: close\r\n"
            f"X-API-Key: {asked.key}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        text = await reader.read()  # to the end of the connection
    finally:
        writer.close()
    ended = time.monotonic()
    first, *lines = text.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    named = (headers.get(name, "0") for name in ("retry-after", "x-koegumi-queue-time", "x-koegumi-synthesis-time"))
    return Answer(number, False, at, ended, int(first.split()[1]), *map(float, named))


if __name__ == "__main__":
    read = msgspec.json.decode(sys.stdin.buffer.read(), type=Plan)
    sys.stdout.buffer.write(msgspec.json.encode(list(asyncio.run(_send_all(read)))))
