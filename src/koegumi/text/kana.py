"""The AquesTalk-like notation: katakana with accents, as clients write and edit it.

`/` joins accent phrases, `、` joins them with a pause, `'` follows the accented mora, `_` stands before a devoiced
mora, `？` ends a phrase that asks. Rules and messages are VOICEVOX ENGINE's (kana_converter).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from koegumi.schema.plain import AccentPhrase, Mora
from koegumi.text.moras import DEVOICED, PHONEMES_OF, VOICED, mora_at

# The reference gives up on a phrase of more steps (one for each mora or accent).
_MOST_STEPS = 300

_MESSAGES = {
    "UNKNOWN_TEXT": "判別できない読み仮名があります: {text}",
    "ACCENT_TOP": "句頭にアクセントは置けません: {text}",
    "ACCENT_TWICE": "1つのアクセント句に二つ以上のアクセントは置けません: {text}",
    "ACCENT_NOTFOUND": "アクセントを指定していないアクセント句があります: {text}",
    "EMPTY_PHRASE": "{position}番目のアクセント句が空白です",
    "INTERROGATION_MARK_NOT_AT_END": "アクセント句末以外に「？」は置けません: {text}",
    "INFINITE_LOOP": "処理時に無限ループになってしまいました...バグ報告をお願いします。",
}


class KanaError(Exception):
    """The notation cannot be read. `text`, `error_name` and `error_args` are the reference's error body."""

    def __init__(self, error_name: str, **error_args: str) -> None:
        self.text = _MESSAGES[error_name].format(**error_args)
        self.error_name = error_name
        self.error_args = error_args
        super().__init__(self.text)


def pause() -> Mora:
    """The mora of a pause, its length not yet known."""
    return Mora("、", None, None, "pau", 0.0, 0.0)


def mora(kana: str, consonant: str | None, vowel: str) -> Mora:
    """A mora whose lengths and pitch are not yet known: 0."""
    return Mora(kana, consonant, None if consonant is None else 0.0, vowel, 0.0, 0.0)


def parse_kana(text: str) -> list[AccentPhrase]:
    """Accent phrases with all lengths and pitches 0. Raises KanaError."""
    phrases: list[AccentPhrase] = []
    parts = re.split("([/、])", text)
    for written, separator in zip(parts[::2], [*parts[1::2], ""], strict=True):
        if not written:
            raise KanaError("EMPTY_PHRASE", position=str(len(phrases) + 1))
        if "？" in written[:-1]:
            raise KanaError("INTERROGATION_MARK_NOT_AT_END", text=written)
        phrase = _parse_phrase(written.removesuffix("？"))
        phrase.is_interrogative = written.endswith("？")
        phrase.pause_mora = pause() if separator == "、" else None
        phrases.append(phrase)
    return phrases


def _parse_phrase(text: str) -> AccentPhrase:
    morae: list[Mora] = []
    accent: int | None = None
    position = steps = 0
    while position < len(text):
        steps += 1
        if text[position] == "'":
            if not morae:
                raise KanaError("ACCENT_TOP", text=text)
            if accent is not None:
                raise KanaError("ACCENT_TWICE", text=text)
            accent = len(morae)
            position += 1
            continue
        found, length = _parse_mora(text, position)
        if found is None:
            raise KanaError("UNKNOWN_TEXT", text=text[position:].partition("'")[0])
        morae.append(found)
        position += length
        if steps > _MOST_STEPS:
            raise KanaError("INFINITE_LOOP")
    if accent is None:
        raise KanaError("ACCENT_NOTFOUND", text=text)
    return AccentPhrase(moras=morae, accent=accent)


def _parse_mora(text: str, position: int) -> tuple[Mora | None, int]:
    """The mora at `position` and the characters it takes."""
    devoiced = text[position] == "_"
    kana = mora_at(text, position + devoiced)
    if kana is None:
        return None, 0
    consonant, vowel = PHONEMES_OF[kana]
    if devoiced:
        if vowel not in DEVOICED:
            return None, 0
        vowel = DEVOICED[vowel]
    return mora(kana, consonant, vowel), len(kana) + devoiced


def create_kana(phrases: Sequence[AccentPhrase]) -> str:
    """The notation of these accent phrases; what `parse_kana` reads gives them back, without the numbers."""
    written: list[str] = []
    for phrase in phrases:
        for number, each in enumerate(phrase.moras, start=1):
            written.append(f"_{each.text}" if each.vowel in VOICED else each.text)
            if number == phrase.accent:
                written.append("'")
        if phrase.is_interrogative:
            written.append("？")
        written.append("/" if phrase.pause_mora is None else "、")
    return "".join(written[:-1])
