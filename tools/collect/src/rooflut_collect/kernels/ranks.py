"""All-reduce of one message over processes of this machine, one per GPU (or CPU process).

NCCL on GPUs, gloo on a CPU, through torch.distributed. The message is 16-bit and is summed in place,
several times in one CUDA graph where it is small. Caches are not flushed: in an engine the message
was just computed. A repetition takes as long as its slowest rank.
"""

import multiprocessing
import os
import signal
import statistics
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import wait as wait_for_any

import torch

from ..errors import NoKernel, OutOfMemory
from ..operations import Row
from ..run import Measurement
from ..timing import Budget, Samples

_START_S, _ROW_S = 180.0, 120.0
#: All-reduces in one repetition: as many messages as these bytes hold, at most this many.
_MESSAGE_BYTES, _MOST_CALLS = 16 << 20, 20
_WARMUP = 5
_BACKENDS = {"cuda": "nccl", "cpu": "gloo"}


class Ranks:
    """A group of processes that reduce together; started when first needed, kept while it fits."""

    def __init__(self, device: str, tell: Callable[[dict], None]):
        self._device = device
        self._tell = tell
        self._told = False
        self._processes: list = []
        self._pipes: list = []
        self._store = None

    def measure(self, row: Row, budget: Budget) -> Measurement:
        """Measures a row."""
        ranks = row["ranks"]
        if self._device == "cuda" and ranks > torch.cuda.device_count():
            raise NoKernel(f"needs {ranks} GPUs, found {torch.cuda.device_count()}")
        if len(self._processes) != ranks:
            self.close()
            self._start(ranks)
        began = time.monotonic()
        try:
            samples, calls = self._repeat(row["bytes"], budget)
        except BaseException:
            self.close()  # Ranks may wait for each other; nothing else ends that.
            raise
        return Measurement(
            latency_us=samples.percentile(50),
            p10_us=samples.percentile(10),
            p90_us=samples.percentile(90),
            repetitions=len(samples.microseconds),
            calls=calls,
            backend=_BACKENDS[self._device],
            loop_s=time.monotonic() - began,
        )

    def close(self) -> None:
        """Ends the processes."""
        for process in self._processes:
            process.kill()
            process.join()
        for pipe in self._pipes:
            pipe.close()
        if self._store and os.path.exists(self._store):
            os.unlink(self._store)
        self._processes, self._pipes, self._store = [], [], None

    def _repeat(self, size: int, budget: Budget) -> tuple[Samples, int]:
        calls = max(1, min(_MOST_CALLS, _MESSAGE_BYTES // size))
        began = time.monotonic()
        warm = self._ask(("measure", size, calls, _WARMUP), budget)
        median_s = statistics.median(map(max, zip(*warm))) * calls * 1e-6
        wanted = int(budget.measure_s / max(median_s, 1e-7))
        count = max(budget.min_repetitions, min(budget.max_repetitions, wanted))
        times = self._ask(("measure", size, calls, count), budget)
        slowest = [max(of_ranks) for of_ranks in zip(*times)]
        return Samples(slowest, time.monotonic() - began, 0.0), calls

    def _start(self, ranks: int) -> None:
        context = multiprocessing.get_context("spawn")
        handle, self._store = tempfile.mkstemp(prefix="rooflut-collect-")
        os.close(handle)
        os.unlink(self._store)  # The group makes it anew.
        # Ctrl-C is for this process, which ends the others: they are born deaf to it.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            for rank in range(ranks):
                ours, theirs = context.Pipe()
                arguments = (self._device, rank, ranks, self._store, theirs)
                process = context.Process(target=_rank, args=arguments, daemon=True)
                process.start()
                theirs.close()
                self._processes.append(process)
                self._pipes.append(ours)
        finally:
            signal.signal(signal.SIGINT, before)
        try:
            versions = self._answers(_START_S)
        except BaseException:
            self.close()
            raise
        if not self._told:
            self._told = True
            chosen = {"backend": _BACKENDS[self._device], "version": versions[0], "self_check": 0.0}
            self._tell({"kind": "kernel", "variant": "allreduce", **chosen, "rejected": []})

    def _ask(self, question: tuple, budget: Budget) -> list[list[float]]:
        for rank, pipe in enumerate(self._pipes):
            try:
                pipe.send(question)
            except OSError:
                raise RuntimeError(f"the process of rank {rank} ended") from None
        return self._answers(_ROW_S + 2 * budget.measure_s)

    def _answers(self, seconds: float) -> list:
        """The answers of all ranks; the first error of one, or of its silence."""
        answers: list = [None] * len(self._pipes)
        waiting, until = dict(zip(self._pipes, range(len(self._pipes)))), time.monotonic() + seconds
        while waiting:
            left = until - time.monotonic()
            ready = wait_for_any(list(waiting), max(left, 0.0))
            if not ready:
                silent = ", ".join(str(rank) for rank in waiting.values())
                raise RuntimeError(f"no answer from rank {silent} within {seconds:.0f} s")
            for pipe in ready:
                rank = waiting.pop(pipe)
                try:
                    kind, answer = pipe.recv()
                except EOFError:
                    raise RuntimeError(f"the process of rank {rank} ended") from None
                if kind == "oom":
                    raise OutOfMemory(f"rank {rank}: {answer}")
                if kind == "error":
                    raise RuntimeError(f"rank {rank}: {answer}")
                answers[rank] = answer
        return answers


def _rank(device: str, rank: int, ranks: int, store: str, pipe) -> None:
    """The process of one rank: answers until the pipe closes."""
    try:
        pipe.send(("ok", _join(device, rank, ranks, store)))
        while True:
            _, size, calls, repetitions = pipe.recv()
            pipe.send(("ok", _times(device, size, calls, repetitions)))
    except EOFError:
        return
    except (torch.OutOfMemoryError, MemoryError) as error:
        pipe.send(("oom", str(error)))
    except Exception as error:
        pipe.send(("error", f"{type(error).__name__}: {error}"))


def _join(device: str, rank: int, ranks: int, store: str) -> str:
    """Joins the group, checks that it sums, returns the library's version."""
    import torch.distributed as dist

    options = {}
    if device == "cuda":
        torch.cuda.set_device(rank)
        options["device_id"] = torch.device("cuda", rank)
    else:
        torch.set_num_threads(1)
    dist.init_process_group(
        _BACKENDS[device], init_method=f"file://{store}", rank=rank, world_size=ranks, **options
    )
    message = torch.full((1000,), rank + 1.0, dtype=torch.bfloat16, device=device)
    dist.all_reduce(message)
    expected = ranks * (ranks + 1) / 2
    if not torch.all(message == expected):
        raise RuntimeError(f"self-check: expected sums of {expected}, found {message[0].item()}")
    if device == "cuda":
        return "NCCL " + ".".join(map(str, torch.cuda.nccl.version()))
    return f"gloo of torch {torch.__version__}"


def _times(device: str, size: int, calls: int, repetitions: int) -> list[float]:
    """Microseconds of one all-reduce, in each repetition, as this rank sees them."""
    import torch.distributed as dist

    message = torch.randn(max(size // 2, 1), dtype=torch.bfloat16, device=device)
    if device == "cpu":
        return [_cpu_time(dist, message, calls) for _ in range(repetitions)]
    dist.all_reduce(message)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    # Other threads of NCCL may call CUDA meanwhile.
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        for _ in range(calls):
            dist.all_reduce(message)
    marks = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(repetitions)]
    gate = torch.zeros(1, device=device)
    for start, end in marks:
        dist.all_reduce(gate)  # Ranks begin together; a barrier would make the host wait instead.
        start.record()
        graph.replay()
        end.record()
    torch.cuda.synchronize()
    return [start.elapsed_time(end) * 1e3 / calls for start, end in marks]


def _cpu_time(dist, message: torch.Tensor, calls: int) -> float:
    dist.barrier()
    start = time.perf_counter_ns()
    for _ in range(calls):
        dist.all_reduce(message)
    return (time.perf_counter_ns() - start) * 1e-3 / calls
