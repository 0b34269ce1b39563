"""Sweeps on many workers have the bytes of one process, whatever happens to the workers."""

import concurrent.futures
import dataclasses
import importlib.util
import json
import multiprocessing
import os
import pathlib
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor

import numpy
import pytest

import rooflut
from rooflut import distributed
from rooflut.distributed import _driver, _engine, _progress, _unit

ROOT = pathlib.Path(__file__).parents[3]
#: Some rows cannot be run, and the last folder of Parquet files has a full part and another one.
GRID = {"model": "llama-3.1-8b", "requests": 20, "gpu": ["h100", "h200"], "tp": [1, 3], "rate": "1..300", "goodput": "ttft:500"}
ROWS = 1_200


def spawned(workers):
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))


def contents(path):
    """Returns the bytes of a file, or of all files of a folder."""
    return {file.name: file.read_bytes() for file in path.iterdir()} if path.is_dir() else path.read_bytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory, command):
    """The output of one process by its form."""
    folder = tmp_path_factory.mktemp("whole")
    flags = [f"--{key}={','.join(map(str, value)) if isinstance(value, list) else value}" for key, value in GRID.items()]
    command("sweep", *flags, "--out", folder / "sweep.csv")
    # The binary may be built without Parquet.
    rooflut.sweep(out=folder / "sweep.parquet", **GRID)
    return {form: contents(folder / f"sweep.{form}") for form in ("csv", "parquet")}


@pytest.fixture
def small_units(monkeypatch):
    """Many units, each reported."""
    monkeypatch.setattr(_driver, "_MOST_ROWS", 40)
    monkeypatch.setattr(_progress, "_EVERY_S", 0)


class Wrapped(concurrent.futures.Executor):
    """An executor of two threads whose submissions go through a function."""

    _max_workers = 2

    def __init__(self, through):
        self.pool = ThreadPoolExecutor(2)
        self.through = through
        self.number = 0

    def submit(self, call, *arguments):
        self.number += 1
        return self.through(self.number, lambda *given: self.pool.submit(call, *(given or arguments)), *arguments)


