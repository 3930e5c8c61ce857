"""Settings: who wins, what is refused, and defaults that fit the machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ByteSize

from koegumi import cli, machine
from koegumi.crew import worker_plans
from koegumi.settings import DeviceChoice, Settings, unknown_variables
from koegumi.voices.catalog import Catalog, plugin_families, read_catalog
from koegumi.voices.interface import Places
from tests.harness import CAST


def test_the_environment_is_beaten_by_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOEGUMI_PORT", "7000")
    monkeypatch.setenv("KOEGUMI_QUERY_WORKERS", "3")
    settings = Settings(port=8000)
    assert (settings.port, settings.query_worker_count) == (8000, 3)


@pytest.mark.parametrize(
    ("variables", "preset_file", "is_fixed"),
    [
        ({"VV_PRESET_FILE": "/vv", "VV_DISABLE_MUTABLE_API": "1"}, Path("/vv"), True),
        ({"VV_PRESET_FILE": "", "VV_DISABLE_MUTABLE_API": ""}, None, False),
        (
            {"VV_PRESET_FILE": "/vv", "KOEGUMI_PRESET_FILE": "/ours", "VV_DISABLE_MUTABLE_API": "0"},
            Path("/ours"),
            False,
        ),
        ({"PRESET_FILE": "/nobody's", "DISABLE_MUTABLE_API": "1"}, None, False),
    ],
)
def test_the_reference_s_variables(
    variables: dict[str, str], preset_file: Path | None, is_fixed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert (Settings().preset_file, Settings().disable_mutable_api) == (preset_file, is_fixed)
    assert Settings(preset_file=Path("/argument")).preset_file == Path("/argument")


def test_several_origins(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Settings().allow_origin is None
    monkeypatch.setenv("KOEGUMI_ALLOW_ORIGIN", "https://a.example https://b.example")
    assert Settings().allow_origin == ["https://a.example", "https://b.example"]
    assert Settings(allow_origin=[]).allow_origin == []


def test_voices_come_as_a_path_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOEGUMI_VOICES", "/one:/two")
    assert Settings().voices == [Path("/one"), Path("/two")]


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("cpu", DeviceChoice("cpu")),
        ("cuda", DeviceChoice("cuda", (0,))),
        ("cuda:3", DeviceChoice("cuda", (3,))),
        ("cuda:0,1", DeviceChoice("cuda", (0, 1))),
    ],
)
def test_devices(text: str, choice: DeviceChoice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "gpu_count", lambda: 0)
    assert DeviceChoice.parse(text) == choice


def test_cuda_means_every_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "gpu_count", lambda: 3)
    assert Settings(device="cuda").synthesis_worker_count == 3


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (["--device", "gpu"], "device"),
        (["--device", "cuda:"], "device"),
        (["--port", "70000"], "port"),
        (["--synthesis-workers", "0"], "synthesis_workers"),
        (["--bark-batch", "0"], "bark_batch"),
        (["--bark-precision", "fp16"], "--bark-precision"),
        (["--device", "cuda", "--bark-precision", "int8"], "--bark-precision"),
    ],
)
def test_a_bad_argument_ends_with_its_name(arguments: list[str], field: str) -> None:
    with pytest.raises(SystemExit) as error:
        cli.main(["serve", *arguments])
    assert field in str(error.value.code)


@pytest.mark.parametrize(
    ("cores", "memory", "synthesis", "query"),
    [(2, 24_000_000_000, 2, 1), (16, 64_000_000_000, 16, 2), (8, 3_000_000_000, 3, 1), (4, 100, 1, 1), (4, None, 4, 1)],
)
def test_defaults_fit_the_machine(
    monkeypatch: pytest.MonkeyPatch, cores: int, memory: int | None, synthesis: int, query: int
) -> None:
    monkeypatch.setattr(machine, "usable_cores", lambda: cores)
    monkeypatch.setattr(machine, "usable_memory", lambda: memory)
    settings = Settings()
    assert (settings.synthesis_worker_count, settings.query_worker_count) == (synthesis, query)


def test_a_misspelt_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOEGUMI_SYNTESIS_WORKERS", "3")
    assert "KOEGUMI_SYNTESIS_WORKERS" in unknown_variables()


def test_each_gpu_worker_sees_its_own_gpu_and_no_cpu_worker_sees_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5")
    catalog = read_catalog(Places(Path(), (CAST,)))
    plans = worker_plans(Settings(device="cuda:0,1", voices=[CAST]), catalog)
    assert [(plan.config.name, plan.environment["CUDA_VISIBLE_DEVICES"]) for plan in plans] == [
        ("query-1", "-1"),
        ("synthesis-1", "4"),
        ("synthesis-2", "5"),
    ]


def test_a_lane_of_bark_has_workers_and_options_of_its_own() -> None:
    (family,) = plugin_families([CAST])
    first, *others = family.find(Places(Path()))
    catalog = Catalog((family, speaker) for speaker in [replace(first, lane="bark"), *others])
    plans = worker_plans(Settings(synthesis_workers=3, bark_batch=4, bark_memory=ByteSize(2_000_000_000)), catalog)
    assert [plan.config.name for plan in plans] == ["query-1", "bark-1", *(f"synthesis-{n}" for n in (1, 2, 3))]
    options = {"precision": "fp32", "offload": "auto", "batch": "4", "fine_window": "full", "memory": "2000000000"}
    assert [plan.config.options for plan in plans] == [{}, options, {}, {}, {}]
