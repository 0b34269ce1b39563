"""Writes what logs hold as a table set: `set.toml` and a CSV per operation.

Columns and keys are those that rooflut's code generator reads; it refuses others, so spread, clocks
and failures are in `measurements.csv`, beside the set's folder.
"""

import csv
import io
import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import __version__, bounds
from .errors import UserError, comma
from .folder import write_atomically
from .gpus import Sheet
from .log import OK, Records
from .operations import OPERATIONS, Row

#: Below this a table would claim that a kernel takes no time of its own.
_LEAST_T0_US = 0.1

#: The sets that rooflut brings; another of such a name is refused there.
BUILT_IN = ("a100", "b200", "b300", "gb200", "gb300", "h100", "h200", "l40s", "l40s-p2p", "rtx-pro-6000")

_DETAILS = ("status", "latency_us", "p10_us", "p90_us", "repetitions", "calls", "backend")
_DETAILS += ("sm_mhz", "mem_mhz", "power_w", "celsius", "at", "reason")


@dataclass(frozen=True)
class About:
    """Description of a set: its `set.toml` without the measurements."""

    name: str
    license: str
    sheet: Sheet


def write(folder: Path, about: About, plan: Sequence[Row], records: Records) -> Path | None:
    """Writes `folder`/NAME with the rows of `plan` that were measured, and `measurements.csv`.

    Returns the set's folder, or `None` where nothing was measured.
    """
    _write_measurements(folder / "measurements.csv", plan, records)
    measured = [row for row in plan if records.rows.get(row.key, {}).get("status") == OK]
    if not measured:
        return None
    target = folder / about.name
    target.mkdir(parents=True, exist_ok=True)
    sections = []
    for operation in OPERATIONS.values():
        rows = sorted((row for row in measured if row.operation == operation.name), key=lambda r: r.values)
        path = target / operation.file
        if not rows:
            path.unlink(missing_ok=True)
            continue
        latencies = [records.rows[row.key]["latency_us"] for row in rows]
        lines = [[*row.values, f"{us:.3f}"] for row, us in zip(rows, latencies)]
        write_atomically(path, _csv([*operation.columns, "latency_us"], lines))
        t0 = min(us - bounds.bound_us(row, about.sheet) for row, us in zip(rows, latencies))
        sections.append(f"[{operation.name}]\nt0_us = {max(t0, _LEAST_T0_US):.3f}\n")
    write_atomically(target / "set.toml", _set_toml(about, records, measured, sections))
    return target


def _set_toml(about: About, records: Records, rows: Sequence[Row], sections: list[str]) -> str:
    """The text of a `set.toml`; versions and clocks are in its texts, as it has no keys for them."""
    outcomes = [records.rows[row.key] for row in rows]
    first, last = (pick(outcome["at"] for outcome in outcomes) for pick in (min, max))
    days = first[:10] if first[:10] == last[:10] else f"{first[:10]} to {last[:10]}"
    devices = _distinct(session["device"] for session in records.sessions)
    versions = _distinct(_versions(device) for device in devices)
    timing = _distinct(session["timing"] for session in records.sessions)
    collector = _distinct(session["version"] for session in records.sessions) or [__version__]
    texts = {
        "name": about.name,
        "engine": comma(_engines(records, rows)),
        "timing": "; ".join([*timing, *_clocks(outcomes)]),
        "source": f"rooflut-collect {comma(collector)} on {comma(_names(devices))}; "
        f"{'; '.join(versions)}; {days}",
        "license": about.license,
        "date": last[:10],
    }
    lines = [f"{key} = {_toml(value)}" for key, value in texts.items()]
    if about.sheet.known:
        lines.insert(1, f"gpu = {_toml(about.sheet.name)}")
    rejected = [f"# {line}" for line in _rejections(records, rows)]
    if rejected:
        rejected.insert(0, "# Libraries that were tried before the kernels above:")
    t0 = "# t0_us: the least time that a row took beyond its FLOPs and bytes. Caches were cold: no hot_read."
    text = "\n".join([*lines, *rejected, "", t0, "", "\n".join(sections)])
    return text if about.sheet.known else text + "\n" + _own_gpu(about.sheet)


def _own_gpu(sheet: Sheet) -> str:
    values = {"name": sheet.name, **sheet.values}
    return "[gpu]\n" + "".join(f"{key} = {_toml(value)}\n" for key, value in values.items())


def _engines(records: Records, rows: Sequence[Row]) -> list[str]:
    """`torch 2.9.0 (gemm bf16, gemm fp8)`, for each library with the variants it was used for."""
    used: dict[str, list[str]] = {}
    for kernel in _kernels(records, rows):
        if kernel["backend"]:
            used.setdefault(kernel["version"], []).append(kernel["variant"])
    return [f"{version} ({comma(_distinct(those))})" for version, those in used.items()]


def _rejections(records: Records, rows: Sequence[Row]) -> list[str]:
    return _distinct(
        f"{kernel['variant']}: {rejected['backend']}: {rejected['reason']}"
        for kernel in _kernels(records, rows)
        for rejected in kernel["rejected"]
    )


def _kernels(records: Records, rows: Sequence[Row]) -> list[dict]:
    """The choices for the variants of `rows`, in their order."""
    order = {variant: place for place, variant in enumerate(dict.fromkeys(row.variant for row in rows))}
    chosen = [kernel for kernel in records.kernels if kernel["variant"] in order]
    return sorted(chosen, key=lambda kernel: order[kernel["variant"]])


def _clocks(outcomes: list[dict]) -> list[str]:
    """`SM clock 1980 MHz (1755 to 1980), …`, where it is known."""
    texts = []
    for name, label, unit in (
        ("sm_mhz", "SM clock", "MHz"),
        ("mem_mhz", "memory clock", "MHz"),
        ("power_w", "power", "W"),
    ):
        values = [outcome[name] for outcome in outcomes if outcome.get(name) is not None]
        if values:
            middle = statistics.median(values)
            texts.append(f"{label} {middle:.0f} {unit} ({min(values):.0f} to {max(values):.0f})")
    return texts


def _versions(device: dict) -> str:
    return comma(f"{key} {value}" for key, value in device.items() if key not in ("name", "uuid"))


def _names(devices: list[dict]) -> list[str]:
    return _distinct(device["name"] for device in devices)


def _distinct(values) -> list:
    """Each value once, in the order of their first appearance."""
    found: list = []
    for value in values:
        if value not in found:
            found.append(value)
    return found


def _toml(value) -> str:
    """A TOML value: JSON has the same strings and numbers."""
    return json.dumps(value, ensure_ascii=False)


def _write_measurements(path: Path, plan: Sequence[Row], records: Records) -> None:
    lines = []
    for row in plan:
        record = records.rows.get(row.key)
        if record is not None:
            lines.append([row.key, *(_text(record.get(name)) for name in _DETAILS)])
    write_atomically(path, _csv(["row", *_DETAILS], lines))


def _text(value) -> str:
    return "" if value is None else str(value)


def _csv(header: Sequence[str], lines: list[list]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(lines)
    return text.getvalue()


def check_name(name: str) -> str:
    """A name that rooflut accepts: it becomes that of a constant, and is no built-in set's."""
    if name in BUILT_IN:
        raise UserError(f"--name {name}: rooflut has a built-in set of that name; try {name}-measured")
    simple = name[:1].isascii() and name[:1].islower()
    if (
        not simple
        or name == "all"
        or any(not (c.isascii() and (c.islower() or c.isdigit() or c == "-")) for c in name)
    ):
        raise UserError(
            f"--name {name}: expected lower-case letters, digits and hyphens, starting with a letter"
        )
    return name
