"""A bar on the terminal while the workers load their voices."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from koegumi.pool.local import LocalSlot, WorkerPlan
from koegumi.wire.messages import Loading


class LoadingBar:
    """The `watcher` of a supervisor. Shows nothing where standard error is no terminal: the log tells it then."""

    def __init__(self, plans: Sequence[WorkerPlan]) -> None:
        self._loading = {plan.config.name for plan in plans}
        self._total = len(self._loading)
        columns = (TextColumn("loading voices"), BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("", total=self._total)

    def __enter__(self) -> LoadingBar:
        if sys.stderr.isatty():
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def __call__(self, slot: LocalSlot, step: Loading | None) -> None:
        if step is None:
            self._loading.discard(slot.name)
        elif slot.name not in self._loading:
            return  # a worker that comes back later
        text = f"{slot.name}: {step.what if step else 'ready'}"
        self._bar.update(self._task, completed=self._total - len(self._loading), description=text)
        if not self._loading:
            self._bar.stop()
