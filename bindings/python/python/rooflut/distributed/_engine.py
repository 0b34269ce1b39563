"""Engines: what simulates the units of a sweep."""

from __future__ import annotations

import concurrent.futures
import importlib
import os
import queue
import threading
import time
import uuid
from abc import ABC, abstractmethod
from typing import Any, Callable, Collection, Dict, List, Tuple, Union

from .._rooflut import RooflutError
from ._unit import Job, Rows, simulate

_EXPECTED = 'engine: expected "ray", "dask", a client of Dask or an executor'
#: Seconds for which the size of a cluster is taken for granted.
_SIZE_S = 1.0

#: ``"ray"``, ``"dask"``, a client of Dask, or an executor.
Named = Union[str, concurrent.futures.Executor, Any]


class Engine(ABC):
    """Runs units on workers. A handle stands for a unit that was submitted."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._size = 1
        self._counted = float("-inf")

    def slots(self) -> int:
        """Returns how many units run at once: nodes may come and go."""
        now = time.monotonic()
        if now >= self._counted + _SIZE_S:
            self._size, self._counted = max(1, self._slots()), now
        return self._size

    @abstractmethod
    def submit(self, start: int, end: int) -> Any:
        """Begins a unit and returns its handle."""

    @abstractmethod
    def wait(self, handles: Collection[Any], timeout_s: float) -> List[Any]:
        """Waits until a unit has ended, for a time at most, and returns the handles of those that have."""

    @abstractmethod
    def result(self, handle: Any) -> Rows:
        """Returns the rows of a unit that has ended, or raises its error."""

    @abstractmethod
    def cancel(self, handles: Collection[Any]) -> None:
        """Cancels units that have not begun, as far as the engine can."""

    def close(self) -> None:
        """Ends what the engine has started itself."""

    @abstractmethod
    def _slots(self) -> int: ...


def engine(named: Named, job: Job, workers: int | None = None) -> Engine:
    """Finds an engine by its name, or adapts a client or an executor, which has so many workers."""
    if isinstance(named, concurrent.futures.Executor):
        return _Executor(named, job, workers)
    if workers is not None:
        raise RooflutError("workers: expected an executor, found an engine that counts its workers itself; leave it out")
    if isinstance(named, str):
        known: Dict[str, Callable[[Job], Engine]] = {"ray": _Ray, "dask": _Dask}
        if named not in known:
            raise RooflutError(f'{_EXPECTED}, found "{named}"; correct it')
        return known[named](job)
    if type(named).__module__.split(".")[0] == "distributed" and hasattr(named, "scheduler_info"):
        return _Dask(job, named)
    raise RooflutError(f"{_EXPECTED}, found {type(named).__name__}; name one of them")


def _imported(package: str, extra: str) -> Any:
    # Without types: mypy and pyright need neither package.
    try:
        return importlib.import_module(package)
    except ImportError as error:
        advice = f'install it with pip install "rooflut[{extra}]"'
        raise RooflutError(f"engine: cannot import {package}: {error}; {advice}") from error


class _Futures(Engine):
    """An engine whose futures call back from other threads."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._ended: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def wait(self, handles: Collection[Any], timeout_s: float) -> List[Any]:
        ended: List[Any] = []
        try:
            ended.append(self._ended.get(timeout=timeout_s))
            while True:
                ended.append(self._ended.get_nowait())
        except queue.Empty:
            return ended

    def _watched(self, future: Any) -> Any:
        future.add_done_callback(self._ended.put)
        return future


class _Executor(_Futures):
    def __init__(self, executor: concurrent.futures.Executor, job: Job, workers: int | None) -> None:
        super().__init__(job)
        self._executor = executor
        # No public attribute has it, and executors of other packages have none at all.
        self._workers = workers or getattr(executor, "_max_workers", None) or os.cpu_count() or 1

    def submit(self, start: int, end: int) -> Any:
        return self._watched(self._executor.submit(simulate, self._job, start, end))

    def result(self, handle: Any) -> Rows:
        rows: Rows = handle.result()
        return rows

    def cancel(self, handles: Collection[Any]) -> None:
        for handle in handles:
            handle.cancel()

    def _slots(self) -> int:
        return self._workers


