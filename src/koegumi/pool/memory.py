"""What a worker holds of the machine's memory."""

from __future__ import annotations

import os
from pathlib import Path

PROC = Path("/proc")


def resident_bytes(pid: int, proc: Path = PROC) -> int | None:
    """Resident memory, pages that it shares with others included; None where the kernel does not say."""
    try:
        return int((proc / str(pid) / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return None
