"""Compares rooflut's schedule with that of vLLM's own scheduler, step by step.

    python check.py ROOFLUT --vllm FOLDER [FOLDER ...] [--short] [--cases priority,...] [--show] [--shrink]

Prints a line for each case and kind of scheduling, or a table of all versions; the exit status is 1 if anything
differs.
"""

import argparse
import ast
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass

# vLLM's side is the engine of the integration.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "integrations" / "vllm" / "src"))

from cases import CASES, FULL, SHORT  # noqa: E402
from compare import compare, show, shrink  # noqa: E402

from rooflut_vllm.version import Vllm  # noqa: E402


@dataclass
class Counts:
    """Sums over the workloads of one case and one kind of scheduling."""

    workloads: int = 0
    workloads_differ: int = 0
    steps: int = 0
    steps_differ: int = 0
    counters_differ: int = 0
    requests: int = 0
    requests_differ: int = 0
    preemptions: int = 0
    rejected: int = 0

    HEADER = (
        f"{'case':<26}{'workloads':>10}{'differ':>8}{'steps':>9}{'differ':>8}{'counters':>9}"
        f"{'requests':>9}{'differ':>8}{'preempted':>10}{'rejected':>9}"
    )

    def add(self, result):
        """Adds the result of a workload; returns whether anything differs."""
        self.workloads += 1
        self.workloads_differ += result.differs
        self.steps += result.steps
        self.steps_differ += result.different
        self.counters_differ += result.state
        self.requests += len(result.rooflut.requests)
        self.requests_differ += result.requests
        self.preemptions += sum(step.preempted for step in result.rooflut.steps)
        self.rejected += result.rejected
        return result.differs

    def cell(self):
        """The cell of the table: workloads and steps that differ, of all."""
        steps = self.steps_differ + self.counters_differ
        return f"{self.workloads_differ} of {self.workloads}, {steps:,} of {self.steps:,}"

    def line(self, name):
        """The line of the table."""
        return (
            f"{name:<26}{self.workloads:>10}{self.workloads_differ:>8}{self.steps:>9}{self.steps_differ:>8}"
            f"{self.counters_differ:>9}{self.requests:>9}{self.requests_differ:>8}{self.preemptions:>10}{self.rejected:>9}"
        )


def parse():
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("rooflut", help="path of the binary")
    parser.add_argument("--vllm", required=True, nargs="+", help="folders of unpacked wheels, one per version")
    parser.add_argument("--markdown", action="store_true", help="print the table of docs/vllm-schedule.md")
    parser.add_argument("--short", action="store_true", help="the cases of .ci/run")
    parser.add_argument("--cases", help="names of cases, separated by commas")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scheduling", choices=("sync", "async"))
    parser.add_argument("--engine", help="stack of rooflut; that of vLLM's version without it")
    parser.add_argument("--show", action="store_true", help="print the steps around the first difference")
    parser.add_argument("--shrink", action="store_true", help="print a smaller workload that differs, too")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="CONFIG.NAME=VALUE",
        help="a setting of vLLM, such as scheduler_config.watermark=0.01",
    )
    return parser.parse_args()


def main():
    """Runs the cases; returns the exit status."""
    arguments = parse()
    cases = [case.__name__ for case in (SHORT if arguments.short else FULL)]
    if arguments.cases:
        cases = arguments.cases.split(",")
        unknown = [name for name in cases if name not in CASES]
        if unknown:
            print(
                f"unknown cases: {', '.join(unknown)}; expected some of {', '.join(CASES)}", file=sys.stderr
            )
            return 2
    if len(arguments.vllm) > 1:
        return check_versions(arguments)
    vllm = Vllm(os.path.abspath(arguments.vllm[0]))
    arguments.engine = arguments.engine or f"vllm-{vllm.version}"
    settings = {
        name: ast.literal_eval(value) for name, value in (entry.split("=") for entry in arguments.set)
    }
    if not arguments.markdown:
        print(f"vLLM {vllm.version}\n{Counts.HEADER}")
    differs = False
    with tempfile.TemporaryDirectory() as folder:
        for name in cases:
            for kind, counts in check_case(vllm, arguments, settings, name, folder).items():
                differs |= counts.workloads_differ > 0
                if arguments.markdown:
                    print(json.dumps([name, vllm.version, kind, counts.cell()]), flush=True)
                else:
                    print(counts.line(f"{name} {kind}"), flush=True)
    return int(differs)


