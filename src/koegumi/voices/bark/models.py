"""The four models, opened from the cache: all at once in memory, or one after another."""

from __future__ import annotations

import ctypes
import gc
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from koegumi.voices.bark import coarse, semantic
from koegumi.voices.bark.buffers import Cache
from koegumi.voices.bark.codec import reflect_left
from koegumi.voices.bark.codec_graph import FRAMES, WAVE
from koegumi.voices.bark.embeddings import Embeddings, Table
from koegumi.voices.bark.nodes import Precision
from koegumi.voices.bark.rows import Tokens, Wave
from koegumi.voices.bark.shape import Shape, Stack
from koegumi.voices.bark.stack import FIRST, HEAD, HIDDEN, LAST, LOGITS, PAST_LENGTHS, TOTAL_LENGTH, keys, values
from koegumi.voices.interface import Device
from koegumi.voices.sessions import providers, session_options

Floats = NDArray[np.float32]
SHAPE = "bark.json"


def graph_path(folder: Path, stage: str, precision: Precision) -> Path:
    return folder / f"{stage}-{'fp32' if stage == 'codec' else precision}.onnx"


def open_graph(path: Path, device: Device) -> ort.InferenceSession:
    options = session_options(device)
    # A plan of the memory for each length of a sentence costs more memory than it saves, and no time without it.
    options.enable_mem_pattern = False
    if device.kind == "cuda":
        # Weights outside of the arena go back to the driver with the session; nothing may slip to the CPU unseen.
        options.add_session_config_entry("session.use_device_allocator_for_initializers", "1")
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    return ort.InferenceSession(str(path), options, providers=providers(device))


class Causal:
    """The semantic or the coarse model, with keys and values for `rows` rows of `positions`."""

    def __init__(self, session: ort.InferenceSession, stack: Stack, rows: int, positions: int, device: str) -> None:
        self._session = session
        self._stack, self._rows, self._positions, self._device = stack, rows, positions, device
        numbers = range(stack.layers)
        self._past = [part(layer, "past") for layer in numbers for part in (keys, values)]
        self._present = [part(layer, "present") for layer in numbers for part in (keys, values)]
        types = {value.name: value for value in session.get_inputs()}
        self._kind: np.dtype[Any] = np.dtype(np.float16 if "float16" in types[HIDDEN].type else np.float32)
        self._logits = next(value for value in session.get_outputs() if value.name == LOGITS).shape[1]
        self._cache: Cache | None = None
        self._bindings: dict[tuple[int, int], tuple[Any, Floats]] = {}

    def run(self, place: int, hidden: Floats, lengths: NDArray[np.int64]) -> Floats:
        """See `batch.CausalModel`. The logits are good until the next run."""
        binding, logits = self._binding(place, len(hidden))
        lasts = (lengths - 1).astype(np.int32)
        total = np.array([lengths.max()], np.int32)
        binding.bind_cpu_input(HIDDEN, np.ascontiguousarray(hidden, self._kind))
        binding.bind_cpu_input(PAST_LENGTHS, lasts)
        binding.bind_cpu_input(TOTAL_LENGTH, total)
        self._session.run_with_iobinding(binding)
        return logits

    def move(self, source: int, target: int, length: int) -> bool:
        return self._cache is not None and self._cache.move(source, target, length)

    def rest(self) -> None:
        """Give the memory of keys and values back; the next run takes it again."""
        self._bindings.clear()
        self._cache = None

    def _binding(self, place: int, rows: int) -> tuple[Any, Floats]:
        if self._cache is None:
            self._cache = Cache.make(self._stack, self._rows, self._positions, self._device, self._kind)
        if (place, rows) not in self._bindings:
            binding = self._session.io_binding()
            logits = np.zeros((rows, self._logits), np.float32)
            self._cache.bind(binding, self._past, self._present, place, rows)
            binding.bind_output(LOGITS, "cpu", 0, np.float32, logits.shape, logits.ctypes.data)
            self._bindings[place, rows] = binding, logits
        return self._bindings[place, rows]


