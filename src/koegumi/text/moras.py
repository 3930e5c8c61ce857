"""The morae of Japanese: katakana to phonemes and back.

The facts are VOICEVOX ENGINE's, whose table comes from Open JTalk (modified BSD licence).
"""

from __future__ import annotations

Phonemes = tuple[str | None, str]  # consonant or None, vowel

# One row a consonant (- for none); the morae with a, i, u, e, o, and - where there is none.
_ROWS = """
-  ア イ ウ エ オ
b  バ ビ ブ ベ ボ
by ビャ ビィ ビュ ビェ ビョ
ch チャ チ チュ チェ チョ
d  ダ ディ ドゥ デ ド
dy デャ - デュ デェ デョ
f  ファ フィ フ フェ フォ
g  ガ ギ グ ゲ ゴ
gw グヮ グィ グゥ グェ グォ
gy ギャ ギィ ギュ ギェ ギョ
h  ハ ヒ - ヘ ホ
hy ヒャ ヒィ ヒュ ヒェ ヒョ
j  ジャ ジ ジュ ジェ ジョ
k  カ キ ク ケ コ
kw クヮ クィ クゥ クェ クォ
ky キャ キィ キュ キェ キョ
m  マ ミ ム メ モ
my ミャ ミィ ミュ ミェ ミョ
n  ナ ニ ヌ ネ ノ
ny ニャ ニィ ニュ ニェ ニョ
p  パ ピ プ ペ ポ
py ピャ ピィ ピュ ピェ ピョ
r  ラ リ ル レ ロ
ry リャ リィ リュ リェ リョ
s  サ スィ ス セ ソ
sh シャ シ シュ シェ ショ
t  タ ティ トゥ テ ト
ts ツァ ツィ ツ ツェ ツォ
ty テャ - テュ テェ テョ
v  ヴァ ヴィ ヴ ヴェ ヴォ
w  ワ ウィ ウゥ ウェ ウォ
y  ヤ - ユ イェ ヨ
z  ザ ズィ ズ ゼ ゾ
"""

# Spellings that are read but never written. (The small kana and kwa, gwa are here because clients type them.)
_READ_ONLY = """
ァ - a  ィ - i  ゥ - u  ェ - e  ォ - o  ヰ - i  ヱ - e  ヲ - o
ャ y a  ュ y u  ョ y o  ヮ w a  ヶ k e  ヂ j i  ヅ z u
ヂャ j a  ヂュ j u  ヂェ j e  ヂョ j o  ヴャ by a  ヴュ by u  ヴョ by o  クァ kw a  グァ gw a
"""


def _canonical() -> dict[Phonemes, str]:
    table: dict[Phonemes, str] = {(None, "N"): "ン", (None, "cl"): "ッ"}
    for row in _ROWS.strip().splitlines():
        consonant, *morae = row.split()
        for vowel, kana in zip("aiueo", morae, strict=True):
            if kana != "-":
                table[None if consonant == "-" else consonant, vowel] = kana
    return table


def _readings() -> dict[str, Phonemes]:
    table = {kana: phonemes for phonemes, kana in KANA_OF.items()}
    words = _READ_ONLY.split()
    for kana, consonant, vowel in zip(words[::3], words[1::3], words[2::3], strict=True):
        table[kana] = (None if consonant == "-" else consonant, vowel)
    return table


KANA_OF: dict[Phonemes, str] = _canonical()
PHONEMES_OF: dict[str, Phonemes] = _readings()

# A voiced vowel and how it is written when it is devoiced.
DEVOICED = {"a": "A", "i": "I", "u": "U", "e": "E", "o": "O"}
VOICED = {small: large for large, small in DEVOICED.items()}

_LONGEST = max(map(len, PHONEMES_OF))


def mora_at(text: str, start: int) -> str | None:
    """The longest mora that `text` has at `start`, or None."""
    for length in range(_LONGEST, 0, -1):
        kana = text[start : start + length]
        if len(kana) == length and kana in PHONEMES_OF:
            return kana
    return None
