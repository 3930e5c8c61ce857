"""What models/koegumi.vvm is worth, in figures: `make bench-voice`; with `--check` it fails where one is not met.

Against the teacher: the test sentences of models/build/split.json, spoken by Kokoro (made anew where they are not in
the build folder), and never seen in training. Left out are frames where the teacher is 40 dB below its loud frames, and
those that `frames_data.ignored` names: vowels with a pitch where the teacher is silent, or unvoiced inside them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from models.build.analysis import SILENT_DB, analyse
from models.build.frames_data import Utterance, load
from models.build.prosody import utterances as prosody
from models.build.speech import jobs, make
from models.build.teacher import Teacher
from numpy.typing import NDArray

from bench.report import this_machine
from bench.voice_measures import cents, decibels, distortion, pitch, resampled
from bench.voice_model import FIRST_SONG, FIRST_TALK, ROOT, VOICES, Voice
from bench.voice_picture import draw
from bench.voice_server import served
from koegumi.schema.plain import AudioQuery
from koegumi.text.front_end import FrontEnd
from koegumi.voices.timeline import timeline
from koegumi.voices.vvm.features import frames_of

OUT = Path(__file__).parent / "out"
HELD = {"a": 7, "i": 21, "u": 40, "e": 14, "o": 30, "N": 4}
PAD = 10
POINTS, VOICED = 72, 75  # columns of the features
Floats = NDArray[np.float64]


@dataclass
class Figures:
    """Lines as they are found out; `missed` are those beyond their limit."""

    missed: list[str] = field(default_factory=list)

    def add(self, name: str, value: float, unit: str, limit: float | None = None, *, least: bool = False) -> None:
        met = limit is None or (value >= limit if least else value <= limit)
        aim = "" if limit is None else f"  ({'at least' if least else 'at most'} {limit:g}{'' if met else ', NOT MET'})"
        print(f"{name:58} {value:9.3f} {unit}{aim}", flush=True)
        if not met:
            self.missed.append(name)


def against_teacher(voice: Voice, speech: Path, figures: Figures) -> None:
    utterances = load(speech, "test")
    by_voice: dict[int, list[float]] = {number: [] for number in range(VOICES)}
    as_predicted: list[Floats] = []
    copied: list[Floats] = []
    loudest: list[float] = []
    wrong = network_wrong = kept = left_out = loud = 0
    for each in utterances:
        wave, spec = _imitated(voice, each)
        heard = analyse(wave)
        loudest.append(_loudest(wave, each.labels == 0))
        keep = (each.level > SILENT_DB) & ~each.ignored
        with np.load(speech / f"{each.name}.npz") as data:
            measured = data["measured"]
            if each.name.startswith("test-0000"):
                draw(OUT / f"{each.name}.png", data["wave"] / 32768, wave, each.labels)
        found = distortion(heard.measured[keep], measured[keep])
        by_voice[each.voice] += found.tolist()
        as_predicted.append(distortion(resampled(spec[keep, :POINTS]), resampled(each.envelope[keep])))
        copied.append(distortion(analyse(_copied(voice, each)).measured[keep], measured[keep]))
        wrong += int(((heard.hertz > 0) != (each.hertz > 0))[keep].sum())
        network_wrong += int(((spec[:, VOICED] > 0) != (each.hertz > 0))[keep].sum())
        kept += int(keep.sum())
        loud += int((each.level > SILENT_DB).sum())
        left_out += int(((each.level > SILENT_DB) & each.ignored).sum())
    everything = np.concatenate([np.array(values) for values in by_voice.values()])
    print(f"{len(utterances)} utterances, {kept} frames, {left_out / loud:.1%} of those that sound left out")
    figures.add(
        "mel-cepstral distortion of the envelopes predicted", float(np.concatenate(as_predicted).mean()), "dB", 3.8
    )
    figures.add("  their median", float(np.median(np.concatenate(as_predicted))), "dB")
    figures.add("  of the sound, analysed again", float(everything.mean()), "dB")
    figures.add("  copy synthesis, analysed again", float(np.concatenate(copied).mean()), "dB")
    for number, values in by_voice.items():
        figures.add(f"  voice {FIRST_TALK + number}", float(np.mean(values)), "dB")
    figures.add("voiced/unvoiced error, in the sound", 100 * wrong / kept, "%", 7)
    figures.add("  as the network decides", 100 * network_wrong / kept, "%")
    figures.add("loudest frame in a pause of the teacher's labels", max(loudest), "dB", -40)


def _imitated(voice: Voice, each: Utterance) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The teacher's phonemes and the pitches that it was asked for, by our decoder; its features too."""
    pitches = np.where(each.pitch > 0, np.log(np.maximum(each.pitch, 1)), 0).astype(np.float32)
    return voice.decode(each.labels, pitches, each.voice), voice.features(each.labels, pitches, each.voice)


