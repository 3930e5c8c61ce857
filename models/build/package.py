"""Models, words, pictures and samples to one VVM: `python -m models.build.package ONNX TARGET`."""

from __future__ import annotations

import json
import os
import sys
import uuid
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from koegumi.audio import finish
from koegumi.schema.plain import AudioQuery
from koegumi.text.kana import parse_kana
from koegumi.voices import artwork
from koegumi.voices.interface import Device, FreeRun, Places
from koegumi.voices.vvm import FAMILY

HERE = Path(__file__).parent
# The teacher's voices, in the order of the network's.
TEACHERS = ("jf_alpha", "jf_gongitsune", "jf_nezumi", "jf_tebukuro", "jm_kumo")
NAMES = ("アルファ", "ごんぎつね", "ねずみ", "てぶくろ", "くも")
FIRST_TALK, FIRST_SONG = 101, 111
VERSION = "1.0.0"
SAMPLES = (
    "ハジメマ'シテ、ヨロシク'/オネガイシマ'_ス",
    "キョ'オワ/イ'イ/テ'ンキデ_スネ",
    "コノ'/コ'エワ、イカ'ガデスカ？",
)
TALK = ("predict_duration", "predict_intonation")
STREAM = {"generate_full_intermediate": "predict_spectrogram", "render_audio_segment": "vocoder"}
SONG = ("predict_sing_consonant_length", "predict_sing_f0", "predict_sing_volume")
# Zip members need a time; this one makes the file the same on every run.
TIME = (2026, 1, 1, 0, 0, 0)


def speaker_uuid(voice: int) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"koegumi/vvm/{TEACHERS[voice]}"))


def manifest() -> dict[str, Any]:
    def domain(operations: dict[str, str], first: int) -> dict[str, Any]:
        files = {name: {"type": "onnx", "filename": f"{file}.onnx"} for name, file in operations.items()}
        return {**files, "style_id_to_inner_voice_id": {str(first + voice): voice for voice in range(len(NAMES))}}

    talk = {name: name for name in TALK}
    return {
        "vvm_format_version": 2,
        "id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"koegumi/vvm/{VERSION}")),
        "metas_filename": "metas.json",
        "talk": domain({**talk, "decode": "decode"}, FIRST_TALK),
        "streaming_talk": domain({**talk, **STREAM}, FIRST_TALK),
        "singing_teacher": domain({name: name for name in SONG}, FIRST_SONG),
        "frame_decode": domain({"sf_decode": "sf_decode"}, FIRST_SONG),
    }


def metas() -> list[dict[str, Any]]:
    return [
        {
            "name": f"こえぐみ {name}",
            "styles": [
                {"name": "ノーマル", "id": FIRST_TALK + voice},
                {"name": "ソング", "id": FIRST_SONG + voice, "type": "sing"},
            ],
            "version": VERSION,
            "speaker_uuid": speaker_uuid(voice),
            "order": voice,
        }
        for voice, name in enumerate(NAMES)
    ]


def members(models: Path) -> dict[str, bytes]:
    """All but samples."""
    found = {
        "manifest.json": _json(manifest()),
        "metas.json": _json(metas()),
        "README.md": (HERE / "README.member.md").read_bytes(),
        "LICENSE": (HERE / "LICENSE-APACHE").read_bytes(),
    }
    for domain in manifest().values():
        if isinstance(domain, dict):
            files = [entry["filename"] for entry in domain.values() if "filename" in entry]
            found |= {name: (models / name).read_bytes() for name in files}
    policy = (HERE / "policy.md").read_text("utf-8")
    with TemporaryDirectory() as folder:
        picture = Path(folder) / "picture.png"
        for voice, name in enumerate(NAMES):
            info = f"character_info/{speaker_uuid(voice)}"
            initial, hue = TEACHERS[voice].partition("_")[2][0].upper(), (voice + 0.5) / len(NAMES)
            found[f"{info}/policy.md"] = policy.format(name=name, teacher=TEACHERS[voice]).encode()
            artwork.draw(picture, initial, hue, artwork.PORTRAIT)
            found[f"{info}/portrait.png"] = picture.read_bytes()
            artwork.draw(picture, initial, hue, artwork.ICON)
            for first in (FIRST_TALK, FIRST_SONG):
                found[f"{info}/icons/{first + voice}.png"] = picture.read_bytes()
    return found


def samples(vvm: Path) -> dict[str, bytes]:
    """What each voice says of itself, by our own VVM family."""
    places = Places(vvm.parent, (vvm,))
    query_voice, synthesis_voice = FAMILY.open_query(places, Device()), FAMILY.open_synthesis(places, Device())
    found: dict[str, bytes] = {}
    for voice in range(len(NAMES)):
        style = FIRST_TALK + voice
        for number, kana in enumerate(SAMPLES, start=1):
            query = AudioQuery(query_voice.mora_data(parse_kana(kana), style))
            wave = synthesis_voice.synthesis(query, style, True, FreeRun())
            name = f"character_info/{speaker_uuid(voice)}/voice_samples/{style}_{number:03}.wav"
            found[name] = finish(wave, synthesis_voice.sampling_rate, 1.0, synthesis_voice.sampling_rate, False)
    return found


def write(target: Path, content: dict[str, bytes]) -> None:
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in content.items():
            info = zipfile.ZipInfo(name, TIME)
            info.external_attr = 0o644 << 16
            archive.writestr(info, data, zipfile.ZIP_DEFLATED, 9)


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode()


def main() -> None:
    models, target = Path(sys.argv[1]), Path(sys.argv[2])
    content = members(models)
    with TemporaryDirectory() as folder:
        mute = Path(folder) / "mute.vvm"
        write(mute, content)
        content |= samples(mute)
    temporary = target.with_suffix(".new")
    write(temporary, content)
    os.replace(temporary, target)
    print(f"{target}: {target.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