class Fine:
    def __init__(self, session: ort.InferenceSession, embeddings: Embeddings, given: int) -> None:
        self._session, self._embeddings, self._given = session, embeddings, given
        self._kind = np.float16 if "float16" in session.get_inputs()[0].type else np.float32

    def run(self, codes: Tokens, codebook: int, first: int, last: int) -> Floats:
        """See `fine.FineModel`: what is seen are the codebooks up to and with the one that is made."""
        hidden = self._embeddings.tokens.rows(codes[..., 0])
        for number in range(1, codebook + 1):
            hidden += self._embeddings.tokens.rows(codes[..., number], number)
        hidden += self._embeddings.positions[: codes.shape[1]]
        numbers = {FIRST: first, LAST: last, HEAD: codebook - self._given}
        feeds = {name: np.array([number], np.int64) for name, number in numbers.items()}
        logits: Floats = self._session.run([LOGITS], {HIDDEN: hidden.astype(self._kind, copy=False), **feeds})[0]
        return logits


class Codec:
    def __init__(self, session: ort.InferenceSession, codebooks: Table, padding: int) -> None:
        self._session, self._codebooks, self._padding = session, codebooks, padding

    def run(self, codes: Tokens) -> Wave:
        frames = np.zeros((codes.shape[1], self._codebooks.size), np.float32)
        for number, row in enumerate(codes):
            frames += self._codebooks.rows(row, number)
        wave = self._session.run([WAVE], {FRAMES: reflect_left(frames.T, self._padding)[None]})[0]
        return np.asarray(wave[0, 0], np.float32)


class Models:
    """Opens a model when it is used; the one before it is closed first, unless `keep`."""

    def __init__(
        self, folder: Path, device: Device, precision: Precision, keep: bool, rows: int, most_tokens: int | None
    ) -> None:
        self.shape = Shape.load(folder / SHAPE)
        self.semantic_embeddings = Embeddings.open(folder, "semantic")
        self.coarse_embeddings = Embeddings.open(folder, "coarse")
        self._fine_embeddings = Embeddings.open(folder, "fine")
        self._codebooks = Embeddings.open(folder, "codec").tokens
        self._folder, self._device, self._precision = folder, device, precision
        self._keep, self._rows, self._most_tokens = keep, rows, most_tokens
        self._open: dict[str, Any] = {}

    def use(self, stage: str) -> Any:
        """Causal, Fine or Codec."""
        if stage not in self._open:
            if not self._keep:
                self.close()
            session = open_graph(graph_path(self._folder, stage, self._precision), self._device)
            self._open[stage] = self._make(stage, session)
        return self._open[stage]

    def open_all(self) -> None:
        """What would be open anyway: all four, or the first."""
        for stage in ("semantic", "coarse", "fine", "codec") if self._keep else ("semantic",):
            self.use(stage)

    def rest(self, stage: str) -> None:
        """The stage has no work for now."""
        model = self._open.get(stage)
        if isinstance(model, Causal):
            model.rest()

    def close(self) -> None:
        """Drop all sessions and give their memory back to the system."""
        if self._open:
            self._open.clear()
            gc.collect()
            trim()

    def _make(self, stage: str, session: ort.InferenceSession) -> Causal | Fine | Codec:
        shape, device = self.shape, self._device.kind
        if stage == "semantic":
            return Causal(session, shape.semantic, self._rows, semantic.room(shape, self._most_tokens), device)
        if stage == "coarse":
            return Causal(session, shape.coarse, self._rows, coarse.room(shape), device)
        if stage == "fine":
            return Fine(session, self._fine_embeddings, shape.fine.codebooks_given)
        return Codec(session, self._codebooks, shape.codec.kernel - 1)


def weights_size(folder: Path, precision: Precision) -> int:
    """Bytes of all four models."""
    paths = (graph_path(folder, stage, precision) for stage in ("semantic", "coarse", "fine", "codec"))
    return sum(path.with_name(f"{path.name}.weights").stat().st_size for path in paths)


def trim() -> None:
    """glibc keeps what was freed until it is asked."""
    if sys.platform == "linux":
        trimmed = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trimmed is not None:
            trimmed(0)
