"""The function that runs a sweep on an engine."""

from __future__ import annotations

import json
import os
import time
import zlib
from typing import Any, Callable, Iterable, List, Mapping, NamedTuple, Union, cast, overload

from .. import _rooflut
from .._commands import Flag, flags
from .._rooflut import RooflutError, SweepUnits, UnitsOut
from .._sweep import Sweep
from ._driver import Driver
from ._engine import Engine, Named, engine as engine_of
from ._progress import Reporter, Reporting
from ._unit import Job, keep

#: Arguments of :func:`rooflut.sweep` that this function replaces, or that need all rows.
_ELSEWHERE = {
    "shard": "workers divide the grid anyway; leave it out",
    "merge": "expected no shards to merge; use rooflut.sweep",
    "plot": "expected no charts; draw them with the command rooflut sweep --merge",
    "pareto": "expected no charts; list the front with the command rooflut sweep --merge",
    "submit": "expected an engine; submit with the command rooflut sweep",
    "html": "expected no report; write it with the command rooflut sweep --merge",
}


#: Mappings with the keys of a deployment and its load, or the path of a file of them.
Points = Union[str, "os.PathLike[str]", Iterable[Mapping[str, Any]], None]


class Written(NamedTuple):
    """The output of a sweep that is complete."""

    #: A CSV file, or a folder of Parquet files.
    path: str
    #: Rows of the output.
    rows: int
    #: Rows that this call has simulated.
    simulated: int
    #: Rows with an error among them.
    failed: int
    #: Units that were begun again, because a worker failed or was late.
    retries: int
    #: Seconds from the first unit to the last row.
    seconds: float
    #: Seconds of all workers in their units.
    worker_s: float
    #: Remarks on servers that are not those to which the constants of their engines were fitted.
    remarks: List[str]


@overload
def sweep(
    *,
    engine: Named,
    out: None = None,
    threads: int | None = None,
    workers: int | None = None,
    resume: bool = False,
    progress: Reporting = None,
    max_points: int = 1_000_000,
    points: Points = None,
    **grid: Flag,
) -> Sweep: ...
@overload
def sweep(
    *,
    engine: Named,
    out: str | os.PathLike[str],
    threads: int | None = None,
    workers: int | None = None,
    resume: bool = False,
    progress: Reporting = None,
    max_points: int = 1_000_000,
    points: Points = None,
    **grid: Flag,
) -> Written: ...
def sweep(
    *,
    engine: Named,
    out: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    workers: int | None = None,
    resume: bool = False,
    progress: Reporting = None,
    max_points: int = 1_000_000,
    points: Points = None,
    **grid: Flag,
) -> Union[Sweep, Written]:
    """Runs a grid of deployments and loads on many workers: the rows of :func:`rooflut.sweep` with these arguments.

    ``engine`` is ``"ray"`` (the cluster that this process, this machine or ``RAY_ADDRESS`` has), ``"dask"`` (the
    default client), a client of Dask, or an executor of ``concurrent.futures``; ``rooflut[ray]`` and ``rooflut[dask]``
    install the first two. Each worker needs the same rooflut, and reads the files of the grid itself.

    ``out`` is a CSV file, or a folder ``NAME.parquet``: each row is written as soon as those before it are, in the bytes
    of one machine, and memory does not grow with the grid. The answer is then a :class:`Written`, and otherwise the
    rows. ``resume`` goes on with the output of a sweep that was interrupted, wherever that ran.

    ``threads`` is the number of threads of a worker's unit, 1 by default: a unit takes that many CPUs of a Ray cluster
    or threads of a Dask worker, or one worker of an executor. ``workers`` is the number of workers of an executor,
    which the pools of ``concurrent.futures`` tell: for another one, such as Dask's ``client.get_executor()``, it is
    that of this machine's CPUs by default. ``progress`` is a function that takes a :class:`Progress`, or whether to
    write a line to standard error (by default, to a terminal).

    ``points`` lists deployments that are not all combinations: mappings with the same keys, ``{"tp": 2, "rate": 4}``, or
    the path of a file of JSON Lines with them. The other arguments of the grid then have one value each. A list goes to
    a worker with each unit; a file is read by the workers themselves.

    A unit of rows whose worker dies is simulated elsewhere, up to three times again. Ctrl-C cancels what has not begun.
    """
    for name, advice in _ELSEWHERE.items():
        if grid.get(name) is not None:
            raise RooflutError(f"{name}: {advice}")
    numbers: dict[str, Any] = {"threads": threads, "workers": workers, "max_points": max_points}
    for name, number in numbers.items():
        if number is not None and not (isinstance(number, int) and number >= 1):
            raise RooflutError(f"{name}: expected a whole number from 1, found {number!r}; correct it")
    if resume and out is None:
        raise RooflutError("resume: expected a file in out, found none; name it")
    lines = None
    if isinstance(points, (str, os.PathLike)):
        grid["points"] = points
    elif points is not None:
        lines = "\n".join(map(_line, points)).encode()
    arguments = [*flags(grid), f"--max-points={max_points}"]
    of_output = flags({"out": out}) + (["--resume"] if resume else [])
    units = SweepUnits(arguments + of_output, lines)
    compressed = None if lines is None else zlib.compress(lines)
    job = Job(tuple(arguments), units.fingerprint, _rooflut.version(), threads or 1, compressed)
    keep(job, units)
    started = engine_of(engine, job, workers)
    try:
        units.check_size(max_points, started.slots())
        if out is None:
            return _in_memory(units, started, progress)
        return _to(os.fspath(out), units, started, progress)
    finally:
        started.close()


def _line(point: object) -> str:
    if not isinstance(point, Mapping):
        raise RooflutError(f'points: expected mappings such as {{"tp": 2}}, found {type(point).__name__}; correct them')
    return json.dumps(dict(cast("Mapping[str, Any]", point)), default=_plain)


def _plain(value: Any) -> object:
    """Returns a number of NumPy as one of Python, and a path as text."""
    item: Union[Callable[[], object], None] = getattr(value, "item", None)
    return os.fspath(cast("os.PathLike[str]", value)) if item is None else item()


def _in_memory(units: SweepUnits, workers: Engine, progress: Reporting) -> Sweep:
    parts = [units.header()]
    driver = Driver(workers, 0, units.points)
    reporter = Reporter(progress, units.points, 0)
    rows = 0

    def take(csv: bytes) -> None:
        nonlocal rows
        rows += units.check(csv, rows)
        parts.append(csv)

    try:
        driver.run(take, lambda slots: reporter.report(rows, slots))
    finally:
        reporter.close()
    return Sweep(b"".join(parts).decode())


def _to(path: str, units: SweepUnits, workers: Engine, progress: Reporting) -> Written:
    output: UnitsOut = units.open()
    began = time.monotonic()
    before = output.rows
    driver = Driver(workers, before, units.points)
    reporter = Reporter(progress, units.points, before)
    try:
        driver.run(output.push, lambda slots: reporter.report(output.rows, slots))
        rows = output.rows
    finally:
        # Rows that are in memory alone are written, so that a sweep that ends early goes on behind them.
        output.close()
        reporter.close()
    seconds = time.monotonic() - began
    remarks = sorted(driver.remarks)
    return Written(path, rows, rows - before, driver.failed, driver.retries, seconds, driver.worker_s, remarks)
