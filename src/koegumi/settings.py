"""Settings: command line, then KOEGUMI_* environment variables, then defaults that fit the machine."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs
from pydantic import AliasChoices, Field, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from koegumi import machine
from koegumi.schema.stored import CorsPolicyMode

PREFIX = "KOEGUMI_"
# Kokoro's peak for one worker, rounded up: 961 MB were measured for 28 s of sound.
BYTES_A_WORKER = 1_000_000_000
# Variables of ours that are no settings of the server.
OTHER_VARIABLES = {"KOEGUMI_OPEN_JTALK_DICT", "KOEGUMI_REFERENCE_DATA", "KOEGUMI_GPU_MEMORY"}


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


def _also(name: str, variable: str, default: Any = None) -> Any:
    """A setting that VOICEVOX ENGINE's environment variable sets too; ours wins."""
    return Field(default=default, validation_alias=AliasChoices(PREFIX + name.upper(), variable))


class Settings(BaseSettings):
    """Every setting of `koegumi serve`; a list in the environment is separated by the platform's path separator."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", enable_decoding=False, populate_by_name=True)

    host: str = "localhost"
    port: int = Field(default=50021, ge=0, le=65535)
    synthesis_workers: int | None = Field(default=None, ge=1, le=1024)
    query_workers: int | None = Field(default=None, ge=1, le=1024)
    threads: int = Field(default=1, ge=1, le=1024)
    device: str = "cpu"
    voices: list[Path] = []
    state_dir: Path = Path(platformdirs.user_data_dir("koegumi"))
    preset_file: Path | None = _also("preset_file", "VV_PRESET_FILE")
    setting_file: Path | None = None
    cors_policy_mode: CorsPolicyMode | None = None
    allow_origin: list[str] | None = None
    disable_mutable_api: bool = _also("disable_mutable_api", "VV_DISABLE_MUTABLE_API", False)
    cache_dir: Path = Path(platformdirs.user_cache_dir("koegumi"))
    max_waiting: int = Field(default=256, ge=1)
    max_backlog: float = Field(default=600.0, gt=0)
    watchdog: float = Field(default=30.0, gt=0)

    @field_validator("voices", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return [part for part in value.split(os.pathsep) if part] if isinstance(value, str) else value

    @field_validator("allow_origin", mode="before")
    @classmethod
    def _split_origins(cls, value: object) -> object:
        return value.split() if isinstance(value, str) else value

    @field_validator("disable_mutable_api", "preset_file", mode="before")
    @classmethod
    def _empty_is_unset(cls, value: object, info: ValidationInfo) -> object:
        """As VOICEVOX ENGINE reads its variables."""
        return value if value != "" else cls.model_fields[str(info.field_name)].default

    @field_validator("device")
    @classmethod
    def _check_device(cls, value: str) -> str:
        DeviceChoice.parse(value)
        return value

    @property
    def device_choice(self) -> DeviceChoice:
        return DeviceChoice.parse(self.device)

    @property
    def synthesis_worker_count(self) -> int:
        """One a GPU; on the CPU one a core (with `threads` threads each), but no more than memory has room for."""
        if self.synthesis_workers is not None:
            return self.synthesis_workers
        if self.device_choice.kind == "cuda":
            return len(self.device_choice.indices)
        memory = machine.usable_memory()
        room = memory // BYTES_A_WORKER if memory is not None else 1024
        return int(max(1, min(machine.usable_cores() // self.threads, room)))

    @property
    def query_worker_count(self) -> int:
        """One for every eight synthesis workers, at least one."""
        return self.query_workers or max(1, -(-self.synthesis_worker_count // 8))


def unknown_variables() -> list[str]:
    """KOEGUMI_* variables that name no setting: most likely misspelt."""
    known = {PREFIX + name.upper() for name in Settings.model_fields} | OTHER_VARIABLES
    return sorted(name for name in os.environ if name.startswith(PREFIX) and name not in known)
