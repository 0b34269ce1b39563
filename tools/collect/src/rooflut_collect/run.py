"""The loop over the rows of a shard."""

import socket
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Protocol

from . import __version__, bounds
from .errors import DeviceLost, NoKernel, OutOfMemory, UserError
from .gpus import Sheet
from .log import FAILED, OK, OOM, Log, Records
from .operations import Row
from .progress import Progress

#: A reason is a line of a log, not a traceback.
_LONGEST_REASON = 400


@dataclass(frozen=True)
class Measurement:
    """Result of a benchmark of a row."""

    latency_us: float
    p10_us: float
    p90_us: float
    repetitions: int
    #: Kernel calls in each repetition, on operands of their own.
    calls: int
    backend: str
    #: Wall time of the loops that repeat the kernel, warm-up and cache flushes included.
    loop_s: float
    #: The part of it that flushed the cache.
    flush_s: float = 0.0
    sm_mhz: float | None = None
    mem_mhz: float | None = None
    power_w: float | None = None
    celsius: float | None = None


class Bench(Protocol):
    """Measures rows on a device. Raises `OutOfMemory`, `NoKernel`, `DeviceLost`, or anything else."""

    def measure(self, row: Row) -> Measurement: ...
    def close(self) -> None: ...


@dataclass
class Outcome:
    """Summary of a run."""

    counts: dict[str, int]
    wall_s: float = 0.0
    loop_s: float = 0.0
    flush_s: float = 0.0
    #: Rows are left, and only another process can measure them.
    lost: bool = False


def todo(rows: Sequence[Row], records: Records, retry: bool = False) -> list[Row]:
    """The rows that a log has no outcome of; with `retry`, those that failed as well."""
    done = {key for key, record in records.rows.items() if not retry or record["status"] == OK}
    return [row for row in rows if row.key not in done]


def session(device: dict, sheet: Sheet, shard: str, timing: str) -> dict:
    """The record that a process began."""
    return {
        "kind": "session",
        "at": now(),
        "version": __version__,
        "host": socket.gethostname(),
        "shard": shard,
        "timing": timing,
        "device": device,
        "sheet": {"name": sheet.name, "values": sheet.values},
    }


def measure(rows: Sequence[Row], log: Log, bench: Bench, sheet: Sheet, progress: Progress) -> Outcome:
    """Measures `rows` one after the other; each outcome is in the log before the next begins."""
    outcome = Outcome({OK: 0, OOM: 0, FAILED: 0})
    for row in rows:
        began = time.monotonic()
        try:
            record = _outcome(row, bench, sheet)
        except DeviceLost as error:
            outcome.lost = True
            if not error.by_row:
                break
            record = {"status": FAILED, "reason": _reason(error)}
        seconds = time.monotonic() - began
        log.append({"kind": "row", "key": row.key, **record, "wall_s": round(seconds, 4), "at": now()})
        outcome.counts[record["status"]] += 1
        outcome.loop_s += record.get("loop_s", 0.0)
        outcome.flush_s += record.get("flush_s", 0.0)
        text = f"{record['latency_us']:.2f} us" if record["status"] == OK else record["status"]
        progress.row(row.operation, seconds, f"{row.key}: {text}")
        if record["status"] != OK:
            progress.note(f"{record['status']}: {row.key}: {record['reason']}")
        if outcome.lost:
            break
    return outcome


def _outcome(row: Row, bench: Bench, sheet: Sheet) -> dict:
    try:
        measured = bench.measure(row)
    except OutOfMemory as error:
        return {"status": OOM, "reason": _reason(error)}
    except (DeviceLost, UserError):
        raise
    except NoKernel as error:
        return {"status": FAILED, "reason": _reason(error)}
    except Exception as error:  # A kernel may raise anything; the run goes on.
        return {"status": FAILED, "reason": _reason(error, type(error).__name__)}
    values = asdict(measured)
    # As the tables have it: rounding must not lift a row above a bound.
    values |= {name: round(values[name], 3) for name in ("latency_us", "p10_us", "p90_us")}
    values |= {name: round(values[name], 5) for name in ("loop_s", "flush_s")}
    if not values["latency_us"] > 0.0:
        return {"status": FAILED, "reason": f"measured {measured.latency_us} us", **values}
    wrong = bounds.impossible(row, values["latency_us"], sheet)
    if wrong:
        reason = f"measured {values['latency_us']} us, which cannot be: {wrong}"
        return {"status": FAILED, "reason": reason, **values}
    return {"status": OK, **values}


def _reason(error: Exception, name: str = "") -> str:
    text = " ".join(str(error).split())[:_LONGEST_REASON]
    return ": ".join(part for part in (name, text) if part) or type(error).__name__


def now() -> str:
    """The time, in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