def _copied(voice: Voice, each: Utterance) -> NDArray[np.float32]:
    """The teacher's own features through our source and filter: what is lost without any network."""
    spec = voice.features(each.labels, np.log(np.maximum(each.hertz, 1)).astype(np.float32), each.voice)
    spec[:, :POINTS], spec[:, POINTS : POINTS + 3], spec[:, VOICED] = each.envelope, each.aperiodicity, each.hertz > 0
    wave: NDArray[np.float32] = voice.run("vocoder", spec=spec)
    return wave


def lengths_and_pitches(voice: Voice, rows: list[dict[str, Any]], figures: Figures) -> None:
    errors: list[Floats] = []
    totals: list[float] = []
    offsets: list[Floats] = []
    right = steps = 0
    for row in rows:
        phonemes, wanted = np.array(row["phoneme"], np.int64), np.array(row["length"])
        found = voice.lengths(phonemes, row["voice"])
        errors.append(np.abs(found - wanted))
        spoken = phonemes > 0
        totals.append(abs(found[spoken].sum() / wanted[spoken].sum() - 1))
        pitches, asked = voice.pitches(row), np.array(row["pitch"])
        for phrase in _phrases(row):
            voiced = phrase[asked[phrase] > 0]
            if voiced.size == 0:
                continue
            distance = pitches[voiced] - asked[voiced]
            offsets.append(np.abs(distance - distance.mean()))
            big = np.abs(np.diff(asked[voiced])) > 0.05
            steps += int(big.sum())
            right += int((np.sign(np.diff(pitches[voiced])) == np.sign(np.diff(asked[voiced])))[big].sum())
    print(f"{len(rows)} utterances, {steps} accent steps")
    figures.add("length of a phoneme, mean error", 1000 * float(np.concatenate(errors).mean()), "ms", 12)
    figures.add("length of an utterance's speech, mean error", 100 * float(np.mean(totals)), "%", 5)
    figures.add(
        "pitch without a phrase's mean, mean error", 1731.2 * float(np.concatenate(offsets).mean()), "cents", 50
    )
    figures.add("accent steps in the right direction", 100 * right / steps, "%", 97, least=True)


def _phrases(row: dict[str, Any]) -> Iterator[NDArray[np.int64]]:
    firsts = np.flatnonzero(row["first"])
    for start, stop in zip(firsts, [*firsts[1:], len(row["first"])], strict=True):
        inside = np.arange(start, stop)
        yield inside[np.array(row["vowel"])[inside] > 0]


def sweep(voice: Voice, figures: Figures) -> None:
    count = 300
    curve = np.linspace(np.log(80), np.log(500), count)
    found: list[Floats] = []
    lost: list[float] = []
    for number in range(VOICES):
        for phoneme in HELD.values():
            wave = voice.decode(*_held(phoneme, curve), number)
            seconds, hertz = pitch(wave)
            inside = (seconds > (PAD + 5) * 256 / 24000) & (seconds < (PAD + count - 5) * 256 / 24000)
            wanted = np.exp(np.interp(seconds, (np.arange(count) + PAD + 0.5) * 256 / 24000, curve))
            voiced = inside & (hertz > 0)
            found.append(cents(hertz[voiced], wanted[voiced]))
            lost.append(1 - voiced.sum() / inside.sum())
    everything = np.concatenate(found)
    figures.add("sweep 80 to 500 Hz, median error", float(np.median(everything)), "cents", 3)
    figures.add("  95th percentile", float(np.percentile(everything, 95)), "cents", 10)
    figures.add("  frames lost, of the worst vowel and voice", 100 * float(np.max(lost)), "%", 1)


def notes(voice: Voice, figures: Figures) -> None:
    worst, voiced = 0.0, []
    for number in range(VOICES):
        for phoneme in HELD.values():
            for hertz in (110.0, 165.0, 220.0, 330.0, 440.0):
                for frames in (47, 94):
                    wave = voice.decode(*_held(phoneme, np.full(frames, np.log(hertz))), number)
                    seconds, heard = pitch(wave)
                    place = (seconds * 24000 / 256 - PAD) / frames
                    middle = heard[(place > 0.25) & (place < 0.75)]
                    voiced.append((middle > 0).mean())
                    if (middle > 0).any():
                        worst = max(worst, float(cents(middle[middle > 0], hertz).mean()))
    figures.add("notes of 0.5 and 1 s, middle half, worst mean error", worst, "cents", 5)
    figures.add("  voiced", 100 * float(np.mean(voiced)), "%", 99, least=True)


