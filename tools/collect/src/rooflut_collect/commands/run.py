"""`rooflut-collect run`: measures a plan, or a shard of one."""

import argparse
import signal
import sys
import time
from collections import Counter
from pathlib import Path

from .. import device as devices
from .. import folder, log, plan, run, shard, table_set
from ..errors import UserError, comma
from ..folder import Collection
from ..progress import Progress, duration
from . import options

#: Warm-up and repetitions of a row, seconds.
_ROW_SECONDS = 0.4
_TIMING = {
    "cuda": "CUDA graph replay, cold L2 (all-reduce: warm), median of repetitions",
    "cpu": "plain calls on a CPU, median of repetitions",
}

#: Exit status of a process that Ctrl-C ended.
INTERRUPTED = 130


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments."""
    options.add_plan(parser)
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="where logs and set go (default: collected)",
        default=Path("collected"),
    )
    parser.add_argument("--dry-run", action="store_true", help="list what would be measured, and stop")
    parser.add_argument(
        "--retry",
        action="store_true",
        help="measure rows again that failed or did not fit into memory",
    )
    parser.add_argument("--shard", metavar="I/N", default="0/1", help="measure part I of N, counted from 0")
    parser.add_argument("--indexes", metavar="LIST", help="the I of --shard counts in this list: 3,7,9-12")
    parser.add_argument(
        "--kernels",
        metavar="LIST",
        help=f"libraries that may be used, of {comma(options.LIBRARIES)} (default: all)",
    )
    parser.add_argument(
        "--row-seconds",
        type=options.positive,
        metavar="S",
        default=_ROW_SECONDS,
        help=f"time to repeat a row (default: {_ROW_SECONDS})",
    )
    options.add_set(parser)


def execute(arguments: argparse.Namespace, open_device=devices.open_device, open_bench=None) -> int:
    """Runs; `open_device` and `open_bench` are replaced in tests."""
    with _Interruptible():
        return _execute(arguments, open_device, open_bench or _torch_bench)


def _execute(arguments: argparse.Namespace, open_device, open_bench) -> int:
    began = time.monotonic()
    spec = options.plan_spec(arguments)
    whole = plan.build(spec)
    part = _shard(arguments)
    if arguments.name:
        table_set.check_name(arguments.name)
    options.kernels(arguments)
    if arguments.dry_run:
        return _list(arguments, whole, part)
    device = open_device(arguments.device, arguments.gpu_sheet)
    collection = Collection(
        whole, tuple(spec.arguments()), part.count, device.name, options.of_run(arguments, _ROW_SECONDS)
    )
    folder.claim(arguments.out, collection)
    return _collect(arguments, whole, part, device, open_bench, began)


def _shard(arguments: argparse.Namespace) -> shard.Shard:
    if not arguments.indexes:
        return shard.parse(arguments.shard)
    total = shard.parse("0/" + arguments.shard.partition("/")[2]).count
    return shard.parse(arguments.shard, shard.parse_indexes(arguments.indexes, total))


def _list(arguments: argparse.Namespace, whole: plan.Plan, part: shard.Shard) -> int:
    path = arguments.out / "log" / part.log_name
    records = log.read(path) if path.exists() else log.Records()
    rows = run.todo(part.take(whole.rows), records, arguments.retry)
    for row in rows:
        print(row.key)
    counts = Counter(row.operation for row in rows)
    parts = ", ".join(f"{count} {operation}" for operation, count in counts.items())
    least = duration(len(rows) * arguments.row_seconds)
    print(f"{len(rows)} rows ({parts or 'none'}), at least {least}", file=sys.stderr)
    return 0


def _collect(arguments, whole: plan.Plan, part: shard.Shard, device, open_bench, began: float) -> int:
    path = arguments.out / "log" / part.log_name
    opened = log.Log(path)
    mine = part.take(whole.rows)
    again = run.todo(mine, opened.records, arguments.retry)
    if again != run.todo(mine, opened.records):
        opened.append({"kind": "retry", "at": run.now()})
    rows = run.todo(mine, opened.records)
    progress = Progress([row.operation for row in rows])
    known = len(mine) - len(rows)
    progress.note(
        f"{len(rows)} rows to measure on {device.name}" + (f", {known} are in the log" if known else "")
    )
    bench, outcome, interrupted = None, None, False
    try:
        if rows:
            opened.append(run.session(device.record(), device.sheet, arguments.shard, _TIMING[device.kind]))
            bench = open_bench(arguments, device, opened, progress)
            outcome = run.measure(rows, opened, bench, device.sheet, progress)
            outcome.wall_s = time.monotonic() - began
    except KeyboardInterrupt:
        interrupted = True
    finally:
        if bench is not None:
            bench.close()
        progress.close()
        opened.close()
    if outcome is not None and outcome.lost:
        return _again(arguments, progress)
    # From the disk: an interrupt may have come between a row's line and the memory of it.
    records = log.read(path)
    if part.count == 1:
        _write_set(arguments, device, whole, records, progress)
    if interrupted:
        left = len(run.todo(mine, records))
        progress.note(f"stopped with {left} rows left; the same command goes on")
        return INTERRUPTED
    return _conclude(outcome, part, records, progress)


def _conclude(outcome, part: shard.Shard, records: log.Records, progress: Progress) -> int:
    if outcome is not None:
        counts = ", ".join(f"{count} {status}" for status, count in outcome.counts.items() if count)
        share = 1.0 - outcome.loop_s / max(outcome.wall_s, 1e-9)
        progress.note(
            f"{counts} in {duration(outcome.wall_s)}: {1.0 - share:.0%} repeating kernels "
            f"(cache flushes {outcome.flush_s / max(outcome.wall_s, 1e-9):.0%}), {share:.0%} around them"
        )
    if part.count > 1:
        progress.note(f"shard {part.index} of {part.count} is done; join all: rooflut-collect merge FOLDER")
        return 0  # Though all rows failed: what is recorded would be no other the next time.
    measured = any(record["status"] == log.OK for record in records.rows.values())
    return 0 if measured else 1


def _write_set(arguments, device, whole: plan.Plan, records: log.Records, progress: Progress) -> None:
    about = table_set.About(options.set_name(arguments, device.sheet.name), arguments.license, device.sheet)
    written = table_set.write(arguments.out, about, whole.rows, records)
    progress.note(f"set: {written}" if written else "no row was measured: no set")


def _again(arguments, progress: Progress) -> int:
    """Goes on in a new process: this one's device answers no more."""
    progress.note("the device was lost with this row; going on in a new process")
    arguments.restart()
    raise UserError("could not start again: run the same command")


