"""A command line of VOICEVOX ENGINE means the same here, and who wins where it is said twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from koegumi import cli, machine, reference_options
from koegumi.settings import Settings
from tests.harness import CAST


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """What `serve` would have run with."""
    seen: list[Settings] = []

    def run(settings: Settings) -> int:
        seen.append(settings)
        return 0

    monkeypatch.setitem(cli._COMMANDS, "serve", run)
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8")  # given back afterwards
    return seen


def serve(parsed: list[Settings], *arguments: str) -> Settings:
    with pytest.raises(SystemExit) as ended:
        cli.main(["serve", *arguments])
    assert ended.value.code == 0
    return parsed[-1]


def test_a_command_line_of_the_reference_can_be_pasted(
    parsed: list[Settings], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "gpu_count", lambda: 1)
    settings = serve(
        parsed,
        *"--host 0.0.0.0 --port 50121 --use_gpu --voicevox_dir /opt/voicevox --runtime_dir /opt/onnxruntime".split(),
        *"--voicelib_dir /a --voicelib_dir /b --load_all_models --cpu_num_threads 4 --init_processes 3".split(),
        *"--enable_cancellable_synthesis --output_log_utf8 --disable_mutable_api --cors_policy_mode all".split(),
        *"--allow_origin http://a http://b --setting_file s.yml --preset_file p.yaml --manage_library".split(),
    )
    assert (settings.host, settings.port, settings.device) == ("0.0.0.0", 50121, "cuda")
    assert (settings.cpu_num_threads, settings.synthesis_workers) == (4, 3)
    assert settings.enable_cancellable_synthesis and settings.manage_library and settings.output_log_utf8
    warnings = capsys.readouterr().err
    assert [name for name in reference_options.IGNORED if f"--{name} is ignored" in warnings] == [
        *reference_options.IGNORED
    ]


def test_defaults_are_those_of_a_server_without_them(parsed: list[Settings]) -> None:
    settings = serve(parsed)
    assert settings == Settings()
    assert not (settings.enable_cancellable_synthesis or settings.manage_library or settings.output_log_utf8)
    assert (settings.device, settings.voices, settings.cpu_num_threads) == ("cpu", [], None)


@pytest.mark.parametrize(
    ("arguments", "device"),
    [
        (["--use_gpu"], "cuda"),
        (["--no-use_gpu"], "cpu"),
        (["--use_gpu", "--device", "cuda:1"], "cuda:1"),
        ([], "cuda:2"),
    ],
)
def test_the_device_of_the_argument_wins(parsed: list[Settings], arguments: list[str], device: str) -> None:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("KOEGUMI_DEVICE", "cuda:2")
        environment.setenv("VV_USE_GPU", "1")
        assert serve(parsed, *arguments).device == device


def test_ours_win_over_the_reference_s_variables(parsed: list[Settings], monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {"VV_HOST": "0.0.0.0", "VV_PORT": "1001", "VV_CPU_NUM_THREADS": "2", "VV_OUTPUT_LOG_UTF8": "1"}
    for name, value in {**variables, "VV_USE_GPU": "1"}.items():
        monkeypatch.setenv(name, value)
    settings = serve(parsed)
    assert (settings.host, settings.port, settings.cpu_num_threads) == ("0.0.0.0", 1001, 2)
    assert (settings.device, settings.output_log_utf8) == ("cuda", True)
    monkeypatch.setenv("KOEGUMI_PORT", "1002")
    assert serve(parsed).port == 1002
    assert serve(parsed, "--port", "1003").port == 1003


@pytest.mark.parametrize(("name", "value"), [("VV_PORT", "70000"), ("VV_PORT", "x"), ("VV_USE_GPU", "yes")])
def test_variables_that_mean_nothing_are_ignored_with_a_warning(
    parsed: list[Settings],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    value: str,
) -> None:
    monkeypatch.setenv(name, value)
    settings = serve(parsed)
    assert (settings.port, settings.device) == (50021, "cpu")
    assert f"{name}={value}" in capsys.readouterr().err


def test_empty_variables_are_none(parsed: list[Settings], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VV_HOST", "VV_PORT", "VV_USE_GPU", "VV_CPU_NUM_THREADS", "VV_OUTPUT_LOG_UTF8"):
        monkeypatch.setenv(name, "")
    assert serve(parsed) == Settings()


def test_a_number_of_threads_that_is_none_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VV_CPU_NUM_THREADS", "many")
    with pytest.raises(SystemExit) as ended:
        cli.main(["serve"])
    assert "cpu_num_threads" in str(ended.value.code)


@pytest.mark.parametrize(
    ("arguments", "workers", "threads"),
    [
        ({"cpu_num_threads": 4}, 4, 1),
        ({"cpu_num_threads": 0}, 8, 1),
        ({"cpu_num_threads": 4, "threads": 2}, 2, 2),
        ({"cpu_num_threads": 1, "threads": 2}, 1, 1),
        ({"cpu_num_threads": 6, "threads": 4}, 1, 4),
        ({"cpu_num_threads": 4, "synthesis_workers": 3}, 3, 1),
        ({"cpu_num_threads": 4, "synthesis_workers": 5}, 4, 1),
        ({"cpu_num_threads": 2, "synthesis_workers": 5, "device": "cuda:0"}, 5, 1),
    ],
)
def test_threads_are_capped(
    monkeypatch: pytest.MonkeyPatch, arguments: dict[str, object], workers: int, threads: int
) -> None:
    monkeypatch.setattr(machine, "usable_cores", lambda: 8)
    monkeypatch.setattr(machine, "usable_memory", lambda: None)
    settings = Settings.model_validate(arguments)
    assert (settings.synthesis_worker_count, settings.thread_count) == (workers, threads)


def test_the_mock_voices(parsed: list[Settings], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert serve(parsed, "--enable_mock").voices == [CAST]
    monkeypatch.setattr(reference_options, "MOCK_CAST", tmp_path / "cast")
    with pytest.raises(SystemExit) as ended:
        cli.main(["serve", "--enable_mock"])
    assert "checkout" in str(ended.value.code)
