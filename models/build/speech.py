"""Makes the sound that is learnt from: `python -m models.build.speech FOLDER SHARE SHARES [SENTENCES]`.

Each sentence of split.json by all five voices, one npz file each; what is there already is not made again, so that a
run may be stopped, and several may share the work. Of the training utterances some are higher or lower and some faster
or slower than the voice would speak them.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from models.build.analysis import HOP, SILENT_DB, analyse, relabel, spread
from models.build.corpus import SPLIT
from models.build.teacher import STYLES, Said, Teacher, moved
from numpy.typing import NDArray

SEED = 1


PARTS = ("test", "validation", "train")


def jobs(parts: Sequence[str] = PARTS, limit: int | None = None) -> list[tuple[str, int, str]]:
    """Part, number, text; the first `limit` of each part."""
    split = json.loads(SPLIT.read_text("utf-8"))
    return [(part, number, text) for part in parts for number, text in enumerate(split[part][:limit])]


def frames_of(said: Said) -> dict[str, NDArray[Any]]:
    heard = analyse(said.wave)
    count = len(heard.hertz)
    labels = spread(said.phonemes, said.ends, count)
    spans = spread(np.arange(len(said.ends)), said.ends, count)
    spans = np.where(labels == 0, -1, spans)
    labels, spans = relabel(labels, spans, heard.level < SILENT_DB)
    return {
        "wave": np.rint(np.clip(said.wave, -1, 1) * 32767).astype(np.int16)[: HOP * count],
        "labels": labels.astype(np.int16),
        "spans": spans.astype(np.int16),
        "said": spread(said.phonemes, said.ends, count).astype(np.int16),
        "pitch": np.where(labels == 0, 0, spread(said.pitches, said.ends, count)).astype(np.float32),
        "hertz": heard.hertz.astype(np.float32),
        "level": heard.level.astype(np.float32),
        "envelope": heard.envelope.astype(np.float32),
        "measured": heard.measured.astype(np.float32),
        "aperiodicity": heard.aperiodicity.astype(np.float32),
        "phonemes": said.phonemes.astype(np.int16),
        "ends": said.ends.astype(np.int32),
    }


def make(folder: Path, wanted: list[tuple[str, int, str]], share: int = 0, shares: int = 1) -> None:
    """What is missing of the share."""
    folder.mkdir(parents=True, exist_ok=True)
    pairs = [(*job, voice) for job in wanted for voice in range(len(STYLES))]
    missing = [(*pair, path) for pair in pairs[share::shares] if not (path := _path(folder, *pair)).exists()]
    teacher = Teacher() if missing else None
    for part, number, text, voice, path in missing:
        assert teacher is not None
        style, chance = STYLES[voice], random.Random(f"{SEED} {number} {voice}")  # noqa: S311
        query = teacher.query(text, style)
        if part == "train":
            query = moved(query, chance.uniform(-0.25, 0.3) if chance.random() < 0.35 else 0.0)
            speed = chance.uniform(0.85, 1.2) if chance.random() < 0.25 else 1.0
            query = msgspec.structs.replace(query, speed_scale=speed)
        temporary = path.with_suffix(".new.npz")
        rows: dict[str, Any] = frames_of(teacher.say(query, style))
        np.savez(temporary, **rows)
        temporary.replace(path)
        print(path.stem, flush=True)


def _path(folder: Path, part: str, number: int, _: str, voice: int) -> Path:
    return folder / f"{part}-{number:04}-{voice}.npz"


def main() -> None:
    folder, share, shares = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    limit = int(sys.argv[4]) if len(sys.argv) > 4 else None
    make(folder, jobs(limit=limit), share, shares)


if __name__ == "__main__":
    main()
