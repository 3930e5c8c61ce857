"""What is measured of a whole server with the voice: a song, and what its worker's memory comes to."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import soundfile

from bench.voice_measures import at_frames, cents, pitch
from koegumi.pool.memory import resident_bytes
from tests.harness import serving

FRAMES_A_SECOND = 93.75
# One breath of 28 s: no pause to cut the sound at.
LONG = "ながいおとをきれめなくつづけてはなすためのことばです" * 7
RESIDENT, RESIDENT_LATER = 130, 250


class Figures(Protocol):
    def add(self, name: str, value: float, unit: str, limit: float | None = None, *, least: bool = False) -> None: ...


def served(path: Path, score_file: Path, first_song: int, first_talk: int, voices: int, figures: Figures) -> None:
    score = json.loads(score_file.read_text("utf-8"))
    with serving("--voices", path, "--synthesis-workers", "1") as server, server.client() as client:

        def post(path: str, body: Any, speaker: int, **params: str | int) -> bytes:
            answer = client.post(path, json=body, params={"speaker": speaker, **params})
            answer.raise_for_status()
            return answer.content

        def resident() -> float:
            found = [resident_bytes(pid) for pid in server.worker_pids("synthesis").values()]
            return max(number or 0 for number in found) / 1e6

        short = json.loads(post("/audio_query", None, first_talk, text="こんにちは"))
        post("/synthesis", short, first_talk)
        figures.add("worker, resident, after a word", resident(), "MB", RESIDENT)
        long = json.loads(post("/audio_query", None, first_talk, text=LONG))
        length = sum(
            (mora["consonant_length"] or 0) + mora["vowel_length"]
            for phrase in long["accent_phrases"]
            for mora in phrase["moras"]
        )
        long["speedScale"] = length / 28
        post("/synthesis", long, first_talk)
        figures.add("worker, resident, after 28 s in one piece", resident(), "MB", RESIDENT_LATER)

        worst, wrong_lengths = 0.0, 0
        for style in range(first_song, first_song + voices):
            query = json.loads(post("/sing_frame_audio_query", score, style))
            wave, _ = soundfile.read(io.BytesIO(post("/frame_synthesis", query, style)), dtype="float32")
            frames = sum(note["frame_length"] for note in score["notes"])
            wrong_lengths += abs(len(wave) - 256 * frames)
            worst = max(worst, _worst_note(wave, score["notes"], query["f0"]))
        figures.add("song: samples too many or too few", wrong_lengths, "", 0)
        figures.add("song: worst note, middle half, mean error against f0", worst, "cents", 10)


def _worst_note(wave: Any, notes: list[dict[str, Any]], f0: list[float]) -> float:
    curve = np.array(f0, np.float64)
    seconds, hertz = pitch(wave)
    worst, start = 0.0, 0
    for note in notes:
        stop = start + note["frame_length"]
        if note["key"] is not None:
            place = (seconds * FRAMES_A_SECOND - start) / (stop - start)
            middle = (place > 0.25) & (place < 0.75)
            wanted = np.exp(at_frames(np.log(np.maximum(curve, 1)), seconds))
            voiced = middle & (hertz > 0)
            worst = max(worst, float(cents(hertz[voiced], wanted[voiced]).mean()) if voiced.any() else 1e4)
        start = stop
    return worst
