"""Compares rooflut's schedule with that of vLLM's own scheduler, step by step.

    python check.py ROOFLUT --vllm FOLDER [--short] [--cases priority,...] [--show] [--shrink]

Prints a line for each case and kind of scheduling; the exit status is 1 if anything differs.
"""

import argparse
import ast
import os
import sys
import tempfile
from dataclasses import dataclass

from cases import CASES, FULL, SHORT
from compare import compare, show, shrink
from engine import Vllm


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
    parser.add_argument("--vllm", required=True, help="folder of an unpacked wheel")
    parser.add_argument("--short", action="store_true", help="the cases of .ci/run")
    parser.add_argument("--cases", help="names of cases, separated by commas")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scheduling", choices=("sync", "async"))
    parser.add_argument("--engine", help="stack of rooflut; its default without it")
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
    settings = {
        name: ast.literal_eval(value) for name, value in (entry.split("=") for entry in arguments.set)
    }
    vllm = Vllm(os.path.abspath(arguments.vllm))
    print(f"vLLM {vllm.version}\n{Counts.HEADER}")
    differs = False
    with tempfile.TemporaryDirectory() as folder:
        for name in cases:
            groups = {}
            for index, workload in enumerate(CASES[name](arguments.seed)):
                kind = "async" if workload.asynchronous else "sync"
                if arguments.scheduling not in (None, kind):
                    continue
                if workload.has_draft_model and not vllm.has_draft_models:
                    continue
                workload.extra.update(settings)
                counts = groups.setdefault(kind, Counts())
                if counts.add(compare(vllm, arguments.rooflut, workload, folder, arguments.engine)):
                    differs = True
                    if arguments.show or arguments.shrink:
                        explain(vllm, arguments, workload, folder, f"{name} {index} {kind}")
            for kind, counts in groups.items():
                print(counts.line(f"{name} {kind}"), flush=True)
    return int(differs)


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
