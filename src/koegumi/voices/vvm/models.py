"""The models of VVM files as sessions: opened at their first use, closed when they idle."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from koegumi.voices.interface import Device, VoiceError
from koegumi.voices.sessions import DeviceNotUsed, open_session
from koegumi.voices.vvm.domains import DOMAINS
from koegumi.voices.vvm.inspection import VvmFile
from koegumi.voices.vvm.signature import Port, Signature

# These do nearly all of the work; the others run on the CPU always, as in VOICEVOX CORE.
HEAVY = frozenset({"decode", "render_audio_segment", "sf_decode"})

_TYPES = {"tensor(float)": "float32", "tensor(int64)": "int64"}


@dataclass
class _Open:
    session: ort.InferenceSession
    used: float


class Models:
    """Those `operations` (by domain) of the files that one voice uses. One thread: what is cold is loaded once."""

    def __init__(
        self,
        files: Iterable[VvmFile],
        operations: Mapping[str, Sequence[str]],
        device: Device,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.device = device
        self._operations = operations
        self._clock = clock
        self._files = {style.id: file for file in files for character in file.characters for style in character.styles}
        self._types = {
            style.id: style.type for file in files for character in file.characters for style in character.styles
        }
        self._open: dict[tuple[VvmFile, str], _Open] = {}  # by file and member

    @property
    def styles(self) -> Mapping[int, str]:
        """Types by style id."""
        return self._types

    def has(self, style_id: int, domain: str) -> bool:
        return domain in self._files[style_id].manifest.domains

    def load(self, style_id: int, domains: Iterable[str]) -> None:
        """Raises VoiceError."""
        for domain in domains:
            for operation in self._operations.get(domain, ()):
                self._session(style_id, domain, operation)

    def is_loaded(self, style_id: int, domains: Iterable[str]) -> bool:
        file = self._files[style_id]
        return all(
            (file, file.manifest.domains[domain].operations[operation].filename) in self._open
            for domain in domains
            for operation in self._operations.get(domain, ())
        )

    def close_idle(self, seconds: float) -> float | None:
        """Close what was not used for so long; how long until the next is due, None where nothing is open."""
        now = self._clock()
        self._open = {key: model for key, model in self._open.items() if now - model.used < seconds}
        return min((model.used + seconds - now for model in self._open.values()), default=None)

    def run(
        self, style_id: int, domain: str, operation: str, inputs: Mapping[str, NDArray[Any]], options: Any = None
    ) -> NDArray[Any]:
        """The model's one output. Raises VoiceError."""
        session = self._session(style_id, domain, operation)
        wanted = DOMAINS[domain][operation]
        feeds = dict(inputs)
        if any(port.name == "speaker_id" for port in wanted.inputs):
            feeds["speaker_id"] = np.array([self._files[style_id].manifest.domains[domain].inner_id(style_id)])
        try:
            (output,) = session.run([wanted.outputs[0].name], feeds, options)
        except ort.capi.onnxruntime_pybind11_state.InvalidArgument as error:
            raise VoiceError(f"the voice's {operation} does not take this: {error}") from error
        return np.asarray(output)

    def _session(self, style_id: int, domain: str, operation: str) -> ort.InferenceSession:
        file = self._files[style_id]
        filename = file.manifest.domains[domain].operations[operation].filename
        model = self._open.get((file, filename))
        if model is None:
            device = self.device if operation in HEAVY else Device("cpu", self.device.threads)
            session = open_model(file, filename, DOMAINS[domain][operation], device)
            model = self._open[file, filename] = _Open(session, 0.0)
        model.used = self._clock()
        return model.session


def open_all(file: VvmFile) -> None:
    """Open each model once, on the CPU. Raises VoiceError."""
    for name, domain in file.manifest.domains.items():
        for operation, model in domain.operations.items():
            open_model(file, model.filename, DOMAINS[name][operation], Device())


def open_model(file: VvmFile, filename: str, wanted: Signature, device: Device) -> ort.InferenceSession:
    """Raises VoiceError, DeviceNotUsed."""
    try:
        session = open_session(file.read_model(filename), device)
    except DeviceNotUsed:
        raise
    except Exception as error:  # those of ONNX Runtime have no other base
        raise VoiceError(f"{filename} of {file.path.name} cannot be loaded: {error}") from error
    complaints = _signature(session).complaints(wanted)
    if complaints:
        raise VoiceError(f"{filename} of {file.path.name} cannot be used: its {complaints[0]}")
    return session


def _signature(session: ort.InferenceSession) -> Signature:
    """As the runtime sees it, with the ranks that it inferred."""

    def ports(arguments: Iterable[Any]) -> tuple[Port, ...]:
        return tuple(
            Port(argument.name, _TYPES.get(argument.type, argument.type), _rank(argument.shape))
            for argument in arguments
        )

    return Signature(ports(session.get_inputs()), ports(session.get_outputs()))


def _rank(shape: list[Any] | None) -> int | None:
    return None if shape is None else len(shape)
