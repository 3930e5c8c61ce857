"""Which sentences are spoken, and which of them training never sees. Writes split.json, before anything is trained.

`python -m models.build.corpus`: test and validation sentences are public-domain literature and sentences written for
this, drawn with a seed; none of the patterns that training sentences are made of. Training sentences with sound are
picked one after the other so that rare pairs of phonemes come soon.
"""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from pathlib import Path

from models.build.teacher import NOTATION
from models.build.templates import sentences

from koegumi.schema.plain import AccentPhrase
from koegumi.text.front_end import FrontEnd

HERE = Path(__file__).parent
SPLIT = HERE / "split.json"
SEED = 20261130
TEST, VALIDATION = 20, 8
# Training sentences that are spoken, and those of which only lengths and pitches are asked.
SPOKEN, ASKED, CANDIDATES = 180, 700, 2400
MAX_MORAS = 45
# Sounds that the dictionary never gives, in AquesTalk-like notation.
RARE = (
    "クァ'ルテットノ、クォ'オタア/デ'_ス",
    "グァテマラ'ノ/グァ'バワ、ティ'イト/ア'ウ？",
    "テュ'ウバト、デュ'オノ/クェ'_スト",
    "_カカ'ルト、_コ_コ'ロガ、_ケ_サ'オ/_ト'ル",
    "グァ'ムノ/クィ'イン、テュ'ウニング",
    "_セ_カ'イノ、_ポ_カ'ポカ、_ソ_コ'カラ",
)


def phonemes(phrases: list[AccentPhrase]) -> list[str]:
    found: list[str] = []
    for phrase in phrases:
        for mora in phrase.moras:
            found += [mora.vowel] if mora.consonant is None else [mora.consonant, mora.vowel]
        found += ["pau"] if phrase.pause_mora else []
    return found


def pick(candidates: dict[str, list[str]], count: int) -> list[str]:
    """The sentence whose pairs of phonemes were heard least, again and again."""
    pairs = {text: Counter(itertools.pairwise(sounds)) for text, sounds in candidates.items()}
    heard: Counter[tuple[str, str]] = Counter()
    picked: list[str] = []
    for _ in range(count):
        best = max(pairs, key=lambda text: sum(1 / (1 + heard[pair]) for pair in pairs[text]) / len(candidates[text]))
        heard += pairs.pop(best)
        picked.append(best)
    return picked


def main() -> None:
    front_end = FrontEnd()
    written = [
        line for name in ("literature.txt", "handwritten.txt") for line in (HERE / name).read_text("utf-8").split("\n")
    ]
    written = [line for line in written if line]
    random.Random(SEED).shuffle(written)  # noqa: S311
    made = sentences(CANDIDATES, SEED)
    candidates: dict[str, list[str]] = {}
    for text in [*written[TEST + VALIDATION :], *made]:
        sounds = phonemes(front_end.accent_phrases(text))
        if len(sounds) <= 2 * MAX_MORAS:
            candidates[text] = sounds
    spoken = pick(candidates, SPOKEN)
    asked = [text for text in candidates if text not in set(spoken)][:ASKED]
    split = {
        "seed": SEED,
        "test": written[:TEST],
        "validation": written[TEST : TEST + VALIDATION],
        "train": [*(NOTATION + kana for kana in RARE), *spoken],
        "train without sound": asked,
    }
    SPLIT.write_text(json.dumps(split, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
