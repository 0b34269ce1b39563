"""Times kernel calls: CUDA graph replay, or plain calls on a CPU; caches cold, warmed up, repeated.

Before each repetition the cache is flushed by reading a buffer of twice its size. (Reading, not
writing: a written buffer leaves lines whose write-back would run while the kernel is timed.) A
repetition makes each of the calls once, each on operands of its own, so that none finds its operands
in the cache; its time is divided by their number. The flush stands outside the timed region.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

#: Repetitions between two looks at the clock take about this long, so that Ctrl-C is heard.
_BATCH_S = 0.03
_LARGEST_BATCH = 64


@dataclass(frozen=True)
class Budget:
    """How long a row is warmed up and repeated."""

    warmup_s: float
    measure_s: float
    min_repetitions: int = 10
    max_repetitions: int = 1000

    @staticmethod
    def of_row(seconds: float) -> "Budget":
        """A sixth of the time to warm up, the rest to measure."""
        return Budget(seconds / 6, seconds * 5 / 6)


class Repeater(Protocol):
    """Repeats calls; each repetition begins with cold caches."""

    def batch(self, repetitions: int) -> tuple[list[float], float]:
        """Microseconds of each repetition, and the seconds that flushing took."""


@dataclass(frozen=True)
class Samples:
    """Repetitions of one row."""

    microseconds: list[float]
    loop_s: float
    flush_s: float

    def percentile(self, percent: int) -> float:
        """A percentile, between the two nearest samples."""
        return statistics.quantiles(self.microseconds, n=100, method="inclusive")[percent - 1]


def repeat(repeater: Repeater, budget: Budget) -> Samples:
    """Warms up, then repeats until the budget is used; a slow kernel gets its fewest repetitions."""
    began, size, flushed, warm = time.monotonic(), 1, 0.0, 0
    while warm == 0 or time.monotonic() - began < budget.warmup_s:
        batch_began = time.monotonic()
        flushed += repeater.batch(size)[1]
        warm += size
        size = _next_size(size, time.monotonic() - batch_began)
    samples: list[float] = []
    measuring = time.monotonic()
    while len(samples) < budget.min_repetitions or (
        len(samples) < budget.max_repetitions and time.monotonic() - measuring < budget.measure_s
    ):
        batch_began = time.monotonic()
        times, seconds = repeater.batch(size)
        samples += times
        flushed += seconds
        size = _next_size(size, time.monotonic() - batch_began)
    return Samples(samples, time.monotonic() - began, flushed)


def _next_size(size: int, seconds: float) -> int:
    return max(1, min(_LARGEST_BATCH, int(size * _BATCH_S / max(seconds, 1e-6)), 2 * size))


class CudaReplay:
    """Calls captured in a CUDA graph, which is replayed."""

    def __init__(self, calls: Sequence[Callable[[], torch.Tensor]], flush: torch.Tensor):
        self._flush = flush
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # Before capture: lazy set-up, tuning, compilation.
            for call in calls:
                call()
                call()
        torch.cuda.current_stream().wait_stream(side)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self.outputs = [call() for call in calls]

    def run(self) -> torch.Tensor:
        """Replays once; the output of the first call."""
        self._graph.replay()
        torch.cuda.synchronize()
        return self.outputs[0]

    def batch(self, repetitions: int) -> tuple[list[float], float]:
        """See [`Repeater`]. All is enqueued first: the GPU never waits for the host in between."""
        marks = [[torch.cuda.Event(enable_timing=True) for _ in range(3)] for _ in range(repetitions)]
        for before, start, end in marks:
            before.record()
            torch.sum(self._flush)
            start.record()
            self._graph.replay()
            end.record()
        torch.cuda.synchronize()
        calls = len(self.outputs)
        times = [start.elapsed_time(end) * 1e3 / calls for _, start, end in marks]
        return times, sum(before.elapsed_time(start) for before, start, _ in marks) * 1e-3


class CpuCalls:
    """Plain calls, timed by the host's clock."""

    def __init__(self, calls: Sequence[Callable[[], torch.Tensor]], flush: torch.Tensor):
        self._calls = calls
        self._flush = flush

    def run(self) -> torch.Tensor:
        """Calls the first once."""
        return self._calls[0]()

    def batch(self, repetitions: int) -> tuple[list[float], float]:
        """See [`Repeater`]."""
        times, flushed = [], 0
        for _ in range(repetitions):
            before = time.perf_counter_ns()
            torch.sum(self._flush)
            start = time.perf_counter_ns()
            for call in self._calls:
                call()
            end = time.perf_counter_ns()
            times.append((end - start) * 1e-3 / len(self._calls))
            flushed += start - before
        return times, flushed * 1e-9


def repeater(calls: Sequence[Callable[[], torch.Tensor]], flush: torch.Tensor):
    """The way to repeat calls on the device of `flush`."""
    return (CudaReplay if flush.is_cuda else CpuCalls)(calls, flush)


def flush_buffer(device: str, l2_bytes: int) -> torch.Tensor:
    """A buffer whose reading leaves nothing else in the cache."""
    return torch.zeros(2 * l2_bytes // 4, dtype=torch.float32, device=device)
