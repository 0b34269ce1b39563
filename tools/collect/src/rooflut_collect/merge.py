"""Joins the logs of shards: what is missing, what disagrees, and the set of all.

A folder may hold all shards of a plan (on a volume that all jobs share), or several folders hold
some each. Shards of one plan must be of one device and one version of each kernel.
"""

import shlex
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from . import folder, log
from .errors import UserError, comma
from .folder import Collection
from .log import OK, Records
from .operations import Row
from .shard import Shard, format_indexes

#: Two measurements of one row may differ by this share of the smaller; the later one is taken.
_AGREE = 0.1


@dataclass
class Missing:
    """Missing rows of one plan."""

    collection: Collection
    #: A folder that it is collected into.
    out: Path
    #: Rows without an outcome, by shard.
    rows: dict[int, int]

    def text(self) -> str:
        """Lists the missing rows, and the commands that measure them."""
        out = shlex.quote(str(self.out))
        shards, plan, options = self.collection.shards, self.collection.arguments, self.collection.options
        # `manifest` has --device itself, and passes the others on.
        passed_on = [word if word.startswith("--device=") else f"--run={word}" for word in options]
        run, job = shlex.join([*plan, *options]), shlex.join([*plan, *passed_on])
        indexes = format_indexes(sorted(self.rows))
        lines = [
            f"{sum(self.rows.values())} rows are missing, of {len(self.rows)} of {shards} shards: {indexes}"
        ]
        lines += ["measure them with one of"]
        if shards == 1:
            lines += [f"  rooflut-collect run {run} --out {out}"]
        else:
            lines += [
                f"  sbatch --array={indexes} SCRIPT        # the script of the first time",
                f"  rooflut-collect manifest kubernetes {job} --shards {shards} --indexes {indexes} …"
                "  # with the options of the first time",
                f"  for i in {_words(sorted(self.rows))}; do rooflut-collect run {run} --shard $i/{shards} "
                f"--out {out}; done",
            ]
        return "\n".join(lines)


@dataclass
class Merged:
    """All logs, joined."""

    plan: list[Row]
    records: Records
    missing: list[Missing] = field(default_factory=list)


def merge(folders: Sequence[Path]) -> Merged:
    """Joins the logs of `folders`.

    Fails where they are of several devices, or of several versions of a kernel, or where a row was
    measured twice with different results.
    """
    collections = [(path, folder.read(path)) for path in folders]
    logs = [(path, log.read(path)) for each in folders for path in sorted((each / "log").glob("*.jsonl"))]
    _check_devices(collections, logs)
    _check_kernels(logs)
    joined = Records()
    for _, records in logs:
        joined.sessions += records.sessions
        joined.kernels += records.kernels
    joined.rows = _join_rows(logs)
    plans = {(each.plan.digest, each.shards): (each, path) for path, each in collections}
    plan = list(dict.fromkeys(row for each, _ in plans.values() for row in each.plan.rows))
    missing = [each for each in (_missing(*both, joined) for both in plans.values()) if each.rows]
    return Merged(plan, joined, missing)


def _missing(collection: Collection, out: Path, records: Records) -> Missing:
    rows = {}
    for index in range(collection.shards):
        shard = Shard(index, collection.shards).take(collection.plan.rows)
        count = sum(row.key not in records.rows for row in shard)
        if count:
            rows[index] = count
    return Missing(collection, out, rows)


def _check_devices(collections, logs) -> None:
    where = defaultdict(list)
    for path, collection in collections:
        where[collection.device].append(path)
    for path, records in logs:
        for session in records.sessions:
            where[session["device"]["name"]].append(path)
    if len(where) > 1:
        found = "; ".join(f"{name!r} in {paths[0]}" for name, paths in where.items())
        raise UserError(f"a set is of one device, found {found}: merge them into a set each")


def _check_kernels(logs) -> None:
    where: dict[str, dict] = defaultdict(dict)
    for path, records in logs:
        for kernel in records.kernels:
            if kernel["backend"]:
                where[kernel["variant"]].setdefault(kernel["version"], path)
    for variant, versions in where.items():
        if len(versions) > 1:
            found = "; ".join(f"{version} in {path}" for version, path in versions.items())
            raise UserError(
                f"{variant}: measured with different kernels: {found}: remove the logs of one, "
                "install the other there, and measure those shards again"
            )


def _join_rows(logs) -> dict[str, dict]:
    """Each row once: a measured one rather than a failed one, the later of two that agree."""
    found: dict[str, tuple[Path, dict]] = {}
    conflicts = []
    for path, records in logs:
        for key, record in records.rows.items():
            other_path, other = found.get(key, (path, record))
            if other["status"] == record["status"] == OK and _differ(other, record):
                conflicts.append(
                    f"  {key}: {other['latency_us']} us in {other_path}, {record['latency_us']} us in {path}"
                )
            if (record["status"] == OK, record["at"]) >= (other["status"] == OK, other["at"]):
                found[key] = (path, record)
    if conflicts:
        shown = "\n".join(conflicts[:10] + (["  …"] if len(conflicts) > 10 else []))
        raise UserError(
            f"{len(conflicts)} rows were measured twice and differ by more than {_AGREE:.0%}:\n{shown}\n"
            "remove the log that is wrong"
        )
    return {key: record for key, (_, record) in found.items()}


def _differ(one: dict, other: dict) -> bool:
    low, high = sorted((one["latency_us"], other["latency_us"]))
    return high > low * (1 + _AGREE)


def _words(indexes: list[int]) -> str:
    return " ".join(map(str, indexes))


def summary(records: Records) -> str:
    """`120 measured, 2 failed, 1 oom`."""
    counts = defaultdict(int)
    for record in records.rows.values():
        counts[record["status"]] += 1
    names = {"ok": "measured", "failed": "failed", "oom": "out of memory"}
    return comma(f"{counts[status]} {name}" for status, name in names.items() if counts[status]) or "no rows"
