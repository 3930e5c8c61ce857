"""Makes the sound that is learnt from: `python -m models.build.speech FOLDER PART PARTS`.

Each sentence of split.json by all five voices, one npz file each; what is there already is not made again, so that a
run may be stopped, and several may share the work. Of the training utterances some are higher or lower and some faster
or slower than the voice would speak them.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import msgspec
import numpy as np
from models.build.analysis import HOP, SILENT_DB, analyse, relabel, spread
from models.build.corpus import SPLIT
from models.build.teacher import STYLES, Said, Teacher, moved

SEED = 1


def jobs(limit: int | None = None) -> list[tuple[str, int, str]]:
    """Part, number, text; test and validation first."""
    split = json.loads(SPLIT.read_text("utf-8"))
    found: list[tuple[str, int, str]] = []
    for part in ("test", "validation", "train"):
        found += [(part, number, text) for number, text in enumerate(split[part][:limit])]
    return found


def frames_of(said: Said) -> dict[str, np.ndarray]:
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


def main() -> None:
    folder, part, parts = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    limit = int(sys.argv[4]) if len(sys.argv) > 4 else None
    folder.mkdir(parents=True, exist_ok=True)
    teacher = Teacher()
    for number, (kind, index, text) in enumerate(jobs(limit)):
        for voice, style in enumerate(STYLES):
            target = folder / f"{kind}-{index:04}-{voice}.npz"
            if (number * len(STYLES) + voice) % parts != part or target.exists():
                continue
            chance = random.Random(f"{SEED} {index} {voice}")  # noqa: S311
            query = teacher.query(text, style)
            if kind == "train":
                query = moved(query, chance.uniform(-0.25, 0.3) if chance.random() < 0.35 else 0.0)
                speed = chance.uniform(0.85, 1.2) if chance.random() < 0.25 else 1.0
                query = msgspec.structs.replace(query, speed_scale=speed)
            frames = frames_of(teacher.say(query, style))
            temporary = target.with_suffix(".new.npz")
            np.savez(temporary, **frames)
            temporary.replace(target)
        print(kind, index, flush=True)


if __name__ == "__main__":
    main()
