"""What the server says of itself: its log, and its metrics for Prometheus."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TextIO

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from koegumi import __version__

if TYPE_CHECKING:  # workers log too, and have no dispatcher
    from koegumi.dispatch.statistics import DispatchStatistics
    from koegumi.pool.slot import SlotStatistics

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class _StandardError(logging.Handler):
    """Without a stream it asks for sys.stderr at each line: a progress bar puts its own stream there for a while."""

    def __init__(self, stream: TextIO | None) -> None:
        super().__init__()
        self._stream = stream

    def emit(self, record: logging.LogRecord) -> None:
        try:
            print(self.format(record), file=self._stream or sys.stderr, flush=True)
        except Exception:
            self.handleError(record)


def configure_logging(stream: TextIO | None = None) -> None:
    """Send structlog and the standard library's loggers to standard error, or to a stream: coloured lines on a
    terminal, else JSON."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    finish: list[structlog.typing.Processor] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    if (stream or sys.stderr).isatty():
        # Never with the frames' variables: texts of clients are among them.
        finish += [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
    else:
        finish += [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(ensure_ascii=False)]
    handler = _StandardError(stream)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=finish))
    logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.processors.StackInfoRenderer(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


class Metrics:
    """Counts jobs, as the dispatcher's observer, and shows queues and workers as they stand when asked."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each, of when it began
        self._registry = CollectorRegistry()
        self._jobs = Counter("koegumi_jobs", "Jobs by what came of them.", ["lane", "outcome"], registry=self._registry)
        self._refusals = Counter(
            "koegumi_refusals", "Jobs that were not taken, by reason.", ["lane", "reason"], registry=self._registry
        )
        self._quarantines = Counter(
            "koegumi_quarantines",
            "Jobs that ended workers and are refused for a while.",
            ["lane"],
            registry=self._registry,
        )
        self._queue_seconds = Histogram(
            "koegumi_job_queue_seconds", "Time in the queue.", ["lane"], buckets=SECONDS, registry=self._registry
        )
        self._work_seconds = Histogram(
            "koegumi_job_work_seconds", "Time in the worker.", ["lane"], buckets=SECONDS, registry=self._registry
        )
        self._first_byte_seconds = Histogram(
            "koegumi_first_byte_seconds",
            "From a request's arrival to the first byte of its answer's body.",
            ["path"],
            buckets=SECONDS,
            registry=self._registry,
        )
        self._answer_bytes = Counter(
            "koegumi_answer_bytes", "Bytes of answers' bodies.", ["path"], registry=self._registry
        )

    def job_finished(self, lane: str, outcome: str, queue_seconds: float, work_seconds: float) -> None:
        self._jobs.labels(lane, outcome).inc()
        if outcome != "refused":
            self._queue_seconds.labels(lane).observe(queue_seconds)
        if outcome == "done":
            self._work_seconds.labels(lane).observe(work_seconds)

    def job_refused(self, lane: str, why: str) -> None:
        self._refusals.labels(lane, why).inc()

    def job_quarantined(self, lane: str) -> None:
        self._quarantines.labels(lane).inc()

    def answered(self, path: str, first_byte_seconds: float, size: int) -> None:
        """A request has its answer. `path` is its route's: there are few."""
        self._first_byte_seconds.labels(path).observe(first_byte_seconds)
        self._answer_bytes.labels(path).inc(size)

    def watch_unread(self, total: Callable[[], int], dropped: Callable[[], int]) -> None:
        """Show what clients have not read yet, in bytes, and how many of them were dropped for it. Once."""
        unread = Gauge(
            "koegumi_unread_bytes", "Parts of answers that slow clients have still to read.", registry=self._registry
        )
        unread.set_function(total)
        self._registry.register(_Count("koegumi_slow_clients_dropped", "Clients dropped for reading slowly.", dropped))

    def watch(self, slots: Callable[[], Sequence[SlotStatistics]], dispatch: Callable[[], DispatchStatistics]) -> None:
        """Show what these say from now on. Once."""
        self._registry.register(_Watcher(slots, dispatch))

    def render(self) -> bytes:
        """The text format of Prometheus."""
        return generate_latest(self._registry)


class _Count(Collector):
    """A number that somebody else counts."""

    def __init__(self, name: str, text: str, count: Callable[[], int]) -> None:
        self._name, self._text, self._count = name, text, count

    def collect(self) -> Iterable[Metric]:
        yield CounterMetricFamily(self._name, self._text, self._count())


class _Watcher(Collector):
    def __init__(
        self, slots: Callable[[], Sequence[SlotStatistics]], dispatch: Callable[[], DispatchStatistics]
    ) -> None:
        self._slots = slots
        self._dispatch = dispatch

    def collect(self) -> Iterable[Metric]:
        info = GaugeMetricFamily("koegumi_info", "The server's version.", labels=["version"])
        info.add_metric([__version__], 1)
        yield info
        yield from self._lanes()
        yield from self._workers()

    def _lanes(self) -> Iterable[Metric]:
        waiting = GaugeMetricFamily("koegumi_queue_jobs", "Jobs that wait.", labels=["lane"])
        running = GaugeMetricFamily("koegumi_running_jobs", "Jobs that workers have.", labels=["lane"])
        backlog = GaugeMetricFamily(
            "koegumi_queue_backlog_seconds", "Predicted work of the jobs that wait.", labels=["lane"]
        )
        for lane, statistics in self._dispatch().lanes.items():
            waiting.add_metric([lane], statistics.waiting)
            running.add_metric([lane], statistics.running)
            backlog.add_metric([lane], statistics.backlog_seconds)
        return waiting, running, backlog

    def _workers(self) -> Iterable[Metric]:
        states: dict[tuple[str, str], int] = {}
        restarts: dict[str, int] = {}
        for slot in self._slots():
            for state in type(slot.state):  # a lane without any ready worker says 0
                states[slot.lane, state] = states.get((slot.lane, state), 0) + (state == slot.state)
            restarts[slot.lane] = restarts.get(slot.lane, 0) + slot.restarts
        workers = GaugeMetricFamily("koegumi_workers", "Workers by state.", labels=["lane", "state"])
        for key, count in states.items():
            workers.add_metric(key, count)
        restarted = CounterMetricFamily("koegumi_worker_restarts", "Workers that came back.", labels=["lane"])
        for lane, number in restarts.items():
            restarted.add_metric([lane], number)
        return workers, restarted
