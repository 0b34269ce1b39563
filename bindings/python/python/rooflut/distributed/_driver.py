"""The driver: divides a sweep into units, and takes their rows in the order of the grid."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Callable, Deque, Dict, Set

from .._rooflut import RooflutError
from ._engine import Engine
from ._unit import Rows

#: Seconds that a unit is to take.
UNIT_S = 1.0
#: Rows of the first units, by which the time of a row is measured.
_FIRST_ROWS = 16
#: Maximum number of rows of a unit: 2.6 MB where a row has 642 bytes.
_MOST_ROWS = 4_000
#: Factor by which units may grow at a time.
_GROWTH = 8
#: Units of each worker that run or wait to be run.
_SUBMITTED = 2
#: Units of each worker that are begun and not yet written.
_WINDOW = 4
#: Bytes of rows that wait for earlier rows, beyond which no unit is begun; those that run then add theirs.
_WAITING_BYTES = 256_000_000
#: Times that a unit is begun again.
_RETRIES = 3
#: Seconds, and multiples of a unit's time, after which the first missing unit runs once more elsewhere.
_LATE_S = 60.0
_LATE = 20.0
#: Seconds between two looks at the clock and at signals.
_PATIENCE_S = 0.25


@dataclass
class Unit:
    """A range of rows, and how often it was begun."""

    start: int
    end: int
    retries: int = 0
    began: float = field(default_factory=time.monotonic)


class Driver:
    """Simulates the rows from ``start`` to ``end`` on an engine, and passes them on in their order."""

    def __init__(self, engine: Engine, start: int, end: int) -> None:
        self._engine = engine
        self._end = end
        #: Begin of the next unit.
        self._next = start
        #: Units whose rows are not taken, in their order.
        self._units: Deque[Unit] = deque()
        self._running: Dict[Any, Unit] = {}
        self._ready: Dict[int, Rows] = {}
        self._ready_bytes = 0
        self._row_s = 0.0
        self._rows = _FIRST_ROWS
        self.failed = 0
        self.retries = 0
        self.worker_s = 0.0
        self.remarks: Set[str] = set()

    def run(self, take: Callable[[bytes], object], report: Callable[[int], object]) -> None:
        """Passes the bytes of each unit to ``take``, and the number of workers to ``report`` now and then."""
        try:
            while self._next < self._end or self._units:
                self._begin()
                for handle in self._engine.wait(self._running, _PATIENCE_S):
                    self._ended(handle)
                while self._units and self._units[0].start in self._ready:
                    rows = self._ready.pop(self._units.popleft().start)
                    self._ready_bytes -= len(rows.csv)
                    take(rows.csv)
                    self.failed += rows.failed
                self._repeat_late()
                report(self._engine.slots())
        finally:
            self._engine.cancel(self._running)

    def _begin(self) -> None:
        """Begins units as long as workers and memory are free."""
        slots = self._engine.slots()
        while (
            self._next < self._end
            and len(self._running) < _SUBMITTED * slots
            and len(self._units) < _WINDOW * slots
            and self._ready_bytes < _WAITING_BYTES
        ):
            unit = Unit(self._next, min(self._next + self._size(slots), self._end))
            self._submit(unit)
            self._units.append(unit)
            self._next = unit.end

    def _size(self, slots: int) -> int:
        """Returns the rows of the next unit: fewer towards the end, so that all workers end at about the same time."""
        share = (self._end - self._next) // (_SUBMITTED * slots)
        return max(1, min(self._rows, max(share, self._rows // 16)))

    def _submit(self, unit: Unit) -> None:
        try:
            handle = self._engine.submit(unit.start, unit.end)
        except Exception as error:
            raise _lost(unit, error, "the engine takes no more units") from error
        unit.began = time.monotonic()
        self._running[handle] = unit

    def _ended(self, handle: Any) -> None:
        unit = self._running.pop(handle, None)
        if unit is None:
            return
        try:
            rows = self._engine.result(handle)
        # The sweep itself, or a package of another version.
        except RooflutError:
            raise
        except (ImportError, AttributeError) as error:
            raise RooflutError(f"a worker cannot run units: {error}; install the same rooflut on all workers") from error
        # Futures of Dask that were cancelled raise the error of asyncio, which is no Exception.
        except BaseException as error:
            if isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit)):
                raise
            self._retry(unit, error)
        else:
            self._take(unit, rows)

    def _take(self, unit: Unit, rows: Rows) -> None:
        # A unit that ran twice has the same rows.
        if unit.start in self._ready or unit not in self._units:
            return
        count, found = unit.end - unit.start, rows.csv.count(b"\n")
        if found != count:
            self._retry(unit, ValueError(f"expected {count} rows of a worker, found {found}"))
            return
        self._ready[unit.start] = rows
        self._ready_bytes += len(rows.csv)
        self.remarks.update(rows.remarks)
        self.worker_s += rows.seconds
        row_s = rows.seconds / count
        self._row_s = (self._row_s + row_s) / 2 if self._row_s else row_s
        self._rows = max(1, min(int(UNIT_S / max(self._row_s, 1e-9)), _GROWTH * count, _MOST_ROWS))

    def _retry(self, unit: Unit, error: BaseException) -> None:
        is_missing = unit.start not in self._ready and unit in self._units
        if not is_missing or unit in self._running.values():
            return
        if unit.retries >= _RETRIES:
            raise _lost(unit, error, f"it was begun {_RETRIES + 1} times") from error
        unit.retries += 1
        self.retries += 1
        self._submit(unit)

    def _repeat_late(self) -> None:
        """Begins the first missing unit again if it takes far longer than others: its worker may be gone."""
        # Without a measured row nothing is late.
        if not self._units or not self._row_s:
            return
        unit = self._units[0]
        late_s = max(_LATE_S, _LATE * self._row_s * (unit.end - unit.start))
        if unit.retries < _RETRIES and time.monotonic() - unit.began > late_s:
            unit.retries += 1
            self.retries += 1
            self._submit(unit)


def _lost(unit: Unit, error: BaseException, problem: str) -> RooflutError:
    return RooflutError(
        f"rows {unit.start} to {unit.end - 1}: {problem}; the last error is {type(error).__name__}: {error}; the rows before "
        "them are kept, go on with resume=True"
    )
