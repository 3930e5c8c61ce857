"""Settings: command line, then KOEGUMI_* environment variables, then defaults that fit the machine."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import platformdirs
from pydantic import AliasChoices, ByteSize, Field, SecretStr, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from koegumi import machine
from koegumi.schema.stored import CorsPolicyMode

PREFIX = "KOEGUMI_"
# Kokoro's peak for one worker, rounded up: 961 MB were measured for 28 s of sound.
BYTES_A_WORKER = 1_000_000_000
# A body has to fit into one frame to a worker, with what is around it.
MOST_BODY_BYTES = 64_000_000
# Variables of ours that are no settings of the server.
OTHER_VARIABLES = {
    "KOEGUMI_OPEN_JTALK_DICT",
    "KOEGUMI_REFERENCE_DATA",
    "KOEGUMI_TEST_VOICE",
    "KOEGUMI_GPU_MEMORY",
    "KOEGUMI_FAULT_SECONDS",
}


@dataclass(frozen=True)
class DeviceChoice:
    """`kind` is cpu or cuda; `indices` the GPUs to use, empty for the CPU."""

    kind: str
    indices: tuple[int, ...] = ()

    @staticmethod
    def parse(text: str) -> DeviceChoice:
        """`cpu`, `cuda` (every GPU there is, at least number 0) or `cuda:0,1`. Raises ValueError."""
        if text == "cpu":
            return DeviceChoice("cpu")
        if text == "cuda":
            return DeviceChoice("cuda", tuple(range(max(1, machine.gpu_count()))))
        if re.fullmatch(r"cuda:\d+(,\d+)*", text):
            return DeviceChoice("cuda", tuple(int(index) for index in text.removeprefix("cuda:").split(",")))
        raise ValueError(f"{text!r} is no device; use cpu, cuda or cuda:0,1")


def _also(name: str, variable: str, default: Any = None, **bounds: Any) -> Any:
    """A setting that VOICEVOX ENGINE's environment variable sets too; ours wins."""
    return Field(default=default, **bounds, validation_alias=AliasChoices(PREFIX + name.upper(), variable))


