"""How pauseLength and pauseLengthScale work together, heard over HTTP (field report C054)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.harness import Server

pytestmark = pytest.mark.kokoro

UNIT = 0.025


@pytest.fixture(scope="module")
def seconds(kokoro: Server) -> Callable[..., float]:
    """How long a sentence with one pause lasts beside what it lasts by itself."""
    with kokoro.client() as client:
        query = client.post("/audio_query", params={"text": "はい、そうです", "speaker": 1}).json()

    def speak(changes: dict[str, Any]) -> float:
        with kokoro.client() as client:
            answer = client.post("/synthesis", params={"speaker": 1}, json=query | changes)
        assert answer.status_code == 200
        return (len(answer.content) - 44) / 2 / 24000

    plain, pause = speak({}), query["accent_phrases"][0]["pause_mora"]["vowel_length"]
    return lambda **changes: speak(changes) - plain + pause


@pytest.mark.parametrize(
    ("length", "scale", "pause"), [(0.5, 1.0, 0.5), (0.5, 2.0, 1.0), (0.5, 0.5, 0.25), (0.0, 2.0, 0.0)]
)
def test_a_length_replaces_all_pauses_and_the_scale_multiplies(
    seconds: Callable[..., float], length: float, scale: float, pause: float
) -> None:
    assert seconds(pauseLength=length, pauseLengthScale=scale) == pytest.approx(pause, abs=UNIT)


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_without_a_length_the_voice_s_pauses_are_scaled(seconds: Callable[..., float], scale: float) -> None:
    assert seconds(pauseLength=None, pauseLengthScale=scale) == pytest.approx(seconds() * scale, abs=UNIT)
