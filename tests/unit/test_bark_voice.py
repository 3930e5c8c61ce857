"""The voice over the engine itself, with a little model: what the options do, and one request by itself."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from koegumi.schema.plain import AudioQuery
from koegumi.voices.bark import FAMILY
from koegumi.voices.bark.prepared import find_prepared
from koegumi.voices.bark.voice import BarkVoice
from koegumi.voices.interface import BatchSynthesisVoice, Cancelled, Device, NotPrepared, Places
from tests.little_bark import prepare_model

# So many sentences that chance makes hardly all of them silent.
QUERY = AudioQuery([], kana="hello world one two. " * 60)


@dataclass
class LeftAfter:
    """A run whose client leaves after so many questions."""

    checks: int = 10**9

    def check(self) -> None:
        self.checks -= 1
        if self.checks < 0:
            raise Cancelled

    def options(self) -> Any:
        return None


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare_model(tmp_path_factory.mktemp("bark"))


def open_voice(cache: Path, kind: str = "cpu", **options: str) -> BarkVoice:
    given = {"precision": "fp32", "offload": "auto", "batch": "3", "fine_window": "full"} | options
    return FAMILY.open_synthesis(Places(cache), Device(kind, 1, given))


@pytest.mark.parametrize(
    "options", [{"offload": "resident"}, {"offload": "stage"}, {"memory": "1"}, {"precision": "int8"}]
)
def test_options(cache: Path, options: dict[str, str]) -> None:
    voice = open_voice(cache, **options)
    assert isinstance(voice, BatchSynthesisVoice)
    assert voice.capacity == 6
    voice.warm_up()
    for style_id in (1000, 1003):
        wave = voice.synthesis(QUERY, style_id, True, LeftAfter())
        assert wave.dtype == np.float32
        assert len(wave) > voice.sampling_rate
        assert wave.any()


def test_a_client_that_leaves_in_the_middle(cache: Path) -> None:
    voice = open_voice(cache)
    with pytest.raises(Cancelled):
        voice.synthesis(QUERY, 1000, True, LeftAfter(20))
    assert voice.synthesis(QUERY, 1000, True, LeftAfter()).any()


def test_a_preset_that_is_gone_is_one_request_s_failure(tmp_path: Path) -> None:
    cache = prepare_model(tmp_path)
    voice = open_voice(cache)
    find_prepared(Places(cache)).preset(1002).unlink()
    with pytest.raises(FileNotFoundError):
        voice.synthesis(QUERY, 1002, True, LeftAfter())
    assert voice.synthesis(QUERY, 1001, True, LeftAfter()).any()


def test_what_was_not_prepared_is_named_with_the_command_that_makes_it(cache: Path) -> None:
    with pytest.raises(NotPrepared, match=r"fp16 are missing .*koegumi prepare --bark DIR --device cuda"):
        open_voice(cache, "cuda", precision="fp16")


def test_the_front_knows_the_families_without_their_libraries() -> None:
    heavy = {"tokenizers", "onnxruntime", "onnx", "soundfile", "PIL"}
    code = "import sys, koegumi.voices.catalog as c; c.built_in_families(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "koegumi.voices.bark.family" in loaded
    assert not heavy & set(loaded)
