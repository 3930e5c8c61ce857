"""VOICEVOX ENGINE's options and variables, so that a command line of its own can be pasted behind `koegumi serve`.

What it keeps on disk has its options in `cli`; the rest is here, in our words where we have a word for it.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

# It is code of our tests, so only a checkout has it.
MOCK_CAST = Path(__file__).parents[2] / "tests" / "cast"
# There is nothing like them here: what they name belongs to VOICEVOX's own core.
IGNORED = ("voicevox_dir", "voicelib_dir", "runtime_dir")


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("VOICEVOX ENGINE's options")
    group.add_argument(
        "--use_gpu",
        action=argparse.BooleanOptionalAction,
        help="--device cuda, or --device cpu (or VV_USE_GPU)",
    )
    group.add_argument(
        "--cpu_num_threads",
        type=int,
        metavar="N",
        help="the most threads of all synthesis workers together (or VV_CPU_NUM_THREADS; default: no such limit)",
    )
    group.add_argument(
        "--load_all_models", action="store_true", default=None, help="open the models of all voices at the start"
    )
    group.add_argument("--enable_cancellable_synthesis", action="store_true", default=None)
    group.add_argument("--init_processes", type=int, metavar="N", help="--synthesis-workers")
    group.add_argument(
        "--output_log_utf8",
        action="store_true",
        default=None,
        help="write the log in UTF-8 whatever the locale (or VV_OUTPUT_LOG_UTF8)",
    )
    group.add_argument("--enable_mock", action="store_true", help="serve the mock voices of our tests")
    group.add_argument(
        "--manage_library", action="store_true", default=None, help="voice libraries may be installed over HTTP"
    )
    for name in IGNORED:
        group.add_argument(f"--{name}", action="append", metavar="PATH", help="accepted and ignored")


def translate(options: dict[str, Any]) -> None:
    """Replace them in the parsed options by names of `Settings`. Exits where one cannot be obeyed."""
    use_gpu = options.pop("use_gpu")
    if use_gpu is not None and options["device"] is None:
        options["device"] = "cuda" if use_gpu else "cpu"
    processes = options.pop("init_processes")
    if options["synthesis_workers"] is None:
        options["synthesis_workers"] = processes
    if options.pop("enable_mock"):
        _add_mock(options)
    for name in IGNORED:
        if options.pop(name):
            _warn(f"--{name} is ignored: no voice of this server comes from VOICEVOX's core")


def _add_mock(options: dict[str, Any]) -> None:
    if not (MOCK_CAST / "family.py").is_file():
        sys.exit("koegumi: --enable_mock: the mock voices (tests/cast) are in a checkout of the source only")
    options["voices"] = [*(options["voices"] or []), MOCK_CAST]


def check_environment() -> None:
    """Take out of the environment what VOICEVOX ENGINE ignores with a warning: ports and switches that are none."""
    port = os.environ.get("VV_PORT", "")
    if port and not (port.isdecimal() and int(port) <= 65535):
        _warn(f"VV_PORT={port} is no port; it is ignored")
        del os.environ["VV_PORT"]
    for name in ("VV_USE_GPU", "VV_OUTPUT_LOG_UTF8", "VV_DISABLE_MUTABLE_API"):
        if os.environ.get(name, "") not in ("", "0", "1"):
            _warn(f"{name}={os.environ[name]} is neither 0 nor 1; it is ignored")
            del os.environ[name]


def _warn(text: str) -> None:
    print(f"koegumi: {text}", file=sys.stderr)
