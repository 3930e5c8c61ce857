"""A voice with a small real ONNX graph, whose sound is a sine: as fast as a voice can be, and as it is told.

The query's field `kana` says what else happens in the worker, in words: `sleep SECONDS`, `crash`, `hang` (in native
code that lets no thread in), `leak BYTES`, `print LINES` (as native code prints), `huge SECONDS` (of sound).
"""

from __future__ import annotations

import ctypes
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from koegumi.schema.plain import AudioQuery
from koegumi.voices.interface import Device, Places, Progress, Run, Speaker, Style, StyleFiles
from tests.faulty.family import Query

HERE = Path(__file__).parent.parent / "cast"
FILES = StyleFiles(icon=HERE / "icon.png", samples=(HERE / "sample.wav",))
RATE = 24000
STYLES = (1, 2, 3)


def graph() -> bytes:
    """Samples of a sine: inputs `length` (a scalar) and `step` (radians a sample)."""
    from onnx import TensorProto, helper

    nodes = [
        helper.make_node("Range", ["zero", "length", "one"], ["numbers"]),
        helper.make_node("Cast", ["numbers"], ["times"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["times", "step"], ["phase"]),
        helper.make_node("Sin", ["phase"], ["wave"]),
    ]
    inputs = [
        helper.make_tensor_value_info("length", TensorProto.INT64, []),
        helper.make_tensor_value_info("step", TensorProto.FLOAT, []),
    ]
    outputs = [helper.make_tensor_value_info("wave", TensorProto.FLOAT, ["length"])]
    numbers = [helper.make_tensor(name, TensorProto.INT64, [], [value]) for name, value in (("zero", 0), ("one", 1))]
    made = helper.make_graph(nodes, "sine", inputs, outputs, numbers)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    return bytes(model.SerializeToString())


class Synthesis:
    sampling_rate = RATE
    device = "cpu"

    def __init__(self, device: Device) -> None:
        import onnxruntime

        from koegumi.voices.sessions import session_options

        self._session = onnxruntime.InferenceSession(graph(), session_options(device), ["CPUExecutionProvider"])
        self._leaked: list[bytes] = []

    def warm_up(self) -> None:
        self._sine(0.1, 440.0, None)

    def synthesis(
        self, query: AudioQuery, style_id: int, enable_interrogative_upspeak: bool, run: Run
    ) -> NDArray[np.float32]:
        moras = [mora for phrase in query.accent_phrases for mora in phrase.moras]
        seconds = query.pre_phoneme_length + sum(mora.vowel_length for mora in moras) + query.post_phoneme_length
        match (query.kana or "").split():
            case ["sleep", time_]:
                _sleep(float(time_), run)
            case ["crash"]:
                ctypes.string_at(0)
            case ["hang"]:
                ctypes.PyDLL(None).sleep(3600)
            case ["leak", size]:
                self._leaked.append(os.urandom(int(size)))
            case ["print", lines]:
                _print(int(lines))
            case ["huge", length]:
                seconds = float(length)
        return self._sine(seconds, 220.0 * style_id + 10.0 * len(moras), run.options())

    def _sine(self, seconds: float, hertz: float, options: Any) -> NDArray[np.float32]:
        step = 2 * np.pi * hertz / RATE
        inputs = {"length": np.int64(max(1, round(seconds * RATE))), "step": np.float32(step)}
        (wave,) = self._session.run(None, {name: np.asarray(value) for name, value in inputs.items()}, options)
        return np.asarray(wave, np.float32)


def _sleep(seconds: float, run: Run) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        run.check()
        time.sleep(0.005)


def _print(lines: int) -> None:
    line = b"a warning of a native library\n"
    for _ in range(lines // 1000):
        os.write(1, line * 1000)
    os.write(1, line * (lines % 1000))


class Sine:
    name = "sine"

    def find(self, places: Places) -> list[Speaker]:
        styles = tuple(Style(number, f"sine {number}", FILES) for number in STYLES)
        return [
            Speaker("sine", "00000000-0000-4000-8000-000000000001", "mock", styles, "For tests.", HERE / "icon.png")
        ]

    def prepare(self, places: Places, device: str, progress: Progress) -> None:
        """Nothing to make."""

    def open_query(self, places: Places, device: Device) -> Query:
        return Query()

    def open_synthesis(self, places: Places, device: Device) -> Synthesis:
        return Synthesis(device)


FAMILY = Sine()
