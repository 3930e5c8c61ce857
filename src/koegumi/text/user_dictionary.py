"""The user's words, compiled to a dictionary that MeCab reads beside its own."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

from pyopenjtalk.openjtalk import OpenJTalk, mecab_dict_index

from koegumi.text.guard import full_width

FIELDS = 15
_ASCII = {code + 0xFEE0: code for code in range(0x21, 0x7F)}


class NotCompiled(Exception):  # noqa: N818 - reads as a sentence where it is raised
    """No dictionary came of these rows; the message says why."""


def compile_rows(dictionary: Path, source: Path, target: Path) -> None:
    """Compile MeCab's rows (CSV without quotes, one a line) for this dictionary. Raises NotCompiled, OSError.

    Surfaces become what the native code makes of the texts that they are looked for in.
    """
    rows = [native for row in source.read_text(encoding="utf-8").split("\n") if row for native in _native(row)]
    if not rows:
        raise NotCompiled("there is no word that a text could have")  # MeCab's compiler would die of it
    native = target.with_suffix(".csv")
    native.write_text("".join(rows), encoding="utf-8")  # MeCab's compiler dies where this file is missing
    try:
        with _silent_stdout():
            code = mecab_dict_index(*map(os.fsencode, (dictionary, native, target)))
    finally:
        native.unlink()
    if code != 0 or not target.is_file():
        raise NotCompiled("MeCab could not compile the user dictionary")
    try:
        OpenJTalk(dn_mecab=os.fsencode(dictionary), userdic=os.fsencode(target))
    except RuntimeError as error:
        raise NotCompiled(f"MeCab cannot read the dictionary that it compiled: {error}") from error


def _native(row: str) -> Iterator[str]:
    """A row for each form of the surface: for texts in ASCII and for full-width ones; they differ in " ' - \\ ` ~."""
    surface, *rest = row.split(",")
    if len(rest) != FIELDS - 1 or '"' in row:
        raise NotCompiled(f"not {FIELDS} fields of a word: {row}")
    for form in {full_width(surface): 0, full_width(surface.translate(_ASCII)): 0}:
        if form:
            yield ",".join([form, *rest]) + "\n"


@contextlib.contextmanager
def _silent_stdout() -> Iterator[None]:
    """MeCab's compiler draws bars on it."""
    stdout = os.dup(1)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    try:
        yield
    finally:
        ctypes.CDLL(None).fflush(None)
        os.dup2(stdout, 1)
        os.close(stdout)