def _torch_bench(arguments, device, opened: log.Log, progress: Progress):
    from ..bench import TorchBench  # Imports torch.
    from ..timing import Budget

    def tell(record: dict) -> None:
        if record["kind"] == "kernel":
            _check_same(record, opened)
            progress.note(_choice(record))
        opened.append({**record, "at": run.now()})

    broken = [(record["variant"], record["backend"]) for record in opened.records.broken]
    budget = Budget.of_row(arguments.row_seconds)
    return TorchBench(device, budget, tell, broken, options.kernels(arguments))


def _choice(record: dict) -> str:
    rejected = "; ".join(f"{each['backend']}: {each['reason']}" for each in record["rejected"])
    if record["backend"] is None:
        return f"{record['variant']}: NO KERNEL ({rejected})"
    fallback = f", INSTEAD OF {rejected}" if rejected else ""
    return f"{record['variant']}: {record['backend']} ({record['version']}){fallback}"


def _check_same(record: dict, opened: log.Log) -> None:
    """Refuses to go on with another kernel than the one that rows of this log were measured with."""
    for earlier in opened.records.kernels:
        same = earlier["variant"] == record["variant"] and earlier["backend"]
        if same and record["backend"] and earlier["version"] != record["version"]:
            raise UserError(
                f"{record['variant']}: rows of this folder were measured with {earlier['version']}, now "
                f"{record['version']} was chosen: install the former, or give another --out"
            )


class _Interruptible:
    """SIGTERM, with which clusters end jobs, ends a run as Ctrl-C does; and so does SIGINT, even of a
    process in the background, which shells start deaf to it."""

    def __enter__(self):
        handler = signal.default_int_handler
        self._before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}

    def __exit__(self, *_):
        for number, handler in self._before.items():
            signal.signal(number, handler)