class Settings(BaseSettings):
    """Every setting of `koegumi serve`; a list in the environment is separated by the platform's path separator."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, extra="ignore", enable_decoding=False, populate_by_name=True, loc_by_alias=False
    )

    host: str = _also("host", "VV_HOST", "localhost")
    port: int = _also("port", "VV_PORT", 50021, ge=0, le=65535)
    synthesis_workers: int | None = Field(default=None, ge=1, le=1024)
    query_workers: int | None = Field(default=None, ge=1, le=1024)
    threads: int = Field(default=1, ge=1, le=1024)
    device: str = "cpu"
    # `--use_gpu` is `--device cuda`; this is the variable, which is asked only where nothing says the device.
    use_gpu: bool = _also("use_gpu", "VV_USE_GPU", False)
    cpu_num_threads: int | None = _also("cpu_num_threads", "VV_CPU_NUM_THREADS", ge=0)
    voices: list[Path] = []
    state_dir: Path = Path(platformdirs.user_data_dir("koegumi"))
    preset_file: Path | None = _also("preset_file", "VV_PRESET_FILE")
    setting_file: Path | None = None
    cors_policy_mode: CorsPolicyMode | None = None
    allow_origin: list[str] | None = None
    disable_mutable_api: bool = _also("disable_mutable_api", "VV_DISABLE_MUTABLE_API", False)
    cache_dir: Path = Path(platformdirs.user_cache_dir("koegumi"))
    # Style ids whose models are opened at the start; all with `load_all_models`.
    preload: list[int] = []
    load_all_models: bool = False
    # Seconds after which models that nobody uses are closed.
    unload_after: float | None = Field(default=None, gt=0)
    max_waiting: int = Field(default=256, ge=1)
    max_backlog: float = Field(default=600.0, gt=0)
    watchdog: float = Field(default=30.0, gt=0)
    # The keys themselves, one a line. `--api-keys` is the file.
    api_keys: SecretStr = SecretStr("")
    api_keys_file: Path | None = None
    drain: float = Field(default=25.0, ge=1)
    recycle_jobs: int | None = Field(default=None, ge=1)
    recycle_memory: ByteSize | None = Field(default=None, ge=1)
    max_query_bytes: int = Field(default=2_000_000, ge=1, le=MOST_BODY_BYTES)
    max_list_bytes: int = Field(default=8_000_000, ge=1, le=MOST_BODY_BYTES)
    max_upload_bytes: int = Field(default=64_000_000, ge=1, le=MOST_BODY_BYTES)
    # The folder of a Bark model, for `koegumi prepare`.
    bark: Path | None = None
    bark_workers: int = Field(default=1, ge=1, le=1024)
    bark_precision: Literal["fp32", "fp16", "int8"] | None = None
    bark_offload: Literal["resident", "stage", "auto"] = "auto"
    bark_memory: ByteSize | None = Field(default=None, ge=1)
    bark_fine_window: Literal["full", "short"] = "full"
    bark_batch: int = Field(default=8, ge=1, le=64)
    max_unread_bytes: ByteSize = Field(default=ByteSize(256_000_000), ge=1)
    enable_cancellable_synthesis: bool = False
    manage_library: bool = False
    output_log_utf8: bool = _also("output_log_utf8", "VV_OUTPUT_LOG_UTF8", False)

    @field_validator("voices", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return [part for part in value.split(os.pathsep) if part] if isinstance(value, str) else value

    @field_validator("preload", mode="before")
    @classmethod
    def _split_styles(cls, value: object) -> object:
        return value.replace(",", " ").split() if isinstance(value, str) else value

    @field_validator("allow_origin", mode="before")
    @classmethod
    def _split_origins(cls, value: object) -> object:
        return value.split() if isinstance(value, str) else value

    @field_validator(
        *("disable_mutable_api", "preset_file", "host", "port", "use_gpu", "cpu_num_threads", "output_log_utf8"),
        mode="before",
    )
    @classmethod
    def _empty_is_unset(cls, value: object, info: ValidationInfo) -> object:
        """As VOICEVOX ENGINE reads its variables."""
        return value if value != "" else cls.model_fields[str(info.field_name)].default

    @field_validator("device")
    @classmethod
    def _check_device(cls, value: str) -> str:
        DeviceChoice.parse(value)
        return value

    @model_validator(mode="after")
    def _use_gpu(self) -> Settings:
        if self.use_gpu and "device" not in self.model_fields_set:
            self.device = "cuda"
        return self

    @model_validator(mode="after")
    def _precision_exists(self) -> Settings:
        missing = {"cpu": "fp16", "cuda": "int8"}[self.device_choice.kind]
        if self.bark_precision == missing:
            raise ValueError(f"Bark has no {missing} on {self.device_choice.kind} (--bark-precision)")
        return self

    @field_validator("api_keys_file")
    @classmethod
    def _holds_keys(cls, value: Path | None) -> Path | None:
        """A server that was meant to be locked must not stand open."""
        try:
            if value is not None and not _lines(value.read_text(encoding="utf-8")):
                raise ValueError(f"{value} holds no key")
        except OSError as error:
            raise ValueError(f"{value}: {error.strerror}") from None
        return value

    @property
    def all_api_keys(self) -> list[str]:
        """Of the environment and of the file."""
        in_file = self.api_keys_file.read_text(encoding="utf-8") if self.api_keys_file is not None else ""
        return [*_lines(self.api_keys.get_secret_value()), *_lines(in_file)]

    @property
    def library_dir(self) -> Path:
        """Of voice libraries that were installed over HTTP."""
        return self.state_dir / "libraries"

    @property
    def device_choice(self) -> DeviceChoice:
        return DeviceChoice.parse(self.device)

    @property
    def synthesis_worker_count(self) -> int:
        """One a GPU; on the CPU one a core (with `threads` threads each), but no more than memory has room for, and no
        more in any case than `cpu_num_threads` allows."""
        if self.device_choice.kind == "cuda":
            return self.synthesis_workers or len(self.device_choice.indices)
        most = self.cpu_num_threads // self.thread_count if self.cpu_num_threads else 1024
        return max(1, min(self.synthesis_workers or self._workers_with_room(), most))

    def _workers_with_room(self) -> int:
        memory = machine.usable_memory()
        room = memory // BYTES_A_WORKER if memory is not None else 1024
        return min(machine.usable_cores() // self.thread_count, room)

    @property
    def thread_count(self) -> int:
        """Of one synthesis worker."""
        return min(self.threads, self.cpu_num_threads or self.threads)

    @property
    def bark_options(self) -> dict[str, str]:
        """What a Bark worker is told. Half precision is for GPUs; int8 changes the sound, so it has to be asked for."""
        options = {
            "precision": self.bark_precision or ("fp32" if self.device_choice.kind == "cpu" else "fp16"),
            "offload": self.bark_offload,
            "batch": str(self.bark_batch),
            "fine_window": self.bark_fine_window,
        }
        return options if self.bark_memory is None else options | {"memory": str(int(self.bark_memory))}

    @property
    def query_worker_count(self) -> int:
        """One for every eight synthesis workers, at least one."""
        return self.query_workers or max(1, -(-self.synthesis_worker_count // 8))


def _lines(text: str) -> list[str]:
    """Without empty lines and those that begin with #."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def unknown_variables() -> list[str]:
    """KOEGUMI_* variables that name no setting: most likely misspelt."""
    known = {PREFIX + name.upper() for name in Settings.model_fields} | OTHER_VARIABLES
    return sorted(name for name in os.environ if name.startswith(PREFIX) and name not in known)
