"""The query lane: text analysis, lengths and pitches. Always on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from koegumi.schema.plain import AccentPhrase, AudioQuery
from koegumi.schema.score import FrameAudioQuery, Score, ScoreAndFrames
from koegumi.text.front_end import DictionaryMissing, FrontEnd, TextError
from koegumi.text.kana import KanaError, create_kana, parse_kana
from koegumi.text.user_dictionary import NotCompiled, compile_rows
from koegumi.voices.catalog import Catalog
from koegumi.voices.interface import Device, Places, QueryVoice, Run, SongQueryVoice, WarmsUp
from koegumi.wire.messages import (
    AccentPhrasesCall,
    AudioQueryCall,
    Call,
    CheckCall,
    CompileCall,
    DecodeCall,
    Failure,
    KanaCall,
    LoadCall,
    Loading,
    MoraCall,
    SongCurveCall,
    SongQueryCall,
    WorkerConfig,
)
from koegumi.worker.handlers import Answer, Refused
from koegumi.worker.lazily import check, load, loaded_styles
from koegumi.worker.song import SongError, f0_of, frame_audio_query, volume_of

# Japanese and English, which are read by different libraries.
FIRST_TEXT = "声 voice"


class QueryHandlers:
    device = "cpu"
    batching = None

    def __init__(self, catalog: Catalog, front_end: FrontEnd, voices: Mapping[str, QueryVoice]) -> None:
        self._catalog = catalog
        self._front_end = front_end
        self._voices = voices

    @property
    def voices(self) -> Iterable[QueryVoice]:
        return self._voices.values()

    @property
    def loaded(self) -> frozenset[int]:
        return loaded_styles(self._catalog, self._voices)

    def warm_up(self) -> None:
        self._front_end.accent_phrases(FIRST_TEXT)
        for voice in self._voices.values():
            if isinstance(voice, WarmsUp):
                voice.warm_up()

    def answer(self, call: Call, run: Run) -> Answer:
        match call:
            case AudioQueryCall():
                return _json(self._audio_query(call))
            case AccentPhrasesCall():
                return _json(self._accent_phrases(call))
            case MoraCall():
                return _json(self._mora(call))
            case KanaCall():
                _parse_kana(call.text)
                return Answer("application/json", b"true")
            case SongQueryCall() | SongCurveCall():
                return self._song(call)
            case DecodeCall():
                return _decode(call)
            case CompileCall():
                return self._compile(call)
            case LoadCall():
                return load(self._voice(call.style_id), call.style_id)
            case CheckCall():
                return check(Path(call.path))
            case _:
                raise TypeError(f"not a call for the query lane: {type(call).__name__}")

    def _voice(self, style_id: int) -> QueryVoice:
        return self._voices[self._catalog.style(style_id).family.name]

    def _audio_query(self, call: AudioQueryCall) -> AudioQuery:
        phrases = self._analyse(call)
        phrases = self._voice(call.style_id).mora_data(phrases, call.style_id)
        query = AudioQuery(accent_phrases=phrases, kana=create_kana(phrases))
        return msgspec.structs.replace(query, **call.values)

    def _accent_phrases(self, call: AccentPhrasesCall) -> list[AccentPhrase]:
        phrases = _parse_kana(call.text) if call.is_kana else self._analyse(call)
        return self._voice(call.style_id).mora_data(phrases, call.style_id)

    def _mora(self, call: MoraCall) -> list[AccentPhrase]:
        phrases = msgspec.msgpack.decode(call.accent_phrases, type=list[AccentPhrase])
        voice = self._voice(call.style_id)
        if call.length and call.pitch:
            return voice.mora_data(phrases, call.style_id)
        fill = voice.mora_length if call.length else voice.mora_pitch
        return fill(phrases, call.style_id)

    def _song(self, call: SongQueryCall | SongCurveCall) -> Answer:
        voice = self._voice(call.style_id)
        if not isinstance(voice, SongQueryVoice):
            raise Refused(Failure("unsupported", "this voice does not sing"))
        try:
            return Answer("application/json", msgspec.json.encode(_sung(voice, call)))
        except SongError as error:
            raise Refused(Failure("score", str(error))) from error

    def _analyse(self, call: AudioQueryCall | AccentPhrasesCall) -> list[AccentPhrase]:
        try:
            self._front_end.use(call.dictionary)
            return self._front_end.accent_phrases(call.text, call.enable_katakana_english)
        except TextError as error:
            raise Refused(Failure("invalid", str(error))) from error
        except DictionaryMissing as error:
            raise Refused(Failure("internal", str(error))) from error

    def _compile(self, call: CompileCall) -> Answer:
        try:
            compile_rows(self._front_end.dictionary, Path(call.source), Path(call.target))
        except (NotCompiled, OSError) as error:
            raise Refused(Failure("invalid", str(error))) from error
        return Answer("application/msgpack", b"")


def _sung(voice: SongQueryVoice, call: SongQueryCall | SongCurveCall) -> FrameAudioQuery | list[float]:
    if isinstance(call, SongQueryCall):
        return frame_audio_query(voice, msgspec.msgpack.decode(call.score, type=Score), call.style_id)
    both = msgspec.msgpack.decode(call.score_and_frames, type=ScoreAndFrames)
    curve = volume_of if call.volume else f0_of
    return curve(voice, both.score, both.frame_audio_query, call.style_id)


def _parse_kana(text: str) -> list[AccentPhrase]:
    try:
        return parse_kana(text)
    except KanaError as error:
        detail: dict[str, object] = {"text": error.text, "error_name": error.error_name, "error_args": error.error_args}
        raise Refused(Failure("kana", error.text, detail)) from error


def _json(value: AudioQuery | list[AccentPhrase]) -> Answer:
    return Answer("application/json", msgspec.json.encode(value))


def _decode(call: DecodeCall) -> Answer:
    from koegumi.schema.http import decode  # pydantic, only where a large body comes

    return Answer("application/msgpack", msgspec.msgpack.encode(decode(call.model, call.body)))


def open_query_handlers(
    config: WorkerConfig, places: Places, catalog: Catalog, progress: Callable[[Loading], None]
) -> QueryHandlers:
    families = catalog.families()
    total = len(families) + 1
    progress(Loading(0, total, "Open JTalk"))
    front_end = FrontEnd()
    voices: dict[str, QueryVoice] = {}
    for done, family in enumerate(families, start=1):
        progress(Loading(done, total, family.name))
        voices[family.name] = family.open_query(places, Device("cpu", config.threads))
    return QueryHandlers(catalog, front_end, voices)