def failed(error):
    future = Future()
    future.set_exception(error)
    return future


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, spawned])
def test_executors_give_the_bytes_of_one_process(pool, whole, tmp_path):
    with pool(2) as engine:
        for form, expected in whole.items():
            out = tmp_path / f"sweep.{form}"
            written = distributed.sweep(engine=engine, out=out, threads=2, **GRID)
            assert contents(out) == expected
            assert written[:5] == (str(out), ROWS, ROWS, ROWS // 2, 0)
        rows = distributed.sweep(engine=engine, **GRID)
    assert rows.csv().encode() == whole["csv"] and len(rows["index"]) == ROWS


def test_points_need_not_be_all_combinations(tmp_path, command, small_units):
    # Several seeds of one load are points, too; the list is that of a file, and the rows are those of the command.
    points = [
        {"gpu": gpu, "tp": tp, "rate": rate, "seed": seed}
        for gpu, tp in [("h100", 1), ("h200", 2)]
        for rate in range(1, 12 * tp)
        for seed in (1, 2, 3)
    ]
    file = tmp_path / "points.jsonl"
    file.write_text("".join(f"{json.dumps(point)}\n" for point in points))
    shared = {"model": "llama-3.1-8b", "requests": 20}
    command("sweep", "--model=llama-3.1-8b", "--requests=20", "--points", file, "--out", tmp_path / "whole.csv")
    whole = (tmp_path / "whole.csv").read_bytes()
    assert whole.count(b"\n") == len(points) + 1 == 103
    with spawned(2) as engine:
        for given in (points, iter(points), file):
            out = tmp_path / "sweep.csv"
            out.unlink(missing_ok=True)
            assert distributed.sweep(engine=engine, out=out, points=given, **shared).rows == len(points)
            assert contents(out) == whole
        numbers = [{"tp": numpy.int64(tp), "rate": numpy.float64(4)} for tp in (1, 2)]
        plain = [{"tp": tp, "rate": 4.0} for tp in (1, 2)]
        rows = distributed.sweep(engine=engine, points=numbers, **shared)
        assert rows.csv() == distributed.sweep(engine=engine, points=plain, **shared).csv()
        for wrong, message in [
            ([], "points:.* expected a point on each line, found none"),
            ([{"tp": 1}, {"rate": 1}], r"points:2: expected the keys of the first point \(tp\), found rate"),
            ([{"tp": 1}, {"tp": "x"}], "points:2: .*tp: expected a whole number"),
            ([{"tpp": 1}], "unknown key \"tpp\""),
            ([1], "points: expected mappings"),
        ]:
            with pytest.raises(rooflut.RooflutError, match=message):
                distributed.sweep(engine=engine, points=wrong, **shared)
        with pytest.raises(rooflut.RooflutError, match="expected one value of each other flag, found 2 values of seed"):
            distributed.sweep(engine=engine, points=plain, seed=[1, 2], **shared)


def test_one_process_has_as_many_threads_as_are_asked_for(whole):
    assert rooflut.sweep(threads=1, **GRID).csv().encode() == whole["csv"]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_an_interrupted_sweep_goes_on(form, whole, tmp_path, small_units):
    out = tmp_path / f"sweep.{form}"
    seen = []

    def interrupt(progress):
        seen.append(progress)
        if progress.rows >= 300:
            raise KeyboardInterrupt

    with ThreadPoolExecutor(2) as engine:
        with pytest.raises(KeyboardInterrupt):
            distributed.sweep(engine=engine, out=out, progress=interrupt, **GRID)
        assert seen[-1].rows < seen[-1].points == ROWS and seen[-1].workers == 2 and seen[-1].left_s > 0
        with pytest.raises(rooflut.RooflutError, match="already exists; continue it with --resume"):
            distributed.sweep(engine=engine, out=out, **GRID)
        written = distributed.sweep(engine=engine, out=out, resume=True, **GRID)
        assert contents(out) == whole[form]
        assert written.rows == ROWS and written.simulated == ROWS - seen[-1].rows
        # Nothing is left to do, and one process takes the output, too.
        assert distributed.sweep(engine=engine, out=out, resume=True, **GRID).simulated == 0
    assert rooflut.sweep(out=out, resume=True, **GRID).csv().encode() == whole["csv"]


def test_ctrl_c_keeps_whole_rows(whole, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(f"""
        import multiprocessing, sys
        from concurrent.futures import ProcessPoolExecutor
        from rooflut import distributed

        def sweep(**more):
            def begun(progress):
                print(progress.rows, flush=True)
            with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as engine:
                return distributed.sweep(engine=engine, out="sweep.csv", progress=begun, **{ {**GRID, "requests": 2_000} }, **more)

        if __name__ == "__main__":
            try:
                sweep()
            except KeyboardInterrupt:
                print("interrupted", flush=True)
    """))
    with subprocess.Popen([sys.executable, program], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        while process.stdout.readline() == "0\n":
            pass
        process.send_signal(signal.SIGINT)
        assert process.stdout.read().endswith("interrupted\n")
        assert process.wait() == 0
    text = (tmp_path / "sweep.csv").read_bytes()
    whole = rooflut.sweep(**{**GRID, "requests": 2_000}).csv().encode()
    assert text.endswith(b"\n") and len(text) < len(whole) and whole.startswith(text)


def test_units_that_fail_are_simulated_again(whole, small_units):
    def through(number, submit, *_):
        return failed(OSError("a switch was restarted")) if number % 3 == 0 else submit()

    assert distributed.sweep(engine=Wrapped(through), **GRID).csv().encode() == whole["csv"]


def test_units_that_are_lost_or_late_are_simulated_again(whole, tmp_path, small_units, monkeypatch):
    monkeypatch.setattr(_driver, "_LATE_S", 0.1)
    monkeypatch.setattr(_driver, "_LATE", 0)

    def through(number, submit, *_):
        if number == 5:
            return Future()
        if number == 9:
            # It ends after it was begun again, if the sweep is not at its end.
            late, rows = Future(), submit()
            threading.Timer(0.4, lambda: late.set_running_or_notify_cancel() and late.set_result(rows.result())).start()
            return late
        return submit()

    written = distributed.sweep(engine=Wrapped(through), out=tmp_path / "sweep.csv", **GRID)
    assert contents(tmp_path / "sweep.csv") == whole["csv"] and written.retries >= 1


def test_a_unit_that_always_fails_ends_the_sweep_and_keeps_its_rows(whole, tmp_path, small_units):
    out = tmp_path / "sweep.csv"

    def through(_, submit, job, start, end):
        return failed(OSError("no route")) if end > 600 else submit()

    with pytest.raises(rooflut.RooflutError, match="it was begun 4 times; the last error is OSError: no route; .* resume=True"):
        distributed.sweep(engine=Wrapped(through), out=out, **GRID)
    assert distributed.sweep(engine=ThreadPoolExecutor(1), out=out, resume=True, **GRID).simulated < ROWS
    assert contents(out) == whole["csv"]


def test_a_pool_that_breaks_keeps_the_rows(whole, tmp_path, small_units):
    out = tmp_path / "sweep.csv"
    with spawned(2) as engine:

        def kill(progress):
            if progress.rows:
                os.kill(next(iter(engine._processes)), signal.SIGKILL)

        with pytest.raises(rooflut.RooflutError, match="the engine takes no more units; the last error is BrokenProcessPool"):
            distributed.sweep(engine=engine, out=out, progress=kill, **GRID)
    with spawned(1) as engine:
        distributed.sweep(engine=engine, out=out, resume=True, **GRID)
    assert contents(out) == whole["csv"]


@pytest.mark.parametrize("out", [None, "sweep.csv"])
def test_a_unit_with_too_few_rows_is_simulated_again(out, whole, tmp_path, small_units):
    cut = []

    def through(number, submit, job, start, end):
        # The last unit of the grid, each time or once.
        if end < ROWS or (cut and is_once):
            return submit()
        cut.append(start)
        rows = submit().result()
        short = Future()
        short.set_result(rows._replace(csv=rows.csv[: rows.csv.rfind(b"\n", 0, -1) + 1]))
        return short

    given = {**GRID, "out": out and tmp_path / out}
    is_once = False
    with pytest.raises(rooflut.RooflutError, match=r"begun 4 times; the last error is .*: expected \d+ rows of a worker, found \d+"):
        distributed.sweep(engine=Wrapped(through), **given)
    cut.clear()
    is_once = True
    again = distributed.sweep(engine=Wrapped(through), resume=out is not None, **given)
    assert cut and (contents(tmp_path / out) if out else again.csv().encode()) == whole["csv"]


def test_rows_of_another_unit_are_refused(small_units):
    def through(number, submit, job, start, end):
        return submit(job, 0, end - start)

    with pytest.raises(rooflut.RooflutError, match="row 16: expected row 17 of shard .*, found deployment 0"):
        distributed.sweep(engine=Wrapped(through), **GRID)


@pytest.mark.parametrize("workers", [None, 3])
def test_the_workers_of_an_executor_that_does_not_tell_them_are_given(workers, small_units, monkeypatch):
    monkeypatch.delattr(Wrapped, "_max_workers")
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    open_units, most, seen = [], [], []

    def through(number, submit, job, start, end):
        open_units.append(start)
        most.append(len(open_units))
        future = submit()
        future.add_done_callback(lambda _: open_units.remove(start))
        return future

    distributed.sweep(engine=Wrapped(through), workers=workers, progress=seen.append, **GRID)
    expected = workers or 5
    assert {progress.workers for progress in seen} == {expected} and max(most) <= _driver._SUBMITTED * expected


def test_few_units_wait_for_the_first(small_units):
    expected = 2 * _driver._WINDOW - 1
    ahead, begun, first = [], [], Future()

    def release(rows):
        begun.append(len(ahead))
        first.set_result(rows.result())

    def through(number, submit, job, start, end):
        future = submit()
        if not start:
            ahead.clear()
            ahead.append(future)
            return first
        ahead.append(future)
        if len(ahead) == expected + 1:
            # Time for another one to be begun.
            threading.Timer(0.5, release, ahead[:1]).start()
        return future

    assert len(distributed.sweep(engine=Wrapped(through), **GRID)["index"]) == ROWS
    assert begun == [expected + 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": "0.0.9 (commit 1)"}, r"worker .* expected rooflut 0\.0\.9 \(commit 1\), as the driver has, found 0\..*; install the same"),
        ({"fingerprint": "12-abc"}, "worker .* expected grid 12-abc, as the driver has, found 1200-.*: its files or tables have other"),
        ({"arguments": ("--trace=absent.csv",)}, "worker .* cannot open the sweep .* cannot read absent.csv.*absolute paths"),
    ],
)
def test_workers_that_differ_are_refused_by_name(changes, message):
    def through(number, submit, job, start, end):
        # Not the open sweep of this process.
        return submit(dataclasses.replace(job, **{"fingerprint": f"another-{message}", **changes}), start, end)

    with pytest.raises(rooflut.RooflutError, match=message):
        distributed.sweep(engine=Wrapped(through), **GRID)


def test_a_worker_without_the_package_is_named():
    engine = Wrapped(lambda *_: failed(ModuleNotFoundError("No module named 'rooflut'")))
    with pytest.raises(rooflut.RooflutError, match="a worker cannot run units: No module named 'rooflut'; install the same rooflut"):
        distributed.sweep(engine=engine, **GRID)


def test_a_grid_that_is_too_large_is_refused_with_its_cost(tmp_path):
    with pytest.raises(rooflut.RooflutError) as refused, ThreadPoolExecutor(2) as engine:
        grid = {"rate": "1..1000", "seed": "1..1000", "requests": "1..1000"}
        distributed.sweep(engine=engine, out=tmp_path / "sweep.csv", **grid)
    found = r"expected at most 1_000_000 deployments \(max_points\), found 1_000_000_000 \(1000 values of rate x 1000 values of seed x 1000 values of requests\)"
    cost = r"which would take about [\d_]+ hours on 2 workers and [\d_]+ GB of CSV, going by the first \d+; take fewer values, or raise max_points"
    assert re.fullmatch(f"{found}, {cost}", str(refused.value)), refused.value
    assert not list(tmp_path.iterdir())
    with ThreadPoolExecutor(2) as engine, pytest.raises(rooflut.RooflutError, match="expected at most 5"):
        distributed.sweep(engine=engine, max_points=5, **GRID)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"engine": "slurm"}, 'engine: expected "ray", "dask", a client of Dask or an executor, found "slurm"'),
        ({"engine": 3}, "found int"),
        ({"threads": 0}, "threads: expected a whole number from 1, found 0"),
        ({"threads": 2.0}, r"threads: expected a whole number from 1, found 2\.0"),
        ({"workers": 0}, "workers: expected a whole number from 1, found 0"),
        ({"max_points": "10"}, "max_points: expected a whole number from 1, found '10'"),
        ({"engine": "ray", "workers": 2}, "workers: expected an executor, found an engine that counts its workers itself"),
        ({"resume": True}, "resume: expected a file in out, found none"),
        ({"shard": "1/2"}, "shard: workers divide the grid anyway; leave it out"),
        ({"merge": ["a.csv"]}, "merge: .* use rooflut.sweep"),
        ({"speed": [1, 2]}, "--speed"),
        ({"out": "-"}, "--out: expected a file or NAME.parquet"),
        ({"out": "absent/sweep.csv"}, "absent/sweep.csv"),
        ({"trace": "absent.csv"}, "cannot read absent.csv"),
    ],
)
def test_mistakes_are_named(given, message):
    with ThreadPoolExecutor(1) as engine, pytest.raises(rooflut.RooflutError, match=message):
        distributed.sweep(**{"engine": engine, **GRID, **given})


