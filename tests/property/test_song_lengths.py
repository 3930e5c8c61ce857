"""Scores: every frame of a note stays in the song, and a consonant never takes more than the note before it has."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from koegumi.schema.phonemes import IDS, NO_PHONEME
from koegumi.schema.score import Note, Score
from koegumi.text.moras import PHONEMES_OF
from koegumi.worker.song import Melody, phoneme_lengths, read_score

KANA = sorted(PHONEMES_OF)
HIRAGANA = str.maketrans({chr(code): chr(code - 96) for code in range(ord("ァ"), ord("ヶ") + 1)})
SUNG = st.builds(Note, st.integers(0, 300), st.sampled_from(KANA), st.integers(0, 127), st.none() | st.text(max_size=3))
RESTS = st.builds(Note, st.integers(0, 300), st.just(""), st.none(), st.none() | st.text(max_size=3))
SCORES = st.builds(lambda first, notes: Score([first, *notes]), RESTS, st.lists(SUNG | RESTS, max_size=8))


@given(SCORES, st.data())
def test_lengths(score: Score, data: st.DataObject) -> None:
    melody = read_score(score)
    model = [data.draw(st.integers(-50, 400)) for _ in score.notes]
    model[0] = 0
    lengths = phoneme_lengths(melody, model)
    assert len(lengths) == len(melody.phonemes) == len(melody.keys) == len(melody.note_ids)
    assert sum(lengths) == sum(note.frame_length for note in score.notes)
    assert all(length >= 0 for length in lengths)
    position = 0
    for number, note in enumerate(score.notes):
        consonant, vowel = melody.consonants[number], melody.vowels[number]
        if consonant != NO_PHONEME:
            before = score.notes[number - 1].frame_length
            taken = model[number] if 0 <= model[number] <= before else before // 2
            assert lengths[position] == taken
            assert melody.phonemes[position] == consonant
            position += 1
        assert melody.phonemes[position] == vowel
        assert melody.note_ids[position] == note.id
        position += 1


@given(st.lists(SUNG, min_size=1, max_size=5))
def test_hiragana_is_sung_as_katakana(notes: list[Note]) -> None:
    written = [Note(note.frame_length, note.lyric.translate(HIRAGANA), note.key, note.id) for note in notes]
    assert read_score(Score(written)) == read_score(Score(notes))


def test_a_melody_in_numbers() -> None:
    notes = [Note(10, ""), Note(20, "ド", 60, "a"), Note(5, "ア", 62, "b"), Note(7, "")]
    melody = read_score(Score(notes))
    assert melody == Melody(
        consonants=[-1, IDS["d"], -1, -1],
        vowels=[0, IDS["o"], IDS["a"], 0],
        lengths=[10, 20, 5, 7],
        phonemes=[0, IDS["d"], IDS["o"], IDS["a"], 0],
        keys=[-1, 60, 60, 62, -1],
        note_ids=[None, "a", "a", "b", None],
    )
    assert phoneme_lengths(melody, [0, 4, 9, 9]) == [6, 4, 20, 5, 7]  # only consonants take frames
    assert phoneme_lengths(melody, [0, 11, 0, 0]) == [5, 5, 20, 5, 7]
    assert phoneme_lengths(melody, [0, -1, 0, 0]) == [5, 5, 20, 5, 7]
    assert phoneme_lengths(melody, [0, 10, 0, 0]) == [0, 10, 20, 5, 7]
