"""Processor time of sweeps on workers over that of one process: python engines.py [pool] [dask] [ray]

All processes count: driver, daemons and workers. A small sweep starts them before. Needs psutil, and the packages of the
engines; docs/more-than-one-machine.md has the figures.
"""

import multiprocessing
import os
import pathlib
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

import psutil
import rooflut
from rooflut import distributed
from rooflut._commands import flags
from rooflut.distributed import _engine

WORKERS = 2
GRID = {"model": "llama-3.1-8b", "requests": 200, "gpu": ["h100", "h200"], "tp": [1, 2], "seed": "1..100", "rate": "1..50"}
SMALL = {**GRID, "seed": 1}


@contextmanager
def pool():
    with ProcessPoolExecutor(WORKERS, mp_context=multiprocessing.get_context("spawn")) as engine:
        yield engine


@contextmanager
def dask():
    import distributed as dask

    # As rooflut starts it.
    with _engine._own_client(dask) as client:
        yield client


@contextmanager
def ray():
    import ray

    ray.init(num_cpus=WORKERS, include_dashboard=False, log_to_driver=False)
    yield "ray"
    ray.shutdown()


def processor_s():
    """Returns the seconds of this process and of all below it, ended ones included."""
    own = psutil.Process()
    return sum(sum(process.cpu_times()[:4]) for process in [own, *own.children(recursive=True)])


def measured(sweep, out):
    """Returns what a sweep returns, its processor time and its rows."""
    sweep(out=f"{out}-small.csv", **SMALL)
    before = processor_s()
    answer = sweep(out=f"{out}.csv", **GRID)
    return answer, processor_s() - before, pathlib.Path(f"{out}.csv").read_bytes()


def main(engines):
    # Workers of Ray give way to all other processes, unless told otherwise.
    os.environ.setdefault("RAY_worker_niceness", "0")
    with tempfile.TemporaryDirectory() as folder:

        def alone(**grid):
            return rooflut._rooflut.answer(["sweep", *flags({"threads": 1, **grid})])

        _, expected_s, expected = measured(alone, f"{folder}/alone")
        print(f"one process: {expected_s:.1f} s for {len(expected.splitlines()) - 1} deployments")
        for name in engines:
            workers = []
            with {"pool": pool, "dask": dask, "ray": ray}[name]() as engine:

                def sweep(**grid):
                    return distributed.sweep(engine=engine, progress=lambda seen: workers.append(seen.workers), **grid)

                written, seconds, rows = measured(sweep, f"{folder}/{name}")
            assert rows == expected
            idle = 1 - written.worker_s / (written.seconds * workers[-1])
            ratio = seconds / expected_s
            print(f"{name}: {seconds:.1f} s, {ratio:.2f} of one process; {workers[-1]} workers, {100 * idle:.1f} % idle")


if __name__ == "__main__":
    main(sys.argv[1:] or ["pool"])