@pytest.mark.parametrize("package", ["ray", "dask"])
def test_a_missing_package_is_named_with_its_extra(package, monkeypatch):
    monkeypatch.setitem(sys.modules, {"dask": "distributed"}.get(package, package), None)
    with pytest.raises(rooflut.RooflutError, match=rf'install it with pip install "rooflut\[{package}\]"'):
        distributed.sweep(engine=package, **GRID)


def test_the_line_of_progress(capfd):
    with ThreadPoolExecutor(1) as engine:
        distributed.sweep(engine=engine, progress=True, **GRID)
    lines = capfd.readouterr().err.splitlines()
    assert re.fullmatch(r"1200 of 1200 deployments, \d+/s, 1 worker", lines[-1]), lines


def test_the_examples_of_the_guide_run(tmp_path):
    guide = (ROOT / "docs/more-than-one-machine.md").read_text()
    examples = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    printed = []
    for example in examples:
        if "scheduler:8786" not in example:
            (tmp_path / "example.py").write_text(example)
            printed.append(subprocess.check_output([sys.executable, "example.py"], cwd=tmp_path, text=True))
    assert re.fullmatch(r"4800 rows, \d+ with an error\n", printed[0]) and (tmp_path / "sweep.parquet").is_dir()
    assert printed[1:] == ["120 rows\n"]


