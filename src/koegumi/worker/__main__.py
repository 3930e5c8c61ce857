"""`python -m koegumi.worker FD PARENT_PID LOG_FD`: one worker process.

The main thread does the work; a second thread reads frames, so that a cancel reaches a job that runs in native code,
and the end of the front ends this process at once.
"""

from __future__ import annotations

import os
import sys

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before anything imports onnxruntime


def main() -> None:
    from koegumi.worker.process import be_expendable, serve

    be_expendable(parent=int(sys.argv[2]))
    serve(fd=int(sys.argv[1]), log_fd=int(sys.argv[3]))


main()
