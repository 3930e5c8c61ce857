"""Texts to ids: BERT's cased WordPiece, from a list of words or the library's own file."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer

from koegumi.voices.bark.tokenizer import TextTokenizer, _read
from koegumi.voices.interface import NotPrepared

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[",
    "]",
    "laugh",
    "##s",
    "Hello",
    "hello",
    ",",
    "é",
    "声",
    "♪",
    "WHO",
    "a",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("Hello, hello", ["Hello", ",", "hello"]),
        ("[laughs] ♪", ["[", "laugh", "##s", "]", "♪"]),
        ("声声 é", ["声", "声", "é"]),
        ("WHO\n\tis", ["WHO", "[UNK]"]),
        ("a" * 101, ["[UNK]"]),
        ("[CLS] a [SEP]", ["[", "[UNK]", "]", "a", "[", "[UNK]", "]"]),
    ],
)
def test_ids(folder: Path, text: str, expected: list[str]) -> None:
    tokenizer = TextTokenizer(folder)
    assert tokenizer(text).tolist() == [WORDS.index(word) for word in expected]


def test_both_files_say_the_same_and_the_library_s_own_is_read_first(folder: Path) -> None:
    text = "Hello [laughs], 声 ♪ " * 200
    words = TextTokenizer(folder)(text)
    library: Tokenizer = _read(folder / "vocab.txt")
    library.enable_truncation(4)
    library.enable_padding(length=600)
    library.save(str(folder / "tokenizer.json"))
    (folder / "vocab.txt").write_text("")
    assert TextTokenizer(folder)(text).tolist() == words.tolist()


def test_none_and_broken_ones(tmp_path: Path) -> None:
    with pytest.raises(NotPrepared):
        TextTokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ValueError, match="is no tokenizer"):
        TextTokenizer(tmp_path)
