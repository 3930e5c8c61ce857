"""Texts to WordPiece ids, as BERT's multilingual cased tokenizer makes them. Imported only where Bark speaks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from koegumi.voices.bark.rows import Tokens
from koegumi.voices.interface import NotPrepared

# What a model's folder may hold; the first that is there is read.
FILES = ("tokenizer.json", "vocab.txt")


class TextTokenizer:
    def __init__(self, folder: Path) -> None:
        """Raises NotPrepared where the folder holds none, ValueError where it is broken."""
        path = next((folder / name for name in FILES if (folder / name).is_file()), None)
        if path is None:
            raise NotPrepared(f"Bark's tokenizer is missing in {folder}: run `koegumi prepare --bark DIR`")
        try:
            self._tokenizer = _read(path)
        except Exception as error:  # the library raises nothing more exact
            raise ValueError(f"{path} is no tokenizer: {error}") from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def __call__(self, text: str) -> Tokens:
        return np.array(self._tokenizer.encode(text, add_special_tokens=False).ids, np.int64)


def _read(path: Path) -> Tokenizer:
    if path.name == "tokenizer.json":
        return Tokenizer.from_file(str(path))
    model = WordPiece.from_file(str(path), unk_token="[UNK]", max_input_chars_per_word=100)  # noqa: S106 - no password
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = BertNormalizer(lowercase=False, strip_accents=None)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    return tokenizer
