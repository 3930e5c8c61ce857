"""The voice that we ship, as it lies in models/: what it is, and that its sound keeps what docs/voice.md promises.

KOEGUMI_VOICE_FILE names another one, made by the same build.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path

import numpy as np
import onnx
import onnx.numpy_helper
import pytest
from PIL import Image

from bench.voice_measures import cents, decibels, pitch
from bench.voice_model import FIRST_SONG, FIRST_TALK, MARGIN, PADDING, VOICES, Voice
from koegumi.schema.phonemes import IDS
from koegumi.schema.plain import AudioQuery
from koegumi.text.kana import parse_kana
from koegumi.voices.interface import Capability, Places
from koegumi.voices.timeline import timeline
from koegumi.voices.vvm import FAMILY
from koegumi.voices.vvm.features import frames_of
from koegumi.voices.vvm.inspection import inspect

ROOT = Path(__file__).parents[2]
FILE = Path(os.environ.get("KOEGUMI_VOICE_FILE", ROOT / "models" / "koegumi.vvm"))
RATE, HOP = 24000, 256


@pytest.fixture(scope="module")
def voice() -> Voice:
    return Voice(FILE)


def held(phoneme: str, hertz: float, frames: int = 60) -> tuple[np.ndarray, np.ndarray]:
    labels = np.pad(np.full(frames, IDS[phoneme]), 10)
    return labels, np.where(labels > 0, np.log(hertz), 0).astype(np.float32)


def test_it_is_small_and_every_model_is_as_the_reference_has_it() -> None:
    assert FILE.stat().st_size <= 10_000_000
    found = inspect(FILE)
    assert found.complaints == ()
    assert {model.domain for model in found.models} == {"talk", "streaming_talk", "singing_teacher", "frame_decode"}
    with zipfile.ZipFile(FILE) as archive:
        for name in archive.namelist():
            if name.endswith(".onnx"):
                model = onnx.load_from_string(archive.read(name))
                assert {domain.domain: domain.version for domain in model.opset_import} == {"": 17}, name
                assert not {node.op_type for node in model.graph.node} & {"RandomNormal", "RandomNormalLike"}


def test_it_talks_and_sings_and_says_what_it_is_made_of() -> None:
    speakers = FAMILY.find(Places(FILE.parent, (FILE,)))
    talk = [style.id for speaker in speakers for style in speaker.styles if style.type == "talk"]
    song = [style.id for speaker in speakers for style in speaker.styles if style.type == "sing"]
    assert talk == list(range(FIRST_TALK, FIRST_TALK + VOICES))
    assert song == list(range(FIRST_SONG, FIRST_SONG + VOICES))
    for speaker in speakers:
        assert {Capability.TALK_QUERY, Capability.TALK_SYNTHESIS, Capability.SONG} <= speaker.capabilities
        for name in ("Kokoro", "Apache License 2.0", "koniwa", "MIT"):
            assert name in speaker.policy
        assert Image.open(io.BytesIO(speaker.portrait.read_bytes())).size == (500, 700)
        files = next(style.files for style in speaker.styles if style.type == "talk")
        assert len(files.samples) == 3 and all(sample.read_bytes()[:4] == b"RIFF" for sample in files.samples)
    with zipfile.ZipFile(FILE) as archive:
        assert b"Apache License" in archive.read("LICENSE")


def test_the_same_bits_on_one_thread_and_on_two(voice: Voice) -> None:
    labels, pitches = held("a", 220)
    one = voice.decode(labels, pitches, 0)
    assert np.array_equal(one, voice.decode(labels, pitches, 0))
    assert np.array_equal(one, Voice(FILE, threads=2).decode(labels, pitches, 0))


@pytest.mark.parametrize("number", range(VOICES))
def test_every_voice_holds_a_pitch_where_it_is_asked(voice: Voice, number: int) -> None:
    for phoneme, hertz in (("a", 80), ("i", 160), ("u", 250), ("e", 350), ("o", 500), ("N", 200)):
        wave = voice.decode(*held(phoneme, hertz), number)
        seconds, heard = pitch(wave)
        middle = heard[(seconds > 25 * HOP / RATE) & (seconds < 55 * HOP / RATE)]
        assert (middle > 0).all(), (phoneme, hertz)
        assert cents(middle, hertz).max() < 10, (phoneme, hertz)


def test_nothing_sounds_in_a_pause(voice: Voice) -> None:
    phrases = voice.query.mora_data(parse_kana("コンニチワ'、ゲ'ンキデスカ？"), FIRST_TALK)
    pause = phrases[0].pause_mora
    assert pause is not None
    pause.vowel_length = 0.5
    query = AudioQuery(phrases, pre_phoneme_length=0.2)
    silent = frames_of(timeline(query, True)).phonemes == 0
    level = decibels(voice.say(query, FIRST_TALK))
    for depth, limit in ((2, -40), (4, -100)):
        inside = np.array([silent[max(i - depth, 0) : i + depth + 1].all() for i in range(len(silent))])
        assert inside.sum() > 40
        assert level[inside].max() < limit
    assert level[~silent].max() > -1


def test_segments_join_to_the_whole(voice: Voice) -> None:
    labels = np.repeat([0, IDS["k"], IDS["o"], IDS["e"], 0, IDS["sh"], IDS["i"], 0], [8, 7, 12, 15, 9, 9, 14, 8])
    pitches = np.where(labels > 0, 5.4, 0).astype(np.float32)
    whole = voice.decode(labels, pitches, 2)
    for frames in (1, 23, 50):
        joined = voice.streamed(labels, pitches, 2, frames)
        assert np.abs(joined - whole).max() < 1e-3 * np.abs(whole).max()
    assert MARGIN < PADDING


def test_a_song_has_the_pitches_and_the_volumes_that_are_asked_for(voice: Voice) -> None:
    score = json.loads((ROOT / "tests" / "data" / "sakura.json").read_text("utf-8"))["notes"][:3]
    keys = np.repeat([-1 if note["key"] is None else note["key"] for note in score], [n["frame_length"] for n in score])
    phonemes = np.where(keys >= 0, IDS["a"], 0)
    f0 = voice.query.sing_f0(phonemes, keys, FIRST_SONG)
    volume = voice.query.sing_volume(phonemes, keys, f0, FIRST_SONG)
    assert (f0[keys < 0] == 0).all() and (volume[keys < 0] == 0).all()
    speaker = np.array([0])
    rows = {"frame_phonemes": phonemes[None], "frame_f0s": f0[None], "speaker_id": speaker}
    wave = voice.run("sf_decode", frame_volumes=volume[None], **rows)
    assert wave.shape == (1, HOP * len(keys))
    seconds, heard = pitch(wave[0])
    middle = (seconds * RATE / HOP > 60) & (seconds * RATE / HOP < 80)
    assert cents(heard[middle], 440.0).max() < 30
    louder = voice.run("sf_decode", frame_volumes=2 * volume[None], **rows)
    np.testing.assert_allclose(louder, 2 * wave, atol=2e-3)
    lengths = voice.query.sing_consonant_lengths(
        np.array([-1, IDS["s"], IDS["k"]]), np.array([0, IDS["a"], IDS["u"]]), np.array([30, 10, 60]), FIRST_SONG
    )
    assert lengths[0] == 0 and 1 <= lengths[1] <= 15 and 1 <= lengths[2] <= 5


def test_the_noise_has_no_period_and_no_colour() -> None:
    with zipfile.ZipFile(FILE) as archive:
        name = next(name for name in archive.namelist() if name.endswith("vocoder.onnx"))
        graph = onnx.load_from_string(archive.read(name)).graph
    table = next(onnx.numpy_helper.to_array(each) for each in graph.initializer if each.name == "noise")
    noise = table.reshape(-1).astype(np.float64)
    power = np.abs(np.fft.rfft(noise)) ** 2
    echoes = np.fft.irfft(power)
    assert np.abs(echoes[8 : len(noise) // 2]).max() < 0.03 * echoes[0]
    bands = 10 * np.log10(power[1:].reshape(64, -1).mean(1) / power.mean())
    assert np.abs(bands).max() < 1
