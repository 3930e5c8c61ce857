"""What a VVM's models get and give: the reference's padding, marks, clamps and frames, and its numbers."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from koegumi.schema.phonemes import IDS
from koegumi.schema.plain import AccentPhrase, AudioQuery, Mora
from koegumi.text.kana import parse_kana
from koegumi.voices.interface import Capability, Device, Places, StreamingSynthesisVoice, VoiceError
from koegumi.voices.timeline import timeline
from koegumi.voices.vvm import query as vvm_query
from koegumi.voices.vvm.family import FAMILY
from koegumi.voices.vvm.features import PADDING, cuts, frames_of, intonation_inputs, phoneme_list
from koegumi.voices.vvm.inspection import VvmFile, inspect, read_vvm
from koegumi.voices.vvm.models import Models
from koegumi.voices.vvm.query import VvmQuery
from koegumi.voices.vvm.signature import Signature
from koegumi.voices.vvm.synthesis import OPERATIONS, SEGMENT, VvmSynthesis
from tests.fakes import CountedRun
from tests.vvm_voice import DECODER, INNER, STREAMING, TALK, TEACHER, character, members, pitch, write_vvm

TEXT = "テ'ストデ_ス、ソ'オ？"


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    folder = tmp_path_factory.mktemp("vvm")
    return Places(folder, (write_vvm(folder / "sine.vvm"),))


@pytest.fixture(scope="module")
def query(places: Places) -> VvmQuery:
    return FAMILY.open_query(places, Device())


@pytest.fixture(scope="module")
def synthesis(places: Places) -> VvmSynthesis:
    return FAMILY.open_synthesis(places, Device())


def test_the_sample_gives_the_numbers_of_the_reference(reference: Path) -> None:
    """4.7: テストです, inner voice 2."""
    file = inspect(reference / "voicevox_sample_vvm").file
    assert file is not None
    voice = VvmQuery(Models([file], vvm_query.OPERATIONS, Device()))
    (phrase,) = voice.mora_data(parse_kana("テ'_ストデ_ス"), 302)
    lengths = [length for mora in phrase.moras for length in (mora.consonant_length, mora.vowel_length)]
    expected = [0.055, 0.094, 0.061, 0.061, 0.071, 0.084, 0.061, 0.081, 0.087, 0.124]
    assert lengths == pytest.approx(expected, abs=0.0006)
    pitches = [mora.pitch for mora in phrase.moras]
    assert [value > 0 for value in pitches] == [True, False, True, True, False]
    assert all(5.35 < value < 5.96 for value in pitches if value)


def test_phonemes_and_marks_are_laid_out_as_in_the_reference() -> None:
    phrases = parse_kana(TEXT)
    names = "pau t e s u t o d e s U pau s o o pau".split()
    assert phoneme_list(phrases).tolist() == [IDS[name] for name in names]
    inputs = {name: numbers.tolist() for name, numbers in intonation_inputs(phrases).items()}
    # pad, te su to de sU, pause, so o, pad
    assert inputs["length"] == 10
    assert inputs["vowel_phoneme_list"] == [IDS[name] for name in "pau e u o e U pau o o pau".split()]
    assert inputs["consonant_phoneme_list"][:3] == [-1, IDS["t"], IDS["s"]]
    assert inputs["consonant_phoneme_list"][6:] == [-1, IDS["s"], -1, -1]
    assert inputs["start_accent_list"] == [0, 1, 0, 0, 0, 0, 0, 1, 0, 0]
    assert inputs["end_accent_list"] == [0, 1, 0, 0, 0, 0, 0, 1, 0, 0]
    assert inputs["start_accent_phrase_list"] == [0, 1, 0, 0, 0, 0, 0, 1, 0, 0]
    assert inputs["end_accent_phrase_list"] == [0, 0, 0, 0, 0, 1, 0, 0, 1, 0]
    (late,) = parse_kana("アイウ'エ")
    assert intonation_inputs([late])["start_accent_list"].tolist() == [0, 0, 1, 0, 0, 0]
    assert intonation_inputs([late])["end_accent_list"].tolist() == [0, 0, 0, 1, 0, 0]


def test_lengths_and_pitches_land_on_their_morae(query: VvmQuery) -> None:
    phrases = query.mora_data(parse_kana(TEXT), TALK)
    first = phrases[0].moras[0]
    assert first.consonant_length == pytest.approx(0.05 + 0.002 * IDS["t"] + 0.01 * INNER, rel=1e-6)
    assert first.vowel_length == pytest.approx(0.05 + 0.002 * IDS["e"] + 0.01 * INNER, rel=1e-6)
    assert first.pitch == pytest.approx(pitch(IDS["e"], IDS["t"], (1, 1, 1, 0), INNER), rel=1e-6)
    assert phrases[0].moras[-1].pitch == 0.0
    pause = phrases[0].pause_mora
    assert pause is not None and pause.vowel_length == pytest.approx(0.05 + 0.01 * INNER) and pause.pitch == 0.0
    assert query.mora_length([], TALK) == query.mora_pitch([], TALK) == []


def _constant(value: float) -> bytes:
    """predict_duration that always gives this, or 0 / 0."""
    import onnx.parser

    text = f"""<ir_version: 8, opset_import: ["" : 17]>
    duration (int64[n] phoneme_list, int64[1] speaker_id) => (float[n] phoneme_length) {{
      number = Cast <to = 1> (phoneme_list)
      nothing = Constant <value_float = 0.0> ()
      zeros = Mul (number, nothing)
      value = Constant <value_float = {value}> ()
      values = Add (zeros, value)
      divisor = Constant <value_float = {1.0 if value else 0.0}> ()
      phoneme_length = Div (values, divisor)
    }}"""
    return bytes(onnx.parser.parse_model(text).SerializeToString())


def test_lengths_are_clamped_and_what_is_no_number_is_refused(tmp_path: Path) -> None:
    for value in (0.001, 0.0):
        files = members(("talk",), (character(0, {TALK: "talk"}),)) | {"predict_duration.onnx": _constant(value)}
        path = write_vvm(tmp_path / f"{value}.vvm", files)
        voice = FAMILY.open_query(Places(tmp_path, (path,)), Device())
        if value:
            (phrase,) = voice.mora_length(parse_kana("テ'"), TALK)
            assert phrase.moras[0].vowel_length == pytest.approx(0.01)
        else:
            with pytest.raises(VoiceError, match="predict_duration gave a number that is none"):
                voice.mora_length(parse_kana("テ'"), TALK)


def test_frames_round_each_phoneme_by_itself_halves_to_even() -> None:
    half = 2.5 / 93.75
    moras = [Mora("テ", "t", half, "e", 3.5 / 93.75, 5.0), Mora("ッ", None, None, "cl", 0.1, 0.0)]
    asked = AudioQuery([AccentPhrase(moras, 1)], pre_phoneme_length=0.1, post_phoneme_length=0.0)
    frames = frames_of(timeline(asked, True))
    assert frames.phonemes.tolist() == [0] * 9 + [IDS["t"]] * 2 + [IDS["e"]] * 4 + [IDS["cl"]] * 9
    assert frames.pitches.tolist() == [0] * 9 + [5.0] * 6 + [0] * 9
    padded = frames.padded()
    assert padded["f0"].shape == (24 + 2 * PADDING, 1) and padded["phoneme"].shape == (24 + 2 * PADDING, 45)
    assert (padded["phoneme"].argmax(1)[[0, PADDING - 1, -1]] == 0).all() and (padded["phoneme"].sum(1) == 1).all()
    assert {array.dtype for array in padded.values()} == {np.dtype(np.float32)}


def test_sound_is_as_long_as_its_frames_and_has_the_pitch_that_is_asked(
    query: VvmQuery, synthesis: VvmSynthesis
) -> None:
    phrases = query.mora_data(parse_kana("ア'ア"), TALK)
    for mora in phrases[0].moras:
        mora.vowel_length, mora.pitch = 1.0, float(np.log(220.0))
    wave = synthesis.synthesis(AudioQuery(phrases), TALK, True, CountedRun())
    assert len(wave) == 256 * (9 + 94 + 94 + 9)
    assert not wave[: 9 * 256].any() and not wave[-9 * 256 :].any()
    middle = wave[20 * 256 :][:24000]
    assert abs(int(np.abs(np.fft.rfft(middle)).argmax()) - 220) <= 1
    assert len(synthesis.synthesis(AudioQuery([]), TALK, True, CountedRun())) == 4608


def test_segments_join_to_the_whole(places: Places, query: VvmQuery) -> None:
    """Over several segments, the pause among them."""
    models = Models([read_vvm(places.voice_paths[0])], OPERATIONS, Device())
    voice = VvmSynthesis(models)
    phrases = query.mora_data(parse_kana(TEXT), STREAMING)
    for phrase in phrases:
        for mora in phrase.moras:
            mora.vowel_length = 3.0
    asked = AudioQuery(phrases)
    frames = frames_of(timeline(asked, True))
    assert len(frames) > 2 * SEGMENT
    whole = voice.synthesis(asked, STREAMING, True, CountedRun())
    state = voice.intermediate(frames, STREAMING, CountedRun())
    assert len(state) == len(frames) + 28
    bounds = [0, 47, 190, 191, 700, len(frames)]
    parts = [voice.render(state, start, stop, STREAMING, CountedRun()) for start, stop in pairwise(bounds)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("seconds", [0.25, 2.0])
def test_a_voice_that_streams_gives_its_sound_piece_by_piece(
    query: VvmQuery, synthesis: VvmSynthesis, seconds: float
) -> None:
    """Style `TALK` has a whole decoder beside it, and its frames are cut in the pause."""
    voice: StreamingSynthesisVoice = synthesis
    phrases = query.mora_data(parse_kana(TEXT), TALK)
    for phrase in phrases:
        for mora in phrase.moras:
            mora.vowel_length = 7.0
    asked, run = AudioQuery(phrases), CountedRun()
    segments = voice.segments(asked, TALK, True, seconds, run)
    first = next(segments)
    asked_for_one = run.checks
    parts = [first, *segments]
    assert max(map(len, parts)) <= seconds * voice.sampling_rate
    assert asked_for_one <= 2 and run.checks >= len(parts)
    np.testing.assert_allclose(np.concatenate(parts), voice.synthesis(asked, TALK, True, run), atol=1e-6)


def test_what_does_not_stream_says_so(tmp_path: Path, places: Places, synthesis: VvmSynthesis) -> None:
    files = members(("talk",), (character(0, {TALK: "talk"}),))
    whole = Places(tmp_path, (write_vvm(tmp_path / "talk.vvm", files),))
    for voice, style_id in ((FAMILY.open_synthesis(whole, Device()), TALK), (synthesis, DECODER)):
        with pytest.raises(VoiceError, match="does not stream"):
            voice.segments(AudioQuery([]), style_id, True, 1.0, CountedRun())
    assert [Capability.STREAMING in speaker.capabilities for speaker in FAMILY.find(whole)] == [False]
    assert [Capability.STREAMING in speaker.capabilities for speaker in FAMILY.find(places)] == [True, True]


def test_a_style_that_only_streams_speaks_by_segments(tmp_path: Path, query: VvmQuery, synthesis: VvmSynthesis) -> None:
    files = members(("streaming_talk",), (character(0, {STREAMING: "streaming_talk"}),))
    alone = Places(tmp_path, (write_vvm(tmp_path / "stream.vvm", files),))
    phrases = query.mora_data(parse_kana(TEXT), STREAMING)
    assert FAMILY.open_query(alone, Device()).mora_data(parse_kana(TEXT), STREAMING) == phrases
    run = CountedRun()
    sound = FAMILY.open_synthesis(alone, Device()).synthesis(AudioQuery(phrases), STREAMING, True, run)
    np.testing.assert_array_equal(sound, synthesis.synthesis(AudioQuery(phrases), STREAMING, True, CountedRun()))
    assert run.checks >= 2


def test_songs_have_their_rows(query: VvmQuery, synthesis: VvmSynthesis) -> None:
    numbers = np.array([-1, 23, -1])
    assert query.sing_consonant_lengths(numbers, np.array([0, 7, 0]), np.array([9, 60, 9]), TEACHER).tolist() == [
        0,
        5,
        0,
    ]
    keys = np.repeat([-1, 69, -1], [10, 100, 10])
    phonemes = np.repeat([0, 7, 0], [10, 100, 10])
    f0 = query.sing_f0(phonemes, keys, TEACHER)
    volume = query.sing_volume(phonemes, keys, f0, TEACHER)
    assert f0[50] == pytest.approx(440.0) and f0[0] == 0 and volume[50] == 0.5
    wave = synthesis.sing(phonemes, f0, volume, DECODER, CountedRun())
    assert len(wave) == 120 * 256
    assert abs(int(np.abs(np.fft.rfft(wave[15 * 256 :][:24000])).argmax()) - 440) <= 1
    nothing = np.zeros(0, np.int64)
    assert (
        len(query.sing_f0(nothing, nothing, TEACHER))
        == len(synthesis.sing(nothing, f0[:0], f0[:0], DECODER, CountedRun()))
        == 0
    )


def test_what_a_style_cannot_do_is_said(synthesis: VvmSynthesis) -> None:
    with pytest.raises(VoiceError, match="sings, and does not talk"):
        synthesis.synthesis(AudioQuery([]), DECODER, True, CountedRun())
    long = AudioQuery([], pre_phoneme_length=1000.0)
    with pytest.raises(VoiceError, match="too long"):
        synthesis.synthesis(long, TALK, True, CountedRun())


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 60)), max_size=30), st.integers(1, 200))
def test_long_sound_is_cut_in_silences_only(runs: list[tuple[bool, int]], longest: int) -> None:
    silent: NDArray[np.bool_] = np.repeat([value for value, _ in runs], [length for _, length in runs]).astype(bool)
    bounds = cuts(silent, longest, 8)
    assert bounds[0] == 0 and bounds[-1] == len(silent) and bounds == sorted(bounds)
    for cut in bounds[1:-1]:
        assert silent[cut - 4 : cut + 4].all()
    if len(silent) <= longest:
        assert bounds == [0, len(silent)]


def test_models_open_at_first_use_once_and_close_when_idle(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    from koegumi.voices.vvm import models

    opened: list[str] = []
    real = models.open_model

    def noted(file: VvmFile, filename: str, wanted: Signature, device: Device) -> Any:
        opened.append(filename)
        return real(file, filename, wanted, device)

    monkeypatch.setattr(models, "open_model", noted)
    now = [0.0]
    voice = VvmQuery(Models([read_vvm(places.voice_paths[0])], vvm_query.OPERATIONS, Device(), lambda: now[0]))
    assert opened == [] and not voice.is_loaded(TALK) and voice.is_loaded(DECODER)
    assert voice.close_idle(10.0) is None
    for _ in range(5):
        voice.mora_data(parse_kana("ア'"), TALK)
    assert opened == ["predict_duration.onnx", "predict_intonation.onnx"]
    # The same members, so they are the same models.
    assert voice.is_loaded(TALK) and voice.is_loaded(STREAMING) and not voice.is_loaded(TEACHER)
    now[0] = 4.0
    voice.mora_pitch(parse_kana("ア'"), TALK)
    assert voice.close_idle(10.0) == 6.0
    now[0] = 11.0
    assert voice.close_idle(10.0) == 3.0 and not voice.is_loaded(TALK)
    voice.load(TALK)
    assert opened[2:] == ["predict_duration.onnx"] and voice.is_loaded(TALK)
