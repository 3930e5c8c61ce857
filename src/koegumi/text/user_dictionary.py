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


class NotCompiled(Exception):  # noqa: N818 - reads as a sentence where it is raised
    """No dictionary came of these rows; the message says why."""


def compile_rows(dictionary: Path, source: Path, target: Path) -> None:
    """Compile MeCab's rows (CSV without quotes, one a line) for this dictionary. Raises NotCompiled, OSError.

    Surfaces become what the native code makes of the texts that they are looked for in.
    """
    rows = [_native(row) for row in source.read_text(encoding="utf-8").split("\n") if row]
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


def _native(row: str) -> str:
    surface, *rest = row.split(",")
    if len(rest) != FIELDS - 1 or '"' in row:
        raise NotCompiled(f"not {FIELDS} fields of a word: {row}")
    return ",".join([full_width(surface).replace("\n", ""), *rest]) + "\n"


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
