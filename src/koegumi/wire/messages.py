"""The control part of the frames: msgpack of these structs.

A call is one of the `Call` union, told apart by its tag. A query or phrases that a client sent stay encoded until
a worker needs them, so that the front can pass large ones through without reading them again.
"""

from __future__ import annotations

from typing import Annotated

import msgspec


class AudioQueryCall(msgspec.Struct, tag="audio_query"):
    """Text to an AudioQuery; answers its JSON. `dictionary` is the path of the compiled user dictionary, "" for none;
    `values` go into the AudioQuery, by the names of `schema.plain`."""

    text: str
    style_id: int
    enable_katakana_english: bool = True
    dictionary: str = ""
    values: dict[str, float | None] = {}


class AccentPhrasesCall(msgspec.Struct, tag="accent_phrases"):
    """Text, or kana notation, to accent phrases with lengths and pitches; answers their JSON."""

    text: str
    style_id: int
    is_kana: bool = False
    enable_katakana_english: bool = True
    dictionary: str = ""


class MoraCall(msgspec.Struct, tag="mora"):
    """Fill lengths, pitches or both anew; answers the accent phrases' JSON."""

    accent_phrases: msgspec.Raw
    style_id: int
    length: bool
    pitch: bool


class SynthesisCall(msgspec.Struct, tag="synthesis"):
    """An AudioQuery (msgpack) to a WAV file. `extras` are values beside the query that only some families know."""

    query: msgspec.Raw
    style_id: int
    enable_interrogative_upspeak: bool = True
    extras: dict[str, int | float] = {}


class DecodeCall(msgspec.Struct, tag="decode"):
    """Check a large JSON body away from the front's event loop; answers msgpack of `schema.http.Decoded`."""

    model: str
    body: bytes


class CompileCall(msgspec.Struct, tag="compile"):
    """Compile rows of the user dictionary from one file to another; answers nothing."""

    source: str
    target: str


class LoadCall(msgspec.Struct, tag="load"):
    """Open what the lane needs of a style, unless it is open; answers nothing."""

    style_id: int


class CheckCall(msgspec.Struct, tag="check"):
    """Read a file or folder of voices, and open each of its models; answers msgpack of `Checked`, or fails as
    `library`."""

    path: str


class KanaCall(msgspec.Struct, tag="kana"):
    """Whether a text is kana notation; answers JSON's true, or fails as `kana`."""

    text: str


class WaveCall(msgspec.Struct, tag="wave"):
    """An AudioQuery (msgpack) to samples for further work: mono float32 (little endian) at 24 kHz, with volumeScale."""

    query: msgspec.Raw
    style_id: int
    enable_interrogative_upspeak: bool = True


class MorphCall(msgspec.Struct, tag="morph"):
    """Two answers of WaveCall to a WAV file between them: 0 is `base`, 1 `target`."""

    base: bytes
    target: bytes
    morph_rate: float
    output_sampling_rate: int
    output_stereo: bool


class ConnectCall(msgspec.Struct, tag="connect"):
    """A JSON list of WAV files in base64, as the client sent it, to one WAV file."""

    body: bytes


class SongQueryCall(msgspec.Struct, tag="song_query"):
    """A Score (msgpack) to a FrameAudioQuery; answers its JSON."""

    score: msgspec.Raw
    style_id: int


class SongCurveCall(msgspec.Struct, tag="song_curve"):
    """A `schema.score.ScoreAndFrames` (msgpack) to the f0 or the volume of each frame; answers a JSON list."""

    score_and_frames: msgspec.Raw
    style_id: int
    volume: bool


class FrameSynthesisCall(msgspec.Struct, tag="frame_synthesis"):
    """A FrameAudioQuery (msgpack) to a WAV file."""

    query: msgspec.Raw
    style_id: int


Call = (
    AudioQueryCall
    | AccentPhrasesCall
    | MoraCall
    | SynthesisCall
    | DecodeCall
    | CompileCall
    | KanaCall
    | WaveCall
    | MorphCall
    | ConnectCall
    | SongQueryCall
    | SongCurveCall
    | FrameSynthesisCall
    | LoadCall
    | CheckCall
)


class Checked(msgspec.Struct):
    """Who is in a file that was checked."""

    speaker_uuids: list[str]
    style_ids: list[int]


class Order(msgspec.Struct, array_like=True):
    """The payload of a CALL frame: an encoded `Call`, and the id of the request that it is part of ("" for none), for
    the log."""

    request_id: str
    call: msgspec.Raw


class End(msgspec.Struct):
    """A job is done. `seconds` is the time it took inside the worker, or its part of the time that several shared."""

    media_type: str
    seconds: Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class Failure(msgspec.Struct):
    """A job failed, the worker lives.

    kind: `kana` (detail is the reference's error body), `invalid` (the input cannot be spoken; message says why),
    `score` and `wave` (so for a song and for a WAV file), `body` (detail's `errors` are FastAPI's),
    `library` (a file of voices cannot be used), `unsupported` (the voice
    lacks the capability), `cancelled`, `internal` (a bug: logged with its trace).
    """

    kind: str
    message: str
    detail: dict[str, object] | None = None


class Progress(msgspec.Struct):
    """How far a long job is: what is done to it now, and the share of all its work that is done, 0 to 1."""

    stage: str
    share: float


class WorkerConfig(msgspec.Struct):
    """First frame to a worker: all it needs to know. `options` are those of its lane's families. `preload` are the
    styles whose models are opened at once (None: all), `unload_after` the seconds until idle ones are closed."""

    name: str
    lane: str
    cache_dir: str
    voice_paths: list[str]
    device: str
    threads: int
    options: dict[str, str] = {}
    library_dir: str | None = None
    preload: list[int] | None = []
    unload_after: float | None = None


class Loading(msgspec.Struct):
    """A step of a worker's loading, for the bar."""

    done: int
    total: int
    what: str


class Ready(msgspec.Struct):
    """The worker is loaded and warm. `device` is what the sessions really use: `cpu`, `cuda`."""

    pid: int
    capacity: Annotated[int, msgspec.Meta(ge=1)]
    device: str


class Loaded(msgspec.Struct):
    """All styles that the worker has open now; sent whenever that has changed."""

    style_ids: list[int]


class Broken(msgspec.Struct):
    """The worker cannot start; a sentence that says why."""

    reason: str
