"""Bark as a voice that does many syntheses together."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast

from koegumi.schema.plain import AudioQuery
from koegumi.voices.bark.engine import Engine, Offload
from koegumi.voices.bark.fine import FineWindow
from koegumi.voices.bark.nodes import Precision
from koegumi.voices.bark.prepare import is_prepared
from koegumi.voices.bark.prepared import NO_PRESET, Prepared
from koegumi.voices.bark.presets import load_preset
from koegumi.voices.bark.rows import SAMPLING_RATE, Draw, Preset, Sampling, Sentence, Source, Tokens, Wave
from koegumi.voices.bark.speeches import Rows
from koegumi.voices.bark.texts import sentences
from koegumi.voices.bark.tokenizer import TextTokenizer
from koegumi.voices.interface import Device, FreeRun, NotPrepared, Request, Requests, Run

# Of one sentence, with all that is spoken beside it: a large model on a slow CPU needs a third of it.
MOST_SECONDS = 1800.0
FIRST_TEXT = "Hello."


class Speaks(Protocol):
    """What the voice needs of an engine."""

    def speak(self, source: Source) -> None: ...


class BarkVoice:
    sampling_rate = SAMPLING_RATE

    def __init__(
        self,
        engine: Speaks,
        tokenize: Callable[[str], Tokens],
        presets: Callable[[int], Preset | None],
        first_style: int,
        device: str,
        width: int,
    ) -> None:
        """`presets` gives that of a style id; `width` sentences are spoken together."""
        self._engine = engine
        self._tokenize = tokenize
        self._presets = presets
        self._first_style = first_style
        self.device = device
        self.capacity = 2 * width

    def speak(self, requests: Requests) -> None:
        self._engine.speak(Rows(requests, self._sentences))

    def synthesis(self, query: AudioQuery, style_id: int, enable_interrogative_upspeak: bool, run: Run) -> Wave:
        alone = _Alone(query, style_id, run)
        self.speak(alone)
        return alone.wave()

    def warm_up(self) -> None:
        """A GPU shows only at work what it lacks. On a CPU the models are open, and a sentence would take long."""
        if self.device != "cpu":
            self.synthesis(AudioQuery([], kana=FIRST_TEXT), self._first_style, False, FreeRun())

    def _sentences(self, request: Request) -> Sequence[Sentence]:
        texts = sentences(request.query.kana or "")
        preset, sampling = self._presets(request.style_id), sampling_of(request.extras)
        seed = int(request.extras.get("seed", secrets.randbelow(2**32)))
        return [
            Sentence(self._tokenize(text), preset, sampling, seed + number, most_seconds=MOST_SECONDS)
            for number, text in enumerate(texts)
        ]


def sampling_of(extras: Mapping[str, int | float]) -> Sampling:
    """A temperature of 0 draws nothing, in no model; others are those of text and voice, as are `top_k` and `top_p`."""
    default = Sampling()
    top_k, top_p = extras.get("top_k"), extras.get("top_p")
    temperature = extras.get("temperature", default.semantic.temperature)
    draw = Draw(temperature, None if top_k is None else int(top_k), top_p)
    fine_temperature = None if temperature == 0 else default.fine_temperature
    return Sampling(draw, draw, fine_temperature, extras.get("min_eos_p", default.min_eos_p))


def open_voice(prepared: Prepared, device: Device) -> BarkVoice:
    """Raises NotPrepared."""
    options = device.options
    precision = cast(Precision, options["precision"])
    if not is_prepared(prepared.models, [precision]):
        raise NotPrepared(
            f"Bark's models for {precision} are missing in {prepared.models}: "
            f"run `koegumi prepare --bark DIR --device {device.kind}`"
        )
    width, memory = int(options["batch"]), options.get("memory")
    offload = cast(Offload, options["offload"])
    engine = Engine(
        prepared.models,
        device,
        precision,
        offload,
        width,
        None if memory is None else int(memory),
        fine_window=cast(FineWindow, options["fine_window"]),
    )

    no_preset = prepared.style_ids()[NO_PRESET]

    def preset(style_id: int) -> Preset | None:
        return None if style_id == no_preset else load_preset(prepared.preset(style_id))

    return BarkVoice(engine, TextTokenizer(prepared.tokenizer), preset, no_preset, device.kind, width)


@dataclass
class _Alone:
    """One request, and where it waits."""

    query: AudioQuery
    style_id: int
    run: Run
    extras: Mapping[str, int | float] = field(default_factory=dict)
    _taken: bool = False
    _result: Wave | Exception | None = None

    def take(self) -> Request | None:
        taken, self._taken = self._taken, True
        return None if taken else self

    def check(self) -> None:
        self.run.check()

    def progress(self, stage: str, share: float) -> None:
        """Nobody asks."""

    def done(self, wave: Wave) -> None:
        self._result = wave

    def failed(self, error: Exception) -> None:
        self._result = error

    def wave(self) -> Wave:
        """Raises what the request failed of, and Cancelled."""
        if self._result is None:
            self.run.check()
        if isinstance(self._result, Exception):
            raise self._result
        assert self._result is not None
        return self._result