def _held(phoneme: int, curve: Floats) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    labels = np.pad(np.full(len(curve), phoneme), PAD)
    return labels, np.pad(curve, PAD).astype(np.float32)


def gaps(voice: Voice, texts: list[str], figures: Figures) -> None:
    """Pauses of the AudioQuery."""
    front_end = FrontEnd()
    loudest: list[float] = []
    for text in texts:
        for number in range(VOICES):
            query = AudioQuery(voice.query.mora_data(front_end.accent_phrases(text), FIRST_TALK + number))
            silent = frames_of(timeline(query, True)).phonemes == 0
            loudest.append(_loudest(voice.say(query, FIRST_TALK + number), silent))
    figures.add(f"loudest frame in a pause of {len(loudest)} utterances", max(loudest), "dB", -40)
    figures.add("  95th percentile of utterances", float(np.percentile(loudest, 95)), "dB")


def _loudest(wave: NDArray[np.float32], silent: NDArray[np.bool_]) -> float:
    """dB of the loudest of the silent frames whose neighbours are silent too."""
    inner = silent & np.roll(silent, 1) & np.roll(silent, -1)
    inner[[0, -1]] = silent[[0, -1]]
    return float(decibels(wave)[inner].max())


def same_bits(voice: Voice, path: Path, each: Utterance, figures: Figures) -> None:
    one = _imitated(voice, each)[0]
    again, two = _imitated(voice, each)[0], _imitated(Voice(path, threads=2), each)[0]
    differ = int((one != again).sum()) + int((one != two).sum())
    figures.add("samples that differ between runs, and with 2 threads", differ, "", 0)


def streaming(voice: Voice, utterances: list[Utterance], figures: Figures) -> None:
    worst = -200.0
    for each in utterances[:10]:
        whole = _imitated(voice, each)[0]
        for frames in (23, 47, 94, 188):
            joined = voice.streamed(
                each.labels, np.log(np.maximum(each.pitch, 1)).astype(np.float32), each.voice, frames
            )
            error = np.abs(joined - whole).max() / np.abs(whole).max()
            worst = max(worst, 20 * np.log10(error + 1e-10))
    figures.add("segments of 0.25 to 2 s, joined, against the whole", worst, "dB", -60)


def speed(voice: Voice, utterances: list[Utterance], figures: Figures) -> None:
    taken = sound = 0.0
    for each in utterances[:30]:
        pitches = np.where(each.pitch > 0, np.log(np.maximum(each.pitch, 1)), 0).astype(np.float32)
        started = time.perf_counter()
        taken_wave = voice.decode(each.labels, pitches, each.voice)
        taken += time.perf_counter() - started
        sound += len(taken_wave) / 24000
    figures.add("real-time factor of decode, one thread", taken / sound, "", 0.02)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--voice", type=Path, default=ROOT / "models" / "koegumi.vvm")
    parser.add_argument("--build", type=Path, default=ROOT / "models" / "out")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    print(this_machine())
    figures = Figures()
    figures.add("size of the file", arguments.voice.stat().st_size / 1e6, "MB", 10)
    voice = Voice(arguments.voice)
    speech = arguments.build / "speech"
    make(speech, jobs(("test",)))
    utterances = load(speech, "test")
    against_teacher(voice, speech, figures)
    rows = [{"voice": number, **row} for _, _, number, row in prosody(Teacher(), parts=("test",))]
    lengths_and_pitches(voice, rows, figures)
    sweep(voice, figures)
    notes(voice, figures)
    texts = json.loads((ROOT / "models" / "build" / "split.json").read_text("utf-8"))["test"]
    gaps(voice, texts, figures)
    same_bits(voice, arguments.voice, utterances[0], figures)
    streaming(voice, utterances, figures)
    speed(voice, utterances, figures)
    served(arguments.voice, ROOT / "tests" / "data" / "sakura.json", FIRST_SONG, FIRST_TALK, VOICES, figures)
    if arguments.check and figures.missed:
        sys.exit(f"not met: {', '.join(figures.missed)}")


if __name__ == "__main__":
    main()
