"""The user's words in Open JTalk: how they are found in texts, and what it survives."""

from __future__ import annotations

import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from koegumi.schema.words import WordTypes
from koegumi.state.user_dict import new_word, rows
from koegumi.text.front_end import DictionaryMissing, FrontEnd
from koegumi.text.kana import create_kana
from koegumi.text.user_dictionary import NotCompiled, compile_rows


@pytest.fixture(scope="module")
def front_end() -> FrontEnd:
    return FrontEnd()


def compiled(front_end: FrontEnd, folder: Path, *words: tuple[str, str], priority: int = 10) -> str:
    source, target = folder / "words.rows", folder / f"{uuid.uuid4()}.dic"
    made = (new_word(surface, kana, 0, WordTypes.PROPER_NOUN, priority) for surface, kana in words)
    source.write_bytes(rows({str(uuid.uuid4()): word for word in made}))
    compile_rows(front_end.dictionary, source, target)
    return str(target)


def read(front_end: FrontEnd, text: str) -> str:
    return create_kana(front_end.accent_phrases(text)).replace("'", "").replace("_", "")


@pytest.mark.parametrize(
    ("surface", "texts"),
    [
        ("Soncho", ["Soncho", "Ｓｏｎｃｈｏ"]),
        ("N Air", ["N Air", "Ｎ　Ａｉｒ"]),
        ("dB", ["dB", "ｄＢ"]),
        ("C++", ["C++", "Ｃ＋＋"]),
        ("C#", ["C#"]),
        ("C-3PO", ["C-3PO", "Ｃ－３ＰＯ", "Ｃ−３ＰＯ"]),
        ("it's~", ["it's~", "ｉｔ＇ｓ～"]),
        ("ﾊﾟｿｺﾝ", ["ﾊﾟｿｺﾝ", "パソコン"]),
        ("ローファー", ["ローファー"]),
        ("百合", ["百合"]),
    ],
)
def test_both_widths_match(front_end: FrontEnd, tmp_path: Path, surface: str, texts: list[str]) -> None:
    dictionary = compiled(front_end, tmp_path, (surface, "ヌヌヌネノ"))
    for text in texts:
        front_end.use("")
        assert "ヌヌヌネノ" not in read(front_end, text)
        front_end.use(dictionary)
        assert read(front_end, text) == "ヌヌヌネノ"


def test_upper_and_lower_case_are_different_words(front_end: FrontEnd, tmp_path: Path) -> None:
    front_end.use(compiled(front_end, tmp_path, ("Soncho", "ヌヌヌネノ")))
    assert "ヌヌヌネノ" not in read(front_end, "soncho")


def test_one_dictionary_follows_another(front_end: FrontEnd, tmp_path: Path) -> None:
    folder = tmp_path / "辞書 '\""
    folder.mkdir()
    one, two = compiled(front_end, folder, ("犬", "ワン")), compiled(front_end, folder, ("猫", "ニャン"))
    front_end.use(one)
    assert read(front_end, "犬、猫") == "ワン、ネコ"
    Path(one).unlink()
    assert read(front_end, "犬、猫") == "ワン、ネコ"
    front_end.use(two)
    assert read(front_end, "犬、猫") == "イヌ、ニャン"
    with pytest.raises(DictionaryMissing, match=Path(one).name):
        front_end.use(one)
    assert read(front_end, "犬、猫") == "イヌ、ニャン"
    front_end.use("")
    assert read(front_end, "犬、猫") == "イヌ、ネコ"


def test_a_file_that_is_no_dictionary_is_refused(front_end: FrontEnd, tmp_path: Path) -> None:
    broken = tmp_path / "broken.dic"
    broken.write_bytes(b"no dictionary" * 99)
    with pytest.raises(DictionaryMissing):
        front_end.use(str(broken))
    assert read(front_end, "犬") == "イヌ"


@pytest.mark.parametrize("row", ["", "犬,1348", "犬" + ",a" * 15, '"犬"' + ",a" * 14, "ﾞ" + ",a" * 14])
def test_rows_that_are_none_do_not_reach_the_compiler(front_end: FrontEnd, tmp_path: Path, row: str) -> None:
    source = tmp_path / "words.rows"
    source.write_text(row + "\n")
    with pytest.raises(NotCompiled):
        compile_rows(front_end.dictionary, source, tmp_path / "words.dic")
    assert list(tmp_path.iterdir()) == [source]


def test_compiling_says_nothing_on_stdout(
    front_end: FrontEnd, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    compiled(front_end, tmp_path, ("犬", "ワン"))
    print("after")
    assert capfd.readouterr().out == "after\n"


LONGEST = """
import sys
from pathlib import Path
from tests.unit.test_text_user_dictionary import FrontEnd, compiled
front_end = FrontEnd()
long = [("龘" * 341, "シ" * 170), ("犬", "キ" * 170), ("猫", "キュシュ" * 42)]
words = [*long, ("鳥", "ー"), ("亀", "ッ"), ("鶴", "ヮ")]
front_end.use(compiled(front_end, Path(sys.argv[1]), *words))
for text in ("龘" * 341, "犬" * 400, "猫犬鳥亀鶴" * 200, "ー犬ッ亀"):
    front_end.accent_phrases(text)
"""


def test_the_longest_words_leave_the_process_alive(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LONGEST, str(tmp_path)]
    assert subprocess.run(command, cwd=Path(__file__).parents[2], stderr=subprocess.DEVNULL).returncode == 0
