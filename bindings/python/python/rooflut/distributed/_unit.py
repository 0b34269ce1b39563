"""Units of a sweep: ranges of rows, simulated by workers."""

from __future__ import annotations

import os
import socket
import threading
import time
import zlib
from dataclasses import dataclass
from typing import Dict, List, NamedTuple, Optional, Tuple

from .. import _rooflut
from .._rooflut import RooflutError, SweepUnits

#: Sweeps that a process keeps open: their tables, traces and deployments serve all of its units.
_KEPT = 2
_opened: Dict[Tuple[Tuple[str, ...], str], SweepUnits] = {}
_opening = threading.Lock()


@dataclass(frozen=True)
class Job:
    """The sweep that units belong to."""

    #: Arguments of ``rooflut sweep``.
    arguments: Tuple[str, ...]
    #: Identifies grid, files, version and tables.
    fingerprint: str
    #: The driver's version.
    version: str
    #: Threads of each unit.
    threads: int
    #: Compressed JSON Lines, if the points are listed rather than all combinations.
    points: Optional[bytes]


class Rows(NamedTuple):
    """The rows of a unit."""

    csv: bytes
    failed: int
    remarks: List[str]
    #: Time of the simulation.
    seconds: float


def simulate(job: Job, start: int, end: int) -> Rows:
    """Simulates the rows from ``start`` to ``end``: the same bytes whenever and wherever it runs."""
    units = _units(job)
    began = time.perf_counter()
    csv, failed, remarks = units.rows(start, end, job.threads)
    return Rows(csv, failed, remarks, time.perf_counter() - began)


def keep(job: Job, units: SweepUnits) -> None:
    """Keeps an open sweep for units in this process."""
    with _opening:
        _keep(job, units)


def _keep(job: Job, units: SweepUnits) -> None:
    while len(_opened) >= _KEPT:
        del _opened[next(iter(_opened))]
    _opened[job.arguments, job.fingerprint] = units


def _units(job: Job) -> SweepUnits:
    """Opens the sweep once in a process, if it is that of the driver."""
    with _opening:
        units = _opened.get((job.arguments, job.fingerprint))
        if units is None:
            units = _open(job)
            _keep(job, units)
        return units


def _open(job: Job) -> SweepUnits:
    worker = f"worker {socket.gethostname()} (process {os.getpid()})"
    version = _rooflut.version()
    if version != job.version:
        raise RooflutError(
            f"{worker}: expected rooflut {job.version}, as the driver has, found {version}; install the same package on "
            "all workers"
        )
    try:
        units = SweepUnits(list(job.arguments), job.points and zlib.decompress(job.points))
    except RooflutError as error:
        raise RooflutError(
            f"{worker}: cannot open the sweep that the driver has opened: {error}; name files by absolute paths at which "
            "each worker reads the same"
        ) from error
    if units.fingerprint != job.fingerprint:
        raise RooflutError(
            f"{worker}: expected grid {job.fingerprint}, as the driver has, found {units.fingerprint}: its files or tables "
            "have other contents; make the same files readable on all workers"
        )
    return units
