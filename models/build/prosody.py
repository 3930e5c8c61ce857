"""Lengths and pitches that are learnt from, without sound: `python -m models.build.prosody FILE`.

Kokoro's first two parts alone, so that many more sentences can be asked than spoken. Where the predicted energy says
that a word's last vowel has fallen silent before its span ends, the silence is not counted as the vowel's.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
from models.build.analysis import CLOSED
from models.build.corpus import SPLIT
from models.build.teacher import STYLES, VOICES, Teacher

from koegumi.schema.phonemes import IDS, NO_PHONEME
from koegumi.schema.plain import AccentPhrase, Mora
from koegumi.voices.kokoro.frames import AUDIBLE, FRAMES_PER_UNIT, UNIT_SECONDS, find_groups
from koegumi.voices.kokoro.pieces import pieces
from koegumi.voices.kokoro.tokens import tokenize
from koegumi.voices.timeline import Timeline, flatten

FRAME_SECONDS = UNIT_SECONDS / FRAMES_PER_UNIT


class Lengths(msgspec.Struct):
    consonant: float = 0.0
    vowel: float = 0.0


def gaps(teacher: Teacher, bare: Timeline, voice: str) -> list[Lengths]:
    """What is to be taken from each mora's lengths, and given to closures (negative)."""
    found = [Lengths() for _ in bare.moras]
    for piece in pieces(bare):
        tokens = tokenize(bare, piece, teacher.predictor.vocabulary)
        prediction = teacher.predictor(tokens, voice)
        for indices, group in zip(piece, find_groups(tokens, prediction.units, prediction.energy), strict=True):
            for index, start, stop in zip(indices, group.bounds[1::2], group.bounds[2::2], strict=True):
                if index not in bare.phrase_ends or index + 1 not in indices:
                    continue
                heard = np.flatnonzero(prediction.energy[start:stop] > AUDIBLE)
                silence = 0.0 if heard.size == 0 else FRAME_SECONDS * float(stop - start - heard[-1] - 1)
                found[index].vowel += silence
                following = bare.moras[index + 1]
                if following.consonant is not None and IDS[following.consonant] in CLOSED:
                    found[index + 1].consonant -= silence
    return found


def rows(phrases: list[AccentPhrase], trims: list[Lengths]) -> dict[str, list[float]]:
    """As the two models of reference 4.7 read an utterance, without the pads: phonemes and their lengths; morae with
    the four marks of their phrases and their pitches."""
    table: dict[str, list[float]] = {
        name: [] for name in ("phoneme", "length", "vowel", "consonant", "start", "end", "first", "last", "pitch")
    }
    trim = iter(trims)
    for phrase in phrases:
        count = len(phrase.moras)
        for number, mora in enumerate(phrase.moras):
            _add(table, mora, next(trim))
            marks = (
                number == (0 if phrase.accent == 1 else 1),
                number == phrase.accent - 1,
                number == 0,
                number == count - 1,
            )
            for name, mark in zip(("start", "end", "first", "last"), marks, strict=True):
                table[name].append(mark)
        if phrase.pause_mora is not None:
            _add(table, phrase.pause_mora, next(trim))
            for name in ("start", "end", "first", "last"):
                table[name].append(0)
    return table


def _add(table: dict[str, list[float]], mora: Mora, trim: Lengths) -> None:
    if mora.consonant is not None:
        table["phoneme"].append(IDS[mora.consonant])
        table["length"].append((mora.consonant_length or 0.0) - trim.consonant)
    table["phoneme"].append(IDS[mora.vowel])
    table["length"].append(mora.vowel_length - trim.vowel)
    table["vowel"].append(IDS[mora.vowel])
    table["consonant"].append(NO_PHONEME if mora.consonant is None else IDS[mora.consonant])
    table["pitch"].append(mora.pitch)


PARTS = ("test", "validation", "train", "train without sound")


def utterances(
    teacher: Teacher, limit: int | None = None, parts: Sequence[str] = PARTS
) -> Iterator[tuple[str, str, int, dict[str, list[float]]]]:
    """Part, text, voice and `rows` of each."""
    split = json.loads(SPLIT.read_text("utf-8"))
    for part in parts:
        for text in split[part][:limit]:
            phrases = teacher.phrases(text)
            for voice, style in enumerate(STYLES):
                said = teacher.query_voice.mora_data(phrases, style)
                yield part.split()[0], text, voice, rows(said, gaps(teacher, flatten(phrases), VOICES[voice]))


def main() -> None:
    target = Path(sys.argv[1])
    limit = int(sys.argv[2]) if len(sys.argv) > 2 else None
    with target.with_suffix(".new").open("w", encoding="utf-8") as file:
        for part, text, voice, table in utterances(Teacher(), limit):
            rounded = {name: [round(float(value), 4) for value in values] for name, values in table.items()}
            file.write(json.dumps({"part": part, "text": text, "voice": voice, **rounded}, ensure_ascii=False) + "\n")
    target.with_suffix(".new").replace(target)


if __name__ == "__main__":
    main()
