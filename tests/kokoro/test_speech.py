"""Accents, questions, tiny and long texts: measured on the sound."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import msgspec
import numpy as np
import pytest

from koegumi.schema.plain import AccentPhrase, AudioQuery
from koegumi.text.kana import parse_kana
from koegumi.voices.interface import Cancelled, Places, VoiceError
from koegumi.voices.kokoro import pieces
from tests.fakes import CountedRun
from tests.kokoro.sound import ALPHA, KUMO, RATE, Voices, edited, f0, moras, pitch_in, seconds, vowels
from tests.unit.kokoro_morae import KANA, mora


@pytest.mark.parametrize("style_id", [ALPHA, KUMO])
def test_chopsticks_bridge_and_edge(voices: Voices, style_id: int) -> None:
    """箸, 橋 and 端, each with オ behind."""
    heights = {}
    for word, kana in (("箸", "ハ'シオ"), ("橋", "ハシ'オ"), ("端", "ハシオ'")):
        query = voices.query(f"{kana}/ミ'ル", style_id)
        wave = voices.say(query, style_id)
        heights[word] = [pitch_in(wave, start, stop) for start, stop in (vowels(query)[0], vowels(query)[2])]
        first, middle, last = (mora.pitch for mora in moras(query)[:3])
        assert (first > middle, middle > last + 0.1) == (word == "箸", word == "橋")
    (high, fallen), (low, after), (start, stay) = heights["箸"], heights["橋"], heights["端"]
    assert high > fallen + 0.15, "箸 starts high and falls"
    assert high > low + 0.1, "橋 starts low"
    assert stay > start + 0.1, "端 rises and stays"
    assert stay > after + 0.1, "橋 falls after シ"


def test_a_question_rises(voices: Voices) -> None:
    query = voices.query("デ'スカ？")
    rising, plain = voices.say(query, upspeak=True), voices.say(query, upspeak=False)
    assert seconds(rising) - seconds(plain) == pytest.approx(0.15, abs=0.025)
    end = seconds(rising) - query.post_phoneme_length
    assert pitch_in(rising, end - 0.15, end) > pitch_in(rising, end - 0.35, end - 0.2) + 0.1
    end = seconds(plain) - query.post_phoneme_length
    assert pitch_in(plain, end - 0.1, end) < pitch_in(plain, end - 0.25, end - 0.1) + 0.02


@pytest.mark.parametrize("kana", ["ア'ッ", "オ'ッ", "ハ'、ハメツ'", "ン'"])
def test_tiny_phrases_are_audible(voices: Voices, kana: str) -> None:
    wave = voices.say(voices.query(kana))
    _, hertz = f0(wave)
    assert np.abs(wave).max() > 0.1
    assert (hertz > 0).sum() > 8


def test_no_phrases_are_silence(voices: Voices) -> None:
    wave = voices.say(AudioQuery([], pre_phoneme_length=0.25, post_phoneme_length=0.5))
    assert len(wave) == 18000
    assert not wave.any()


def test_every_mora_gets_lengths_and_pitch(voices: Voices) -> None:
    names = list(KANA)
    phrases = [AccentPhrase([mora(name) for name in names[at : at + 20]], 1) for at in range(0, len(names), 20)]
    filled = [mora for phrase in voices.query_voice.mora_data(phrases, ALPHA) for mora in phrase.moras]
    assert len(filled) == len(KANA)
    for each in filled:
        assert 0.025 <= each.vowel_length < 1.0, each
        assert each.consonant_length is None or 0.025 <= each.consonant_length < 0.6, each
        assert each.pitch == 0.0 if each.vowel == "cl" else 4.5 < each.pitch < 6.5, each


def test_length_then_pitch_is_both(voices: Voices) -> None:
    phrases = parse_kana("コンニチワ'、オゲ'ンキデ_スカ？")
    before = msgspec.json.encode(phrases)
    query = voices.query_voice
    both = query.mora_data(phrases, ALPHA)
    assert query.mora_pitch(query.mora_length(phrases, ALPHA), ALPHA) == both
    assert query.mora_length(query.mora_pitch(phrases, ALPHA), ALPHA) == both
    assert msgspec.json.encode(phrases) == before
    long = edited(AudioQuery(both))
    for each in moras(long):
        each.vowel_length, each.pitch = 9.0, 1.0
    again = query.mora_pitch(long.accent_phrases, ALPHA)
    assert [each.pitch for each in moras(AudioQuery(again))] == [each.pitch for each in moras(AudioQuery(both))]


def test_pieces_join_without_a_click(voices: Voices, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "MAX_MORAS", 8)
    query = voices.query("アオ'イ/ウ'ミオ/ナガメ'ナガラ/アルキマ'シタ")
    run = CountedRun()
    wave = voices.synthesis_voice.synthesis(query, ALPHA, True, run)
    assert run.checks == 3
    assert seconds(wave) == pytest.approx(vowels(query)[-1][1] + 0.1, abs=0.025)
    # At a click the signal jumps: the second difference there stands out of its surroundings.
    jumps = np.abs(np.diff(wave, 2))
    for at in (vowels(query)[5][1], vowels(query)[10][1]):
        sample = round(at * RATE)
        assert jumps[sample - 60 : sample + 60].max() < np.percentile(jumps[jumps > 0], 99)


def test_a_cancelled_run_stops_between_pieces(voices: Voices, monkeypatch: pytest.MonkeyPatch) -> None:
    class Impatient(CountedRun):
        def check(self) -> None:
            raise Cancelled

    with pytest.raises(Cancelled):
        voices.synthesis_voice.synthesis(voices.query("ア'ッ"), ALPHA, True, Impatient())


def test_what_cannot_be_held_is_refused(voices: Voices) -> None:
    query = voices.query("ア'、イ'")
    long_vowel, long_pause = edited(query), edited(query, pause_length=1e6)
    moras(long_vowel)[0].vowel_length = 60.0
    for refused in (long_vowel, long_pause):
        with pytest.raises(VoiceError, match="too long"):
            voices.say(refused)


SPEAK = """
import hashlib, pathlib, sys
from koegumi.voices.interface import Device, Places
from koegumi.voices.kokoro import FAMILY
from tests.fakes import CountedRun
from tests.kokoro.sound import Voices
places = Places(pathlib.Path(sys.argv[1]))
voices = Voices(FAMILY.open_query(places, Device()), FAMILY.open_synthesis(places, Device()))
print(hashlib.sha256(voices.say(voices.query("ハ'イ、ソ'オ")).tobytes()).hexdigest())
"""


def test_the_same_bytes_in_every_run_and_process(voices: Voices, places: Places) -> None:
    query = voices.query("ハ'イ、ソ'オ")
    wave = voices.synthesis_voice.synthesis(query, ALPHA, True, CountedRun())
    voices.say(voices.query("ア'ッ"))
    assert (voices.synthesis_voice.synthesis(query, ALPHA, True, CountedRun()) == wave).all()
    environment = {**os.environ, "ORT_DISABLE_TELEMETRY": "1", "PYTHONPATH": os.getcwd()}
    command = [sys.executable, "-c", SPEAK, str(places.cache_dir)]
    other = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    assert other.stdout.strip() == hashlib.sha256(wave.tobytes()).hexdigest()


def test_opening_writes_nothing(places: Places, voices: Voices) -> None:
    from koegumi.voices.kokoro import FAMILY

    folder = places.cache_dir / "kokoro"
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    speakers = FAMILY.find(places)
    FAMILY.prepare(places, "cpu", print)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
    assert [style.id for speaker in speakers for style in speaker.styles] == [1, 2, 3, 4, 5]
    for speaker in speakers:
        assert "Apache License 2.0" in speaker.policy
        assert "MIT License" in speaker.policy
        assert speaker.portrait.read_bytes().startswith(b"\x89PNG")
        for style in speaker.styles:
            assert style.files.icon.read_bytes().startswith(b"\x89PNG")
            assert [sample.read_bytes()[:4] for sample in style.files.samples] == [b"RIFF"] * 3
