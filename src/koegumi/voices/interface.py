"""What a voice family is. A new family is one folder in `voices/` that exports `FAMILY`, and no edit elsewhere.

The front uses `find` only: it reads metadata and never a model. Workers use `open_query` and `open_synthesis`,
each once for each process; what they return serves every style of the family.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from koegumi.schema.plain import AccentPhrase, AudioQuery

Integers = NDArray[np.int64]


class Capability(enum.StrEnum):
    TALK_QUERY = "talk query"
    TALK_SYNTHESIS = "talk synthesis"
    # Speaks a text as it is, without phrases: an AudioQuery's `kana` carries it.
    TALK_TEXT = "talk text"
    SONG = "song"
    STREAMING = "streaming"
    BATCH = "batch"


TALK = frozenset({Capability.TALK_QUERY, Capability.TALK_SYNTHESIS})


class VoiceError(Exception):
    """The input cannot be spoken by this voice; the message says why and is shown to the client."""


class Cancelled(Exception):  # noqa: N818 - it is no error
    """The job was cancelled; raised by `Run.check` and passed through by voices."""


class NotPrepared(Exception):  # noqa: N818 - reads as a sentence where it is raised
    """A family's files are not there yet; the message says which command makes them."""


class Readable(Protocol):
    """A file of its own, or a member of another; equal ones are the same. A `Path` is one."""

    @property
    def name(self) -> str: ...

    def read_bytes(self) -> bytes:
        """Raises OSError."""

    def __hash__(self) -> int: ...


@dataclass(frozen=True)
class StyleFiles:
    """What /speaker_info shows of a style; files are read when asked for."""

    icon: Readable
    samples: tuple[Readable, ...]
    portrait: Readable | None = None


@dataclass(frozen=True)
class Style:
    """`type` is talk, or one of song: singing_teacher (lengths and pitches), frame_decode (sound), sing (both).
    `source` is the file that it comes from, where that is known."""

    id: int
    name: str
    files: StyleFiles
    type: str = "talk"
    source: Path | None = None


@dataclass(frozen=True)
class Speaker:
    """One speaker. `policy` is Markdown with its licences and credits; `real_time_factor` the first guess of the
    seconds of work for a second of sound on one core, until the server has measured it. `unsupported_fields` are those
    of an AudioQuery, by their names on the wire, that have to be neutral; `extras` the parameters of /synthesis that it
    knows beside the query."""

    name: str
    uuid: str
    version: str
    styles: tuple[Style, ...]
    policy: str
    portrait: Readable
    capabilities: frozenset[Capability] = TALK
    lane: str = "synthesis"
    real_time_factor: float = 0.3
    supported_features: dict[str, str] = field(default_factory=dict)
    unsupported_fields: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()


def _unheard(sentence: str) -> None:
    pass


@dataclass(frozen=True)
class Places:
    """Where a family may look: the prepared cache, the folders or files that the user named, the folder of installed
    libraries, and to prepare from, by family, what is only to be had from the user.

    `refuse` hears, as a sentence, of each thing that is there and does not become a voice.
    """

    cache_dir: Path
    voice_paths: tuple[Path, ...] = ()
    sources: Mapping[str, Path] = field(default_factory=dict)
    library_dir: Path | None = None
    refuse: Callable[[str], None] = field(default=_unheard, compare=False)


@dataclass(frozen=True)
class Device:
    """`kind` is cpu or cuda; `threads` the intra-op threads of each session. `options` are a family's own, by the names
    of its settings."""

    kind: str = "cpu"
    threads: int = 1
    options: Mapping[str, str] = field(default_factory=dict)


class Run(Protocol):
    """One job's run: where a voice asks whether it should stop."""

    def check(self) -> None:
        """Raise `Cancelled` if the job was cancelled. Call it between the pieces of a long job."""

    def options(self) -> Any:
        """A fresh `onnxruntime.RunOptions` that a cancel terminates. One for each `session.run`."""


class FreeRun:
    """A run that nobody cancels."""

    def check(self) -> None:
        pass

    def options(self) -> Any:
        return None


Progress = Callable[[str], None]


class QueryVoice(Protocol):
    """Lengths and pitches. Both return new phrases and leave their arguments alone."""

    def mora_length(self, phrases: Sequence[AccentPhrase], style_id: int) -> list[AccentPhrase]: ...

    def mora_pitch(self, phrases: Sequence[AccentPhrase], style_id: int) -> list[AccentPhrase]: ...

    def mora_data(self, phrases: Sequence[AccentPhrase], style_id: int) -> list[AccentPhrase]:
        """Both at once, as `mora_length` and `mora_pitch` one after the other would give them."""


class SynthesisVoice(Protocol):
    @property
    def sampling_rate(self) -> int:
        """The rate of what `synthesis` returns, in Hz."""

    @property
    def device(self) -> str:
        """What its sessions really run on: cpu or cuda."""

    def synthesis(
        self, query: AudioQuery, style_id: int, enable_interrogative_upspeak: bool, run: Run
    ) -> NDArray[np.float32]:
        """Mono samples, before volumeScale, resampling and stereo, which are the same for every family."""


