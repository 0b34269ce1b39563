"""A line that says how far the run is and how long it will take."""

import sys
import time
from collections import defaultdict

#: Seconds between lines where the output is no terminal.
_LINE_EVERY = 30.0
_WIDTH = 24


class Progress:
    """Written to stderr: one line that changes on a terminal, now and then a line elsewhere."""

    def __init__(self, operations: list[str], stream=None):
        self._left = defaultdict(int)
        for operation in operations:
            self._left[operation] += 1
        self._total = len(operations)
        self._done = 0
        self._spent = defaultdict(lambda: [0, 0.0])
        self._stream = stream or sys.stderr
        self._last_line = time.monotonic()

    def row(self, operation: str, seconds: float, text: str) -> None:
        """A row is done."""
        self._done += 1
        self._left[operation] -= 1
        self._spent[operation][0] += 1
        self._spent[operation][1] += seconds
        filled = _WIDTH * self._done // self._total
        bar = "#" * filled + "." * (_WIDTH - filled)
        line = f"[{bar}] {self._done}/{self._total}, {duration(self.seconds_left())} left: {text}"
        if self._stream.isatty():
            self._stream.write(f"\r\x1b[K{line[:150]}")
            self._stream.flush()
        elif self._done == self._total or time.monotonic() - self._last_line > _LINE_EVERY:
            self._last_line = time.monotonic()
            self._stream.write(line + "\n")
            self._stream.flush()

    def seconds_left(self) -> float:
        """Time for the remaining rows, each at the average of its operation so far."""
        rows = sum(rows for rows, _ in self._spent.values())
        mean = sum(seconds for _, seconds in self._spent.values()) / max(rows, 1)
        left = 0.0
        for operation, count in self._left.items():
            rows, seconds = self._spent.get(operation, (0, 0.0))
            left += count * (seconds / rows if rows else mean)
        return left

    def note(self, text: str) -> None:
        """A line that stays."""
        clear = "\r\x1b[K" if self._stream.isatty() else ""
        self._stream.write(f"{clear}{text}\n")
        self._stream.flush()

    def close(self) -> None:
        """Ends the changing line."""
        if self._stream.isatty() and self._done:
            self._stream.write("\n")


def duration(seconds: float) -> str:
    """`42 s`, `7 min`, `3.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
