"""Processes that measure Bark, one at a time, and what they say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench import bark_model
from koegumi.voices.bark.nodes import Precision

ROOT = Path(__file__).parent.parent
PEER = ROOT / ".venv-bark" / "bin" / "python"
_KERNEL = re.compile(r"Operator=(\w+).*SdpaKernel=(\w+)")


class Runner:
    """Makes the models first. `kernels`: what ONNX Runtime said about its attention on a GPU."""

    def __init__(self, folder: Path, shape: str, device: str, threads: int) -> None:
        self.device, self.kernels = device, set[str]()
        self._threads = threads
        half: Precision = "fp16" if device == "cuda" else "int8"
        self._checkpoint = bark_model.checkpoint(folder, shape)
        self._folder = bark_model.prepared(folder, shape, ("fp32", half)).parent
        for precision in ("fp32",) if device == "cpu" else ("fp32", "fp16"):
            bark_model.naive(folder, shape, precision)  # type: ignore[arg-type]
        self.has_peer = device == "cpu" and PEER.is_file()
        self._base = {False: self.ours("nothing")["megabytes"]}
        if self.has_peer:
            self._base[True] = self.peer("nothing")["megabytes"]

    def about(self) -> str:
        return "with transformers" if self.has_peer else "without transformers"

    def ours(self, do: str, **task: Any) -> dict[str, Any]:
        return self._run(
            [sys.executable, "-m", "bench.bark_worker"], False, {"do": do, "folder": str(self._folder), **task}
        )

    def peer(self, do: str, **task: Any) -> dict[str, Any]:
        command = [str(PEER), str(ROOT / "bench" / "bark_peer.py")]
        return self._run(command, True, {"do": do, "checkpoint": str(self._checkpoint), **task})

    def _run(self, command: list[str], peer: bool, task: dict[str, Any]) -> dict[str, Any]:
        task |= {"device": self.device, "threads": self._threads}
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
        if self.device == "cuda":
            environment["ORT_ENABLE_ATTENTION_KERNEL_DEBUG_INFO"] = "1"
        with _GpuMemory(self.device) as gpu:
            done = subprocess.run(
                [*command, json.dumps(task)], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True
            )
        *said, last = done.stdout.strip().splitlines()
        self.kernels |= {f"{found[1]}: {found[2]}" for line in said if (found := _KERNEL.search(line))}
        result: dict[str, Any] = json.loads(last)
        if self.device == "cuda":
            result["megabytes"] = gpu.grown
        elif task["do"] == "speak":
            result["megabytes"] -= self._base[peer]
        return result


class _GpuMemory:
    """MB of the GPU that were taken at most while this was open, as nvidia-smi says ten times a second."""

    def __init__(self, device: str) -> None:
        self._watches = device == "cuda"
        self._process: subprocess.Popen[str] | None = None
        self.grown = 0.0

    def __enter__(self) -> _GpuMemory:
        if self._watches:
            command = [
                "nvidia-smi",
                "--query-gpu=memory.used",
                "--format=csv,noheader,nounits",
                "--id=0",
                "-lms",
                "100",
            ]
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            assert self._process.stdout is not None
            self._first = float(self._process.stdout.readline())
        return self

    def __exit__(self, *error: object) -> None:
        if self._process is not None:
            self._process.terminate()
            said, _ = self._process.communicate()
            self.grown = max([self._first, *(float(line) for line in said.split())]) - self._first
