"""From an AudioQuery to the morae that sound: the steps that are the same for every voice family.

They follow VOICEVOX ENGINE's order of application: upspeak, one flat list with the pauses, silences at both ends,
pauseLength, pauseLengthScale, speedScale, pitchScale, intonationScale. Nothing here changes its arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from koegumi.schema.plain import AccentPhrase, AudioQuery, Mora

UPSPEAK_SECONDS = 0.15
UPSPEAK_RISE = 0.3
UPSPEAK_MAX_PITCH = 6.5


@dataclass(frozen=True)
class Timeline:
    """Morae in the order of speech, pauses among them. `phrase_ends` are the indices of the morae, not pauses, that
    end an accent phrase."""

    moras: tuple[Mora, ...]
    phrase_ends: frozenset[int]

    def __iter__(self) -> Iterator[Mora]:
        return iter(self.moras)


def flatten(phrases: Iterable[AccentPhrase]) -> Timeline:
    """One list of copies; a phrase's pause mora stands behind its morae."""
    moras: list[Mora] = []
    ends: set[int] = set()
    for phrase in phrases:
        moras += (_copy(mora) for mora in phrase.moras)
        if phrase.moras:
            ends.add(len(moras) - 1)
        if phrase.pause_mora is not None:
            moras.append(_copy(phrase.pause_mora))
    return Timeline(tuple(moras), frozenset(ends))


def timeline(query: AudioQuery, enable_interrogative_upspeak: bool) -> Timeline:
    """What is to be spoken, with every scale but volumeScale applied. The first and the last mora are the silences
    (`sil`) before and after; lengths in seconds, pitches in ln Hz."""
    raised = map(_raised, query.accent_phrases) if enable_interrogative_upspeak else query.accent_phrases
    flat = flatten(raised)
    moras = [_silence(query.pre_phoneme_length), *flat.moras, _silence(query.post_phoneme_length)]
    _scale_pauses(moras, query)
    _scale_speed(moras, query.speed_scale)
    _scale_pitch(moras, query)
    return Timeline(tuple(moras), frozenset(end + 1 for end in flat.phrase_ends))


def consonant_seconds(mora: Mora) -> float:
    return 0.0 if mora.consonant is None else mora.consonant_length or 0.0


def seconds(mora: Mora) -> float:
    """How long a mora is, its consonant included."""
    return consonant_seconds(mora) + mora.vowel_length


def _copy(mora: Mora) -> Mora:
    return msgspec.structs.replace(mora)


def _silence(length: float) -> Mora:
    return Mora(text="　", consonant=None, consonant_length=None, vowel="sil", vowel_length=length, pitch=0.0)


def _raised(phrase: AccentPhrase) -> AccentPhrase:
    """A question's last vowel sounds on, higher."""
    if not phrase.is_interrogative or not phrase.moras or phrase.moras[-1].pitch <= 0:
        return phrase
    last = phrase.moras[-1]
    rise = Mora(
        text=last.text,
        consonant=None,
        consonant_length=None,
        vowel=last.vowel,
        vowel_length=UPSPEAK_SECONDS,
        pitch=min(last.pitch + UPSPEAK_RISE, UPSPEAK_MAX_PITCH),
    )
    return msgspec.structs.replace(phrase, moras=[*phrase.moras, rise])


def _scale_pauses(moras: Sequence[Mora], query: AudioQuery) -> None:
    for mora in moras:
        if mora.vowel == "pau":
            if query.pause_length is not None:
                mora.vowel_length = query.pause_length
            mora.vowel_length *= query.pause_length_scale


def _scale_speed(moras: Sequence[Mora], speed_scale: float) -> None:
    for mora in moras:
        mora.vowel_length /= speed_scale
        if mora.consonant_length is not None:
            mora.consonant_length /= speed_scale


def _scale_pitch(moras: Sequence[Mora], query: AudioQuery) -> None:
    """The factor acts on ln Hz, as in the reference; intonation is the distance from the mean of all voiced morae."""
    for mora in moras:
        mora.pitch *= 2.0**query.pitch_scale
    voiced = [mora for mora in moras if mora.pitch > 0]
    if voiced:
        mean = sum(mora.pitch for mora in voiced) / len(voiced)
        for mora in voiced:
            mora.pitch = mean + (mora.pitch - mean) * query.intonation_scale
