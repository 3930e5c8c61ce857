"""The ceiling: the very work of a synthesis worker in a bare process, without a server.

`python -m bench.bare QUERIES.json THREADS` loads, prints `ready`, and for each line `go N` on standard input does the
first N queries and prints the seconds that took.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before anything imports onnxruntime


def main() -> None:
    import msgspec

    from koegumi.settings import Settings
    from koegumi.wire.messages import SynthesisCall, WorkerConfig
    from koegumi.worker.handlers import open_handlers
    from koegumi.worker.run import JobRun

    queries = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    calls = [SynthesisCall(msgspec.Raw(msgspec.msgpack.encode(query)), 1) for query in queries]
    config = WorkerConfig("bare", "synthesis", str(Settings().cache_dir), [], "cpu", int(sys.argv[2]))
    handlers = open_handlers(config, lambda step: None)
    handlers.answer(calls[0], JobRun())
    print("ready", flush=True)
    for line in sys.stdin:
        started = time.perf_counter()
        for call in calls[: int(line.split()[1])]:
            handlers.answer(call, JobRun())
        print(time.perf_counter() - started, flush=True)


class BareProcess:
    """One of them, from outside."""

    def __init__(self, queries: Path, threads: int) -> None:
        command = [sys.executable, "-m", "bench.bare", str(queries), str(threads)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> BareProcess:
        assert self._read() == "ready"
        return self

    def __exit__(self, *error: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def go(self, count: int) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"go {count}\n")
        self._process.stdin.flush()

    def seconds(self) -> float:
        """Wait for the end of what `go` started."""
        return float(self._read())

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


if __name__ == "__main__":
    main()
