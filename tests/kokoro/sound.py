"""Kokoro without a server, and measures of its sound."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import pyworld
from numpy.typing import NDArray

from koegumi.schema.plain import AccentPhrase, AudioQuery, Mora
from koegumi.text.kana import parse_kana
from koegumi.voices.interface import QueryVoice, SynthesisVoice
from tests.fakes import CountedRun

RATE = 24000
UNIT = 0.025
ALPHA, KUMO = 1, 5

Samples = NDArray[np.float32]


@dataclass
class Voices:
    """Both sides of the family; each query is rendered once."""

    query_voice: QueryVoice
    synthesis_voice: SynthesisVoice
    _rendered: dict[tuple[bytes, int, bool], Samples] = field(default_factory=dict)

    def query(self, kana: str, style_id: int = ALPHA, **fields: Any) -> AudioQuery:
        phrases = self.query_voice.mora_data(parse_kana(kana), style_id)
        return msgspec.structs.replace(AudioQuery(phrases), **fields)

    def say(self, query: AudioQuery, style_id: int = ALPHA, upspeak: bool = True) -> Samples:
        key = (msgspec.msgpack.encode(query), style_id, upspeak)
        if key not in self._rendered:
            self._rendered[key] = self.synthesis_voice.synthesis(query, style_id, upspeak, CountedRun())
            assert msgspec.msgpack.encode(query) == key[0], "a query is never changed"
        return self._rendered[key]


def edited(query: AudioQuery, **fields: Any) -> AudioQuery:
    """A deep copy, with fields replaced."""
    copy = msgspec.msgpack.decode(msgspec.msgpack.encode(query), type=AudioQuery)
    return msgspec.structs.replace(copy, **fields)


def moras(query: AudioQuery) -> list[Mora]:
    return [mora for phrase in query.accent_phrases for mora in phrase.moras]


def vowels(query: AudioQuery) -> list[tuple[float, float]]:
    """Seconds at which the vowel of each mora begins and ends, for an AudioQuery without scales."""
    spans: list[tuple[float, float]] = []
    time = query.pre_phoneme_length
    for phrase in query.accent_phrases:
        for mora in phrase.moras:
            start = time + (mora.consonant_length or 0.0)
            time = start + mora.vowel_length
            spans.append((start, time))
        time += pause_of(phrase)
    return spans


def pause_of(phrase: AccentPhrase) -> float:
    return 0.0 if phrase.pause_mora is None else phrase.pause_mora.vowel_length


def seconds(wave: Samples) -> float:
    return len(wave) / RATE


def f0(wave: Samples) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times and Hz every 5 ms; 0 is unvoiced."""
    return _f0(wave.tobytes())


@functools.cache
def _f0(wave: bytes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    samples = np.frombuffer(wave, np.float32).astype(np.float64)
    hertz, times = pyworld.harvest(samples, RATE, f0_floor=50.0, f0_ceil=700.0)
    return times, hertz


def pitch_in(wave: Samples, start: float, stop: float) -> float:
    """Median ln Hz of the voiced frames of a span."""
    times, hertz = f0(wave)
    inside = hertz[(times >= start) & (times < stop) & (hertz > 0)]
    assert inside.size, "nothing voiced there"
    return float(np.median(np.log(inside)))


def heard(wave: Samples) -> tuple[float, float]:
    """Seconds at which sound within 25 dB of the loudest begins and ends."""
    step = RATE // 200
    blocks = wave[: len(wave) // step * step].reshape(-1, step)
    level = np.sqrt((blocks**2).mean(axis=1))
    loud = np.flatnonzero(level > level.max() * 10 ** (-25 / 20))
    return float(loud[0]) / 200, float(loud[-1] + 1) / 200


def loudness(wave: Samples) -> float:
    """dB over all of it."""
    return float(10 * np.log10((wave.astype(np.float64) ** 2).mean()))