class _Dask(_Futures):
    """Tasks of Dask. Each takes one of its worker's threads, and with more threads of its own waits for its turn."""

    def __init__(self, job: Job, client: Any = None) -> None:
        super().__init__(job)
        distributed = _imported("distributed", "dask")
        self._own = None
        if client is None:
            try:
                client = distributed.default_client()
            except ValueError:
                client = self._own = _own_client(distributed)
        if client.status != "running":
            raise RooflutError(f"engine: expected a connected client of Dask, found one that is {client.status}; connect another one")
        if client.asynchronous:
            raise RooflutError("engine: expected a client of Dask that is not asynchronous; connect another one")
        self._client = client
        self._simulate = simulate if job.threads == 1 else _in_turn

    def submit(self, start: int, end: int) -> Any:
        key = f"rooflut-{start}-{uuid.uuid4().hex}"
        return self._watched(self._client.submit(self._simulate, self._job, start, end, key=key, pure=False))

    def result(self, handle: Any) -> Rows:
        rows: Rows = handle.result()
        return rows

    def cancel(self, handles: Collection[Any]) -> None:
        self._client.cancel(list(handles))

    def close(self) -> None:
        if self._own is not None:
            self._own.close()

    def _slots(self) -> int:
        return sum(_at_once(self._job, threads) for threads in self._client.nthreads().values())


def _at_once(job: Job, worker_threads: int) -> int:
    return max(1, worker_threads // job.threads)


#: Turns of units by the address of a worker, of which a process may have several, and by their number.
_turns: Dict[Tuple[str, int], threading.BoundedSemaphore] = {}


def _in_turn(job: Job, start: int, end: int) -> Rows:
    """Simulates a unit on a worker of Dask as soon as the threads of all its units are no more than its own."""
    # A client cannot say that a task takes several threads: Dask begins one on each.
    worker = importlib.import_module("distributed").get_worker()
    at_once = _at_once(job, worker.state.nthreads)
    with _turns.setdefault((worker.address, at_once), threading.BoundedSemaphore(at_once)):
        return simulate(job, start, end)


def _own_client(distributed: Any) -> Any:
    """Starts workers on this machine."""
    config = importlib.import_module("dask.config")
    # Dask has malloc return memory above 64 KiB at once, and units take it again: a fifth more processor time.
    key = "distributed.nanny.pre-spawn-environ"
    environ = {**config.get(key), "MALLOC_TRIM_THRESHOLD_": 1 << 30, "MALLOC_MMAP_THRESHOLD_": 1 << 25}
    with config.set({key: environ}):
        return distributed.Client()


class _Ray(Engine):
    """Tasks of Ray. Each asks for as many CPUs as it has threads."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._ray = _imported("ray", "ray")
        self._is_own = not self._ray.is_initialized()
        if self._is_own:
            # Connects to the cluster of RAY_ADDRESS or of this machine, or starts one.
            self._ray.init(log_to_driver=False)
        largest = max((node["Resources"].get("CPU", 0) for node in self._ray.nodes() if node["Alive"]), default=0)
        if 0 < largest < job.threads:
            self.close()
            expected = f"expected at most {largest:.0f}, the CPUs of the largest node"
            raise RooflutError(f"threads: {expected}, found {job.threads}; ask for fewer")
        # The driver counts retries, so that they end.
        self._task = self._ray.remote(num_cpus=job.threads, max_retries=0)(simulate)

    def submit(self, start: int, end: int) -> Any:
        return self._task.remote(self._job, start, end)

    def wait(self, handles: Collection[Any], timeout_s: float) -> List[Any]:
        waiting = list(handles)
        if not waiting:
            time.sleep(timeout_s)
            return []
        ended, waiting = self._ray.wait(waiting, num_returns=1, timeout=timeout_s)
        if ended and waiting:
            ended += self._ray.wait(waiting, num_returns=len(waiting), timeout=0)[0]
        return list(ended)

    def result(self, handle: Any) -> Rows:
        try:
            rows: Rows = self._ray.get(handle)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        return rows

    def cancel(self, handles: Collection[Any]) -> None:
        for handle in handles:
            self._ray.cancel(handle)

    def close(self) -> None:
        if self._is_own:
            self._ray.shutdown()

    def _slots(self) -> int:
        return int(self._ray.cluster_resources().get("CPU", 0)) // self._job.threads
