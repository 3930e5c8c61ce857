"""The command line: `koegumi serve`, `koegumi prepare` and `koegumi voices`."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from koegumi import __version__, reference_options
from koegumi.settings import Settings, unknown_variables


def main(arguments: Sequence[str] | None = None) -> None:
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before anything imports onnxruntime
    options = vars(_parser().parse_args(arguments))
    command = options.pop("command")
    files: list[Path] = options.pop("files", [])
    if command == "serve":
        reference_options.translate(options)
    reference_options.check_environment()
    try:
        settings = Settings(**{name: value for name, value in options.items() if value is not None})
    except ValidationError as error:
        sys.exit("\n".join(_sentence(e["loc"], e["msg"]) for e in error.errors()))
    for name in unknown_variables():
        print(f"koegumi: {name} is no setting of this version; it is ignored", file=sys.stderr)
    if settings.output_log_utf8:
        _log_in_utf8()
    sys.exit(_voices(files, settings) if command == "voices" else _COMMANDS[command](settings))


def _log_in_utf8() -> None:
    """Here, and in the workers, which write to the same place."""
    os.environ["PYTHONIOENCODING"] = "utf-8:backslashreplace"
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _sentence(location: tuple[int | str, ...], message: str) -> str:
    """What is wrong with several settings together has no location."""
    name = ".".join(map(str, location))
    return f"koegumi: {name}: {message}" if name else f"koegumi: {message.removeprefix('Value error, ')}"


def _serve(settings: Settings) -> int:
    from koegumi.server import run

    return run(settings)


def _prepare(settings: Settings) -> int:
    from koegumi.prepare import prepare

    return prepare(settings)


def _voices(files: Sequence[Path], settings: Settings) -> int:
    from koegumi import voices_command

    return voices_command.check(files) if files else voices_command.list_voices(settings)


_COMMANDS = {"serve": _serve, "prepare": _prepare}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="koegumi",
        description="A crew of voices: text-to-speech over VOICEVOX ENGINE's API, on many workers.",
        epilog="Every option is also an environment variable: --query-workers is KOEGUMI_QUERY_WORKERS.",
    )
    parser.add_argument("--version", action="version", version=f"koegumi {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    _add_serve(commands.add_parser("serve", help="run the server"))
    _add_prepare(commands.add_parser("prepare", help="make the voices ready, once"))
    _add_voices(commands.add_parser("voices", help="explain files of voices, or list what there is"))
    return parser


def _add_voices(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    check = actions.add_parser("check", help="explain VVM files; exit code 1 where one is not as it should be")
    check.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="a .vvm, or a folder of them or of its members"
    )
    listed = actions.add_parser("list", help="list what a server with these options would offer")
    _add_common(listed)
    listed.add_argument("--state-dir", type=Path, metavar="PATH", help="where installed libraries are")


def _add_prepare(parser: argparse.ArgumentParser) -> None:
    _add_common(parser)
    parser.add_argument(
        "--bark", type=Path, metavar="DIR", help="make the voices of the Bark model in this folder ready"
    )


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", help="cpu, cuda or cuda:0,1 (default cpu)")
    parser.add_argument(
        "--voices",
        nargs="+",
        type=Path,
        metavar="PATH",
        help="VVM files, folders of them and plugin folders, in place of all other voices",
    )
    parser.add_argument("--cache-dir", type=Path, metavar="PATH", help="where prepared voices are")


def _add_serve(parser: argparse.ArgumentParser) -> None:
    _add_common(parser)
    parser.add_argument("--host", help="name or address to listen on (default localhost: IPv4 and IPv6)")
    parser.add_argument("--port", type=int, help="default 50021; 0 for any free one")
    parser.add_argument(
        "--synthesis-workers", type=int, metavar="N", help="default: one a core or GPU, as memory allows"
    )
    parser.add_argument("--query-workers", type=int, metavar="M", help="default: one for every 8 synthesis workers")
    parser.add_argument("--threads", type=int, metavar="T", help="threads of one synthesis worker (default 1)")
    parser.add_argument(
        "--state-dir", type=Path, metavar="PATH", help="where dictionary, presets and settings are kept"
    )
    parser.add_argument(
        "--preset_file", type=Path, metavar="PATH", help="default: presets.yaml in the state dir (or VV_PRESET_FILE)"
    )
    parser.add_argument("--setting_file", type=Path, metavar="PATH", help="default: setting.yml in the state dir")
    parser.add_argument(
        "--cors_policy_mode",
        choices=["localapps", "all"],
        help="pages that may use the server: of this machine, or all (default: as the setting file says, or localapps)",
    )
    parser.add_argument("--allow_origin", nargs="*", metavar="ORIGIN", help="origins that may use the server too")
    parser.add_argument(
        "--disable_mutable_api",
        action="store_true",
        default=None,
        help="refuse to change dictionary, presets and settings (or VV_DISABLE_MUTABLE_API=1)",
    )
    parser.add_argument("--max-waiting", type=int, metavar="N", help="requests that may wait in a queue (default 256)")
    parser.add_argument(
        "--max-backlog", type=float, metavar="SECONDS", help="work that may wait in a queue (default 600 s)"
    )
    parser.add_argument(
        "--watchdog",
        type=float,
        metavar="SECONDS",
        help="the least time that a job may take before its worker is killed",
    )
    parser.add_argument(
        "--api-keys",
        dest="api_keys_file",
        type=Path,
        metavar="FILE",
        help="keys that clients need, one a line (KOEGUMI_API_KEYS holds the keys themselves)",
    )
    parser.add_argument(
        "--drain", type=float, metavar="SECONDS", help="how long the server finishes its work once told to end"
    )
    parser.add_argument(
        "--recycle-jobs", type=int, metavar="N", help="replace a worker after so many jobs (default: never)"
    )
    parser.add_argument(
        "--recycle-memory", metavar="SIZE", help="replace a worker that holds so much memory, as 2GB (default: never)"
    )
    parser.add_argument("--max-query-bytes", type=int, metavar="N", help="body with one query (default 2 MB)")
    parser.add_argument("--max-list-bytes", type=int, metavar="N", help="body with several queries (default 8 MB)")
    parser.add_argument("--max-upload-bytes", type=int, metavar="N", help="body with sounds or words (default 64 MB)")
    parser.add_argument(
        "--preload", nargs="+", type=int, metavar="STYLE", help="styles whose models are opened at the start"
    )
    parser.add_argument(
        "--unload-after", type=float, metavar="SECONDS", help="close models that nobody uses so long (default: never)"
    )
    _add_bark(parser)
    parser.add_argument(
        "--max-unread-bytes", metavar="SIZE", help="finished sound that slow clients may leave unread (default 256MB)"
    )
    reference_options.add_options(parser)


def _add_bark(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Bark", "for voices that `koegumi prepare --bark DIR` has made ready")
    group.add_argument("--bark-workers", type=int, metavar="N", help="default 1")
    group.add_argument(
        "--bark-precision", choices=["fp32", "fp16", "int8"], help="default: fp32 on the CPU, fp16 on a GPU"
    )
    group.add_argument(
        "--bark-offload",
        choices=["resident", "stage", "auto"],
        help="keep all four models in memory, or one at a time, or as --bark-memory allows (default auto)",
    )
    group.add_argument(
        "--bark-memory", metavar="SIZE", help="for the models of one worker (default: half of what is free)"
    )
    group.add_argument(
        "--bark-fine-window",
        choices=["full", "short"],
        help="fill the fine model's window with padding, as transformers does, or end it with the sentence, which is "
        "quicker (default full)",
    )
    group.add_argument("--bark-batch", type=int, metavar="N", help="sentences that are spoken together (default 8)")
