"""One job's run: what a voice asks whether it should stop (`voices.interface.Run`)."""

from __future__ import annotations

import threading
from typing import Any

from koegumi.voices.interface import Cancelled


class JobRun:
    """Cancelled from the listening thread, asked from the working one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._options: Any = None
        self.is_cancelled = False

    def check(self) -> None:
        if self.is_cancelled:
            raise Cancelled

    def options(self) -> Any:
        """A fresh RunOptions for one `session.run`; a terminated one would stop the next run too."""
        import onnxruntime

        options = onnxruntime.RunOptions()
        with self._lock:
            self._options = options
            options.terminate = self.is_cancelled
        return options

    def cancel(self) -> None:
        with self._lock:
            self.is_cancelled = True
            if self._options is not None:
                self._options.terminate = True