def check_case(vllm, arguments, settings, name, folder):
    """The counts of a case by kind of scheduling."""
    groups = {}
    for index, workload in enumerate(CASES[name](arguments.seed)):
        if not supports(vllm, workload):
            if "random" not in name:
                continue
            workload = workload.plain()
            if not supports(vllm, workload):
                continue
        kind = "async" if workload.asynchronous else "sync"
        if arguments.scheduling not in (None, kind):
            continue
        workload.extra.update(settings)
        counts = groups.setdefault(kind, Counts())
        result = compare(vllm, arguments.rooflut, workload, folder, arguments.engine)
        if counts.add(result) and (arguments.show or arguments.shrink):
            explain(vllm, arguments, workload, folder, f"{name} {index} {kind}")
    return groups


def supports(vllm, workload):
    """Whether a server of this version runs with the settings of `workload`."""
    ahead, spec = workload.asynchronous, workload.spec
    if vllm.release >= (0, 20) and workload.stages > 1 and ahead:
        return False  # a request is in all batches in flight; the model runner of 0.33 refuses it
    if vllm.release >= (0, 24) and workload.stages > 2:
        return False  # it sleeps before it waits
    if workload.watermark and not vllm.has_watermark:
        return False
    if workload.layers and workload.layers.chunk and vllm.release < (0, 15):
        return False  # it switches the hybrid manager off
    if vllm.release >= (0, 25) and spec and 0 < workload.threshold <= spec["tokens"]:
        return False  # the threshold cuts placeholders; an assertion of `schedule` fails in 0.33
    if vllm.release >= (0, 33) and workload.has_mtp and workload.caching:
        return False  # rooflut does not hash the token after a block
    if vllm.release < (0, 15):
        return not ahead and (workload.has_mtp or not workload.has_draft_model)
    return not (ahead and spec and spec["model"] == "ngram" and vllm.release < (0, 33))


def check_versions(arguments):
    """Runs each version in a process of its own, as their modules have the same names; returns the exit status."""
    status, cells = 0, []
    at = sys.argv.index("--vllm")
    others = sys.argv[: at + 1], sys.argv[at + 1 + len(arguments.vllm) :]
    for folder in arguments.vllm:
        command = [sys.executable, *others[0], folder, *others[1]]
        done = subprocess.run(command, stdout=subprocess.PIPE if arguments.markdown else None, text=True)
        if done.returncode > 1:
            return done.returncode
        status |= done.returncode
        if arguments.markdown:
            cells += [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    if arguments.markdown:
        print(table(cells))
    return status


def table(cells):
    """The table of docs/vllm-schedule.md."""
    columns = list(dict.fromkeys(f"{version} {kind}" for _, version, kind, _ in cells))
    columns.sort(key=lambda column: [int(part) for part in column.split()[0].split(".")])
    rows = {}
    for case, version, kind, cell in cells:
        rows.setdefault(case, {})[f"{version} {kind}"] = cell
    lines = ["case", *columns], ["---"] * (1 + len(columns))
    body = ([case, *(of.get(column, "-") for column in columns)] for case, of in rows.items())
    return "\n".join(f"| {' | '.join(line)} |" for line in (*lines, *body))


def explain(vllm, arguments, workload, folder, title):
    """Prints the steps around the first difference, perhaps of a smaller workload."""
    if arguments.shrink:
        workload = shrink(vllm, arguments.rooflut, workload, folder, arguments.engine)
        print(workload.describe())
    result = compare(vllm, arguments.rooflut, workload, folder, arguments.engine)
    print(f"{title}: steps {result.different}, counters {result.state}, requests {result.requests}")
    print(show(result))


if __name__ == "__main__":
    sys.exit(main())
