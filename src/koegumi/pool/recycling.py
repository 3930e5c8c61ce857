"""When a worker that is well is replaced by a fresh one: native libraries leak and fragment."""

from __future__ import annotations

from dataclasses import dataclass

from koegumi.pool.local import LocalSlot
from koegumi.pool.memory import resident_bytes


@dataclass(frozen=True)
class Recycling:
    """Limits of one worker; None for none. Each worker has limits up to a tenth lower, so that they do not all go at
    once."""

    jobs: int | None = None
    resident_bytes: int | None = None

    def reason(self, slot: LocalSlot) -> str | None:
        """Why this worker has lived long enough, None if it has not."""
        statistics = slot.statistics()
        if self.jobs is not None and statistics.jobs_done >= self.jobs * slot.jitter:
            return f"it has done {statistics.jobs_done} jobs"
        if self.resident_bytes is not None and statistics.pid is not None:
            resident = resident_bytes(statistics.pid)
            if resident is not None and resident >= self.resident_bytes * slot.jitter:
                return f"it holds {resident} bytes"
        return None
