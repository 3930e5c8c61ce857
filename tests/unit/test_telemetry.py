"""The log of a process whose standard error is no terminal: one JSON object a line, whoever logs."""

from __future__ import annotations

import json
import subprocess
import sys

SCRIPT = """
import logging, structlog
from koegumi.telemetry import configure_logging

configure_logging()
log = structlog.get_logger("koegumi.test")
with structlog.contextvars.bound_contextvars(request_id="r-1"):
    log.info("声", seconds=1.5)
    logging.getLogger("uvicorn.error").warning("number %d", 7, extra={"color_message": "no"})
log.debug("unheard")
text = "a secret"
try:
    len(text) / 0
except ZeroDivisionError:
    log.exception("broken")
"""


def test_all_lines_are_json() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, check=True, encoding="utf-8")
    ours, theirs, error = (json.loads(line) for line in done.stderr.splitlines())
    for line in (ours, theirs, error):
        line.pop("timestamp")
    common = {"level": "info", "logger": "koegumi.test", "request_id": "r-1"}
    assert ours == common | {"event": "声", "seconds": 1.5}
    assert theirs == common | {"event": "number 7", "level": "warning", "logger": "uvicorn.error"}
    assert (error["event"], error["level"]) == ("broken", "error")
    assert error["exception"].endswith("ZeroDivisionError: division by zero")
    assert "secret" not in done.stderr
    assert done.stdout == ""
