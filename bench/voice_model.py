"""The models of a VVM, run by themselves with phonemes, frames and pitches; and the family that the server has."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from koegumi.schema.plain import AudioQuery
from koegumi.voices.interface import Device, FreeRun, Places
from koegumi.voices.vvm import FAMILY

ROOT = Path(__file__).parents[1]
FIRST_TALK, FIRST_SONG, VOICES = 101, 111, 5
PADDING, MARGIN, HOP = 38, 14, 256

Ints = NDArray[np.int64]
Samples = NDArray[np.float32]


class Voice:
    def __init__(self, path: Path, threads: int = 1) -> None:
        places = Places(path.parent, (path,))
        self.query = FAMILY.open_query(places, Device())
        self._synthesis = FAMILY.open_synthesis(places, Device())
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        with zipfile.ZipFile(path) as archive:
            self._sessions = {
                name.removesuffix(".onnx"): onnxruntime.InferenceSession(
                    archive.read(name), options, providers=["CPUExecutionProvider"]
                )
                for name in archive.namelist()
                if name.endswith(".onnx")
            }

    def run(self, model: str, **inputs: Any) -> NDArray[Any]:
        result: NDArray[Any] = self._sessions[model].run(None, inputs)[0]
        return result

    def say(self, query: AudioQuery, style: int) -> Samples:
        return self._synthesis.synthesis(query, style, True, FreeRun())

    def decode(self, labels: Ints, pitches: Samples, voice: int) -> Samples:
        """Padded and cut as the reference has it."""
        wave = self.run("decode", **_padded(labels, pitches), speaker_id=np.array([voice]))
        return wave[PADDING * HOP : -PADDING * HOP]

    def features(self, labels: Ints, pitches: Samples, voice: int) -> Samples:
        """[T, 80] without the padding."""
        spec = self.run("predict_spectrogram", **_padded(labels, pitches), speaker_id=np.array([voice]))
        return spec[PADDING:-PADDING]

    def streamed(self, labels: Ints, pitches: Samples, voice: int, frames: int) -> Samples:
        spec = self.run("predict_spectrogram", **_padded(labels, pitches), speaker_id=np.array([voice]))
        parts = []
        for start in range(0, len(labels), frames):
            stop = min(start + frames, len(labels))
            wave = self.run("vocoder", spec=spec[PADDING + start - MARGIN : PADDING + stop + MARGIN])
            parts.append(wave[MARGIN * HOP : -MARGIN * HOP])
        return np.concatenate(parts)

    def lengths(self, phonemes: Ints, voice: int) -> Samples:
        found = self.run("predict_duration", phoneme_list=np.pad(phonemes, 1), speaker_id=np.array([voice]))
        return found[1:-1]

    def pitches(self, row: dict[str, Any]) -> Samples:
        """Of a line of prosody.jsonl."""
        lists = {
            "vowel_phoneme_list": "vowel",
            "start_accent_list": "start",
            "end_accent_list": "end",
            "start_accent_phrase_list": "first",
            "end_accent_phrase_list": "last",
        }
        inputs = {name: np.pad(np.array(row[column], np.int64), 1) for name, column in lists.items()}
        consonants = np.pad(np.array(row["consonant"], np.int64), 1, constant_values=-1)
        length = np.array(len(consonants), np.int64)
        voice = np.array([row["voice"]])
        found = self.run(
            "predict_intonation", length=length, consonant_phoneme_list=consonants, speaker_id=voice, **inputs
        )
        return found[1:-1]


def _padded(labels: Ints, pitches: Samples) -> dict[str, NDArray[np.float32]]:
    padded = np.pad(labels, PADDING)
    one_hot = np.eye(45, dtype=np.float32)[padded]
    return {"f0": np.pad(pitches, PADDING)[:, None].astype(np.float32), "phoneme": one_hot}
