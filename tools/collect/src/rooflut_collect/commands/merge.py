"""`rooflut-collect merge`: joins shards into a set."""

import argparse
import sys
from pathlib import Path

from .. import gpus, merge, table_set
from ..errors import UserError
from . import options


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments."""
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="what `run --out` wrote")
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="where the set goes (default: the first folder)"
    )
    parser.add_argument("--partial", action="store_true", help="write the set though rows are missing")
    options.add_set(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Runs: 0 where all is there, 1 where rows are missing."""
    merged = merge.merge(arguments.folders)
    print(merge.summary(merged.records), file=sys.stderr)
    for missing in merged.missing:
        print(missing.text(), file=sys.stderr)
    if merged.missing and not arguments.partial:
        print("no set was written; --partial writes one of what is there", file=sys.stderr)
        return 1
    sheet = _sheet(arguments, merged)
    out = arguments.out or arguments.folders[0]
    out.mkdir(parents=True, exist_ok=True)
    about = table_set.About(options.set_name(arguments, sheet.name), arguments.license, sheet)
    written = table_set.write(out, about, merged.plan, merged.records)
    if written is None:
        raise UserError("no row was measured: no set")
    print(f"set: {written}", file=sys.stderr)
    return 1 if merged.missing else 0


def _sheet(arguments: argparse.Namespace, merged: merge.Merged) -> gpus.Sheet:
    if arguments.gpu_sheet:
        return gpus.read(arguments.gpu_sheet)
    kept = next((s["sheet"] for s in merged.records.sessions if s.get("sheet")), None)
    if kept:
        return gpus.Sheet(kept["name"], kept["values"], kept["name"] in gpus.known())
    raise UserError("the logs have no data sheet: give it with --gpu-sheet FILE")
