"""Measures rows on a device with torch: chooses a library for each variant, checks it, times it."""

import gc
import time
import zlib
from collections.abc import Callable, Iterable

import torch

from . import kernels, timing
from .device import Device
from .errors import DeviceLost, NoKernel, OutOfMemory, UserError
from .kernels.base import Backend, bytes_of, copy_of, relative_error
from .kernels.ranks import Ranks
from .operations import Row
from .run import Measurement
from .telemetry import Telemetry

#: Calls in a repetition, on operands of their own: as many as these bytes hold, at most this many.
_OPERAND_BYTES = 256 << 20
_MOST_CALLS = 8


class _Rejected(Exception):
    """Why a library is not used."""


class TorchBench:
    """A bench on a CUDA device or the CPU.

    `tell` takes the records of a choice; `broken` names the libraries, per variant, that took the
    device down in an earlier process; `allowed` those that may be used (empty: all).
    """

    def __init__(
        self,
        device: Device,
        budget: timing.Budget,
        tell: Callable[[dict], None],
        broken: Iterable[tuple[str, str]] = (),
        allowed: Iterable[str] = (),
    ):
        self._device = device
        self._budget = budget
        self._tell = tell
        self._broken = set(broken)
        self._allowed = set(allowed)
        self._chosen: dict[str, Backend | str] = {}
        if device.kind == "cpu":
            torch.set_num_threads(1)  # Threads that wait for each other measure the other programs.
        self._flush = timing.flush_buffer(device.kind, device.l2_bytes)
        self._telemetry = Telemetry(device.uuid)
        self._ranks = Ranks(device.kind, tell)

    def measure(self, row: Row) -> Measurement:
        """Measures a row; see [`rooflut_collect.run.Bench`]."""
        try:
            if row.operation == "allreduce":
                return self._ranks.measure(row, self._budget)
            return self._measure(row, self._backend(row))
        except (OutOfMemory, NoKernel, DeviceLost, UserError):
            raise
        except Exception as error:
            self._collect_garbage(error)
            if _is_out_of_memory(error):
                raise OutOfMemory(str(error)) from None
            raise

    def _collect_garbage(self, error: Exception) -> None:
        """Frees what a failed row left; finds out whether the device still answers."""
        error.__traceback__ = None  # Its frames hold the operands.
        gc.collect()
        if self._device.kind != "cuda":
            return
        try:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
        except Exception as after:
            raise DeviceLost(f"{error} (then: {after})") from None

    def close(self) -> None:
        """Ends the processes beside this one."""
        self._ranks.close()
        self._telemetry.close()

    def _measure(self, row: Row, backend: Backend) -> Measurement:
        began = time.monotonic()
        operands = [self._operands(row)]
        more = min(_MOST_CALLS, _OPERAND_BYTES // max(bytes_of(operands[0]), 1)) - 1
        operands += [copy_of(operands[0]) for _ in range(more)]
        calls = [backend.prepare(row, each) for each in operands]
        repeater = timing.repeater(calls, self._flush)
        samples = timing.repeat(repeater, self._budget)
        return Measurement(
            latency_us=samples.percentile(50),
            p10_us=samples.percentile(10),
            p90_us=samples.percentile(90),
            repetitions=len(samples.microseconds),
            calls=len(calls),
            backend=backend.name,
            loop_s=samples.loop_s,
            flush_s=samples.flush_s,
            **self._telemetry.since(began),
        )

    def _operands(self, row: Row):
        torch.manual_seed(zlib.crc32(row.key.encode()))
        return kernels.OPERATIONS[row.operation].operands(row, self._device.kind)

    def _backend(self, row: Row) -> Backend:
        if row.variant not in self._chosen:
            self._chosen[row.variant] = self._choose(row)
        chosen = self._chosen[row.variant]
        if isinstance(chosen, str):
            raise NoKernel(chosen)
        return chosen

    def _choose(self, row: Row) -> Backend | str:
        """The first library that is there and computes what it should, or why there is none."""
        rejected, unfit = [], []
        for backend in kernels.OPERATIONS[row.operation].BACKENDS:
            why = backend.unfit(row, self._device.kind)
            if why:
                unfit.append({"backend": backend.name, "reason": why})
                continue
            try:
                version, error = self._try(backend, row)
            except _Rejected as rejection:
                rejected.append({"backend": backend.name, "reason": str(rejection)})
                continue
            chosen = {"backend": backend.name, "version": version, "self_check": error}
            self._tell({"kind": "kernel", "variant": row.variant, **chosen, "rejected": rejected})
            return backend
        self._tell({"kind": "kernel", "variant": row.variant, "backend": None, "rejected": rejected})
        why = "; ".join(f"{each['backend']}: {each['reason']}" for each in rejected + unfit)
        return f"no kernel for {row.variant} on {self._device.kind}: {why}"

    def _try(self, backend: Backend, row: Row) -> tuple[str, float]:
        """A library's version, and the error of its self-check."""
        if self._allowed and backend.name not in self._allowed:
            raise _Rejected("not among --kernels")
        if (row.variant, backend.name) in self._broken:
            raise _Rejected("took the device down in an earlier process")
        try:
            version = backend.load()
        except Exception as error:  # Not only ImportError: libraries look for GPUs as they load.
            raise _Rejected(f"cannot be loaded: {_line(error)}") from None
        try:
            error = self._self_check(backend, row)
        except Exception as failure:
            try:
                self._collect_garbage(failure)
            except DeviceLost as lost:
                self._tell({"kind": "broken", "variant": row.variant, "backend": backend.name})
                raise DeviceLost(str(lost), by_row=False) from None
            raise _Rejected(f"{version}: self-check failed: {_line(failure)}") from None
        limit = backend.tolerance(row)
        if not error <= limit:  # A NaN is no agreement either.
            raise _Rejected(f"{version}: self-check: error {error:.2g}, expected at most {limit:g}")
        return version, round(error, 6)

    def _self_check(self, backend: Backend, row: Row) -> float:
        """The relative error of a small case, run as rows are, against torch in 32 bits."""
        module = kernels.OPERATIONS[row.operation]
        small = module.small(row)
        operands = self._operands(small)
        expected = module.reference(small, operands)
        found = timing.repeater([backend.prepare(small, operands)], self._flush).run()
        return relative_error(found, expected)


def _is_out_of_memory(error: Exception) -> bool:
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    text = str(error).lower()
    return "out of memory" in text or "can't allocate memory" in text or "alloc_failed" in text


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
