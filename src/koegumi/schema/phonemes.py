"""The phonemes that a mora may have. They are VOICEVOX's, which are Open JTalk's."""

from __future__ import annotations

CONSONANTS = frozenset("b by ch d dy f g gw gy h hy j k kw ky m my n ny p py r ry s sh t ts ty v w y z".split())
# A, I, U, E, O are devoiced, cl is the small tsu, pau a pause, sil the silence at an end.
VOWELS = frozenset("a i u e o A I U E O N cl pau sil".split())
SILENT = frozenset({"pau", "sil"})