#: Rows from this one on wait for the worker that joins.
JOINED = 800


@pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="Dask is not installed")
def test_dask_loses_a_worker_and_another_one_joins(whole, tmp_path, small_units, monkeypatch):
    import distributed as dask

    begun, killed, seen = tmp_path / "begun", [], []
    begun.mkdir()
    rows_of = _unit.simulate

    # Its copy goes to the workers. The first one does not end a unit before it is killed.
    def simulate(job, start, end):
        name = str(dask.get_worker().name)
        (begun / name).touch()
        deadline = time.monotonic() + 120
        while (name == "0" or start >= JOINED) and not (begun / "2").exists():
            assert time.monotonic() < deadline, "the worker that joined gets no work"
            time.sleep(0.02)
        return rows_of(job, start, end)

    monkeypatch.setattr(_engine, "simulate", simulate)
    monkeypatch.setattr(_engine, "_SIZE_S", 0)
    with dask.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, dask.Client(cluster) as client:

        def kill(progress):
            seen.append(progress.workers)
            if (begun / "0").exists() and not killed:
                killed.append(cluster.workers[0].pid)
                os.kill(killed[0], signal.SIGKILL)
                cluster.scale(3)

        # The default client.
        distributed.sweep(engine="dask", out=tmp_path / "sweep.csv", progress=kill, **GRID)
        assert contents(tmp_path / "sweep.csv") == whole["csv"]
        assert killed and max(seen) == 3 and {file.name for file in begun.iterdir()} == {"0", "1", "2"}

        monkeypatch.undo()
        distributed.sweep(engine=client, out=tmp_path / "sweep.parquet", **GRID)
        assert contents(tmp_path / "sweep.parquet") == whole["parquet"]
        with client.get_executor() as executor:
            distributed.sweep(engine=executor, workers=3, out=tmp_path / "executor.csv", progress=lambda now: seen.append(now.workers), **GRID)
        assert contents(tmp_path / "executor.csv") == whole["csv"] and seen[-1] == 3


@pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="Dask is not installed")
def test_units_of_several_threads_take_no_more_of_a_dask_worker_than_it_has(tmp_path, small_units, monkeypatch):
    import distributed as dask

    running, most = [], []
    rows_of = _unit.simulate

    def simulate(job, start, end):
        running.append(start)
        most.append(len(running))
        # Time for another one to begin.
        time.sleep(0.02)
        rows = rows_of(job, start, end)
        running.remove(start)
        return rows

    monkeypatch.setattr(_engine, "simulate", simulate)
    # A worker in this process, so that it sees the function above.
    with dask.Client(n_workers=1, threads_per_worker=4, processes=False, dashboard_address=None) as client:
        for threads, expected in [(2, 2), (3, 1), (8, 1)]:
            most.clear()
            written = distributed.sweep(engine=client, threads=threads, out=tmp_path / f"{threads}.csv", **GRID)
            assert written.rows == ROWS and max(most) == expected, threads
    with pytest.raises(rooflut.RooflutError, match="expected a connected client of Dask, found one that is closed"):
        distributed.sweep(engine=client, **GRID)


#: A cluster of two nodes; while a sweep runs, the second one is killed and a third one joins.
RAY = r"""
set -e
ip link set lo up
# Ray takes a token from the home folder for that of the cluster, and starts workers that give way to all other processes.
# A node whose port is closed is dead after two seconds rather than fifteen.
export RAY_health_check_period_ms=500 RAY_health_check_failure_threshold=4 RAY_health_check_initial_delay_ms=0
export RAY_DEDUP_LOGS=0 RAY_DISABLE_IMPORT_WARNING=1 RAY_AUTH_MODE=disabled RAY_worker_niceness=0
cat > ray << END
exec "$PYTHON" -c 'import sys; from ray.scripts.scripts import main; sys.exit(main())' start \\
  --num-cpus=1 --disable-usage-stats --object-store-memory=80000000 "\$@"
END
bash ray --head --node-ip-address=127.0.0.1 --port=6399 --include-dashboard=false
bash ray --address=127.0.0.1:6399 --node-ip-address=127.0.0.2
"$PYTHON" program.py
"""
RAY_PROGRAM = """
import os, pathlib, signal, subprocess, time
import ray
from rooflut import distributed
from rooflut.distributed import _driver, _engine, _progress, _unit

_driver._MOST_ROWS = 40
_progress._EVERY_S = 0
_engine._SIZE_S = 0
begun = pathlib.Path("begun").absolute()
begun.mkdir()
rows_of = _unit.simulate

def simulate(job, start, end):
    node = ray.util.get_node_ip_address()
    (begun / node).touch()
    deadline = time.monotonic() + 120
    # The second one does not end a unit before it is killed.
    while (node == "127.0.0.2" or start >= JOINED) and not (begun / "127.0.0.3").exists():
        assert time.monotonic() < deadline, "the node that joined gets no work"
        time.sleep(0.02)
    return rows_of(job, start, end)

_engine.simulate = simulate
ray.init(address="127.0.0.1:6399", log_to_driver=False)
killed, seen = [], []

def kill(progress):
    seen.append(progress.workers)
    if (begun / "127.0.0.2").exists() and not killed:
        # The second node: its raylet and the workers under it, which go on for a while without it.
        listed = subprocess.check_output(["ps", "-eo", "pid,ppid,args"], text=True).splitlines()[1:]
        processes = [(int(pid), int(parent), command) for pid, parent, command in (line.split(None, 2) for line in listed)]
        is_raylet = lambda command: "raylet/raylet" in command and "--node_ip_address=127.0.0.2" in command
        [raylet] = [pid for pid, _, command in processes if is_raylet(command)]
        killed.extend([raylet, *(pid for pid, parent, _ in processes if parent == raylet)])
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        subprocess.Popen(["bash", "ray", "--address=127.0.0.1:6399", "--node-ip-address=127.0.0.3"])

written = distributed.sweep(engine="ray", out="sweep.csv", progress=kill, **GRID)
nodes = {file.name for file in begun.iterdir()}
print(written, set(seen), killed, nodes)
assert len(killed) > 1 and written.retries and nodes == {"127.0.0.1", "127.0.0.2", "127.0.0.3"}
"""


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")
def test_ray_loses_a_node_and_another_one_joins(whole, tmp_path):
    isolated = ["unshare", "-n", "-p", "-f", "--mount-proc"]
    try:
        allowed = subprocess.run([*isolated, "ip", "link", "set", "lo", "up"], capture_output=True).returncode == 0
    except FileNotFoundError:
        allowed = False
    if not allowed:
        pytest.skip("namespaces are not allowed")
    (tmp_path / "program.py").write_text(f"GRID, JOINED = {GRID}, {JOINED}\n{RAY_PROGRAM}")
    environment = {**os.environ, "PYTHON": sys.executable}
    run = subprocess.run([*isolated, "bash", "-c", RAY], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert contents(tmp_path / "sweep.csv") == whole["csv"]