@runtime_checkable
class StreamingSynthesisVoice(SynthesisVoice, Protocol):
    """What a `SynthesisVoice` has as well whose first sound is there before the last is made, for styles of speakers
    with `Capability.STREAMING`."""

    def segments(
        self, query: AudioQuery, style_id: int, enable_interrogative_upspeak: bool, seconds: float, run: Run
    ) -> Iterator[NDArray[np.float32]]:
        """What `synthesis` returns, in pieces of at most so many seconds that join without a seam, each made when it
        is asked for. Raises VoiceError for a style that does not stream."""


class Request(Protocol):
    """One of the syntheses that a voice does together; over after `done`, `failed` or a `Cancelled` of `check`."""

    @property
    def query(self) -> AudioQuery: ...

    @property
    def style_id(self) -> int: ...

    @property
    def extras(self) -> Mapping[str, int | float]:
        """What the client said beside the query, as the family documents it."""

    def check(self) -> None:
        """Raise `Cancelled` if nobody waits any more. Call it often."""

    def progress(self, stage: str, share: float) -> None:
        """Say what is done to it now, and the share of all its work that is done, 0 to 1. Call it often."""

    def done(self, wave: NDArray[np.float32]) -> None:
        """As what `SynthesisVoice.synthesis` returns."""

    def failed(self, error: Exception) -> None:
        """It alone ends here."""


class Requests(Protocol):
    """Where requests wait."""

    def take(self) -> Request | None:
        """The next one, or None where none waits now."""


@runtime_checkable
class BatchSynthesisVoice(SynthesisVoice, Protocol):
    """What a `SynthesisVoice` has as well that does several requests together faster than one after the other. It needs
    a lane without other families."""

    @property
    def capacity(self) -> int:
        """How many requests it wants to have at a time: those that it speaks, and some to take their places."""

    def speak(self, requests: Requests) -> None:
        """Speak until all that were taken are over and no more are there; those that come meanwhile join in. What it
        raises is of no request in particular."""


@runtime_checkable
class SongQueryVoice(Protocol):
    """What a `QueryVoice` of a family that sings has as well, for styles of type singing_teacher or sing.

    Phonemes are their numbers in `schema.phonemes`, -1 for a missing consonant; keys are MIDI notes, -1 for a rest;
    a frame is 256 samples at 24 kHz. The last three arrays have one element a frame.
    """

    def sing_consonant_lengths(
        self, consonants: Integers, vowels: Integers, note_lengths: Integers, style_id: int
    ) -> Integers:
        """Frames of each note's consonant, which are taken from the note before it."""

    def sing_f0(self, phonemes: Integers, keys: Integers, style_id: int) -> NDArray[np.float32]:
        """Hz, 0 where unvoiced."""

    def sing_volume(
        self, phonemes: Integers, keys: Integers, f0: NDArray[np.float32], style_id: int
    ) -> NDArray[np.float32]: ...


@runtime_checkable
class SongSynthesisVoice(Protocol):
    """What a `SynthesisVoice` of a family that sings has as well, for styles of type frame_decode or sing."""

    def sing(
        self, phonemes: Integers, f0: NDArray[np.float32], volume: NDArray[np.float32], style_id: int, run: Run
    ) -> NDArray[np.float32]:
        """Mono samples at 24 kHz, 256 for each frame of the three arrays, before volumeScale."""


@runtime_checkable
class LoadsLazily(Protocol):
    """What a `QueryVoice` or `SynthesisVoice` has as well whose models are opened at the first use of a style."""

    @property
    def styles(self) -> AbstractSet[int]:
        """The ids of all that it has."""

    def load(self, style_id: int) -> None:
        """Open what the style needs of this voice, unless it is. Raises VoiceError."""

    def is_loaded(self, style_id: int) -> bool: ...

    def close_idle(self, seconds: float) -> float | None:
        """Close what was not used for so long. The seconds until the next may be due; None where nothing is open."""


@runtime_checkable
class WarmsUp(Protocol):
    """What a `QueryVoice` or `SynthesisVoice` has as well where its first job would be slower than others."""

    def warm_up(self) -> None:
        """Do a short job, before any client waits. What it raises fails the worker's start."""


class Family(Protocol):
    name: str

    def find(self, places: Places) -> list[Speaker]:
        """Speakers whose files are there, from metadata alone. Raises NotPrepared."""

    def prepare(self, places: Places, device: str, progress: Progress) -> None:
        """Make what `find` and `open_*` need, once: atomic, locked between processes, nothing to do when done."""

    def open_query(self, places: Places, device: Device) -> QueryVoice: ...

    def open_synthesis(self, places: Places, device: Device) -> SynthesisVoice: ...


@runtime_checkable
class ReadsFiles(Protocol):
    """What a `Family` has as well whose voices are data in files, which users name or install as libraries."""

    def reads(self, path: Path) -> bool:
        """Whether this file or folder is for it. Looks at names only."""

    def check(self, path: Path) -> list[Speaker]:
        """Who is in it, after opening each of its models. Raises ValueError with a sentence."""
