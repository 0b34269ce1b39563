"""Progress of a sweep."""

from __future__ import annotations

import sys
import time
from typing import Callable, NamedTuple, Union

#: Seconds between two reports.
_EVERY_S = 0.5


class Progress(NamedTuple):
    """The state of a sweep that is running."""

    #: Rows that are written, those of an earlier run included.
    rows: int
    #: Rows of the whole sweep.
    points: int
    #: Rows of this run per second.
    rows_per_s: float
    #: Seconds until the last row at this rate; infinite before the first row.
    left_s: float
    #: Units that run at once.
    workers: int


#: A function that is called about twice a second; True for a line on standard error, False for none, None for a line
#: where standard error is a terminal.
Reporting = Union[Callable[[Progress], None], bool, None]


class Reporter:
    """Reports the progress as it is asked for."""

    def __init__(self, reporting: Reporting, points: int, rows: int) -> None:
        is_line = sys.stderr.isatty() if reporting is None else reporting is True
        self._call = reporting if callable(reporting) else _line if is_line else None
        self._has_line = self._call is _line
        self._points = points
        self._before = rows
        self._start = self._last = time.monotonic()

    def report(self, rows: int, workers: int) -> None:
        """Reports if it is time to, and at the end."""
        now = time.monotonic()
        if self._call is None or (now < self._last + _EVERY_S and rows < self._points):
            return
        self._last = now
        rows_per_s = (rows - self._before) / max(now - self._start, 1e-9)
        left = self._points - rows
        left_s = left / rows_per_s if rows_per_s else float("inf" if left else 0)
        self._call(Progress(rows, self._points, rows_per_s, left_s, workers))

    def close(self) -> None:
        """Ends the line."""
        if self._has_line and sys.stderr.isatty():
            sys.stderr.write("\n")


def duration(seconds: float) -> str:
    """``40 s``, ``12 minutes`` or ``139 hours``."""
    for unit, name in ((3600, "hours"), (60, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:_.0f} {name}"
    return f"{seconds:.0f} s"


def _line(progress: Progress) -> None:
    left = f", about {duration(progress.left_s)} left" if progress.rows_per_s and progress.left_s >= 1 else ""
    workers = "1 worker" if progress.workers == 1 else f"{progress.workers} workers"
    text = f"{progress.rows} of {progress.points} deployments, {progress.rows_per_s:.0f}/s{left}, {workers}"
    sys.stderr.write(f"\r{text}\x1b[K" if sys.stderr.isatty() else f"{text}\n")
    sys.stderr.flush()
