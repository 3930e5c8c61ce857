"""The phonemes that a mora may have. They are VOICEVOX's, which are Open JTalk's."""

from __future__ import annotations

CONSONANTS = frozenset("b by ch d dy f g gw gy h hy j k kw ky m my n ny p py r ry s sh t ts ty v w y z".split())
# A, I, U, E, O are devoiced, cl is the small tsu, pau a pause, sil the silence at an end.
VOWELS = frozenset("a i u e o A I U E O N cl pau sil".split())
SILENT = frozenset({"pau", "sil"})

# The numbers that VOICEVOX's models know them by. `sil` is another name of pau; a missing consonant is NO_PHONEME.
PHONEMES = (
    "pau A E I N O U a b by ch cl d dy e f g gw gy h hy i j k kw ky m my n ny o p py r ry s sh t ts ty u v w y z"
).split()
IDS = {phoneme: number for number, phoneme in enumerate(PHONEMES)} | {"sil": 0}
NO_PHONEME = -1
