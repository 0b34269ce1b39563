"""A device and a bench that need neither torch nor a GPU; steered by the environment.

As a program it is `rooflut-collect` with them: tests start it, and kill it.

FAKE_TRACE: a file that gets a line per measured row. FAKE_SECONDS: what a row takes. FAKE_FAIL,
FAKE_OOM, FAKE_NO_KERNEL, FAKE_LOST: rows whose key, with a space after it, contains this raise.
FAKE_KILL_AT: the process kills itself in the row of that number. FAKE_GPU, FAKE_VERSION: names.
"""

import os
import signal
import sys
import time
from pathlib import Path

from rooflut_collect import bounds, cli, gpus, run
from rooflut_collect.commands.run import _check_same
from rooflut_collect.device import Device
from rooflut_collect.errors import DeviceLost, NoKernel, OutOfMemory

H200 = gpus.known()["h200"]


def open_device(kind, sheet_file):
    name = os.environ.get("FAKE_GPU", "NVIDIA H200")
    versions = {"torch": "2.0", "driver": "580.1"}
    return Device("cuda", name, gpus.of_device(name) or H200, "", versions, 50_000_000)


def latency_us(row) -> float:
    """Something that an H200 could do."""
    return 5.0 + 2.0 * bounds.bound_us(row, H200)


class FakeBench:
    """A bench that waits and answers."""

    def __init__(self, opened=None):
        self.log = opened
        self.told = set()
        self.rows = []

    def measure(self, row):
        key = row.key
        if os.environ.get("FAKE_KILL_AT") == str(len(self.rows)):
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(float(os.environ.get("FAKE_SECONDS", "0")))
        self.rows.append(row)
        if "FAKE_TRACE" in os.environ:
            with open(os.environ["FAKE_TRACE"], "a") as trace:
                trace.write(key + "\n")
        self._tell(row)
        for name, error in (
            ("FAIL", RuntimeError),
            ("OOM", OutOfMemory),
            ("NO_KERNEL", NoKernel),
            ("LOST", DeviceLost),
        ):
            wanted = os.environ.get(f"FAKE_{name}")
            if wanted and wanted in f"{key} ":
                raise error("made to fail")
        us = latency_us(row) * float(os.environ.get("FAKE_FACTOR", "1"))
        clocks = {"sm_mhz": 1980.0, "mem_mhz": 3201.0, "power_w": 650.0, "celsius": 50.0}
        return run.Measurement(us, 0.9 * us, 1.1 * us, 20, 8, "fake", 0.01, 0.002, **clocks)

    def _tell(self, row):
        if self.log is not None and row.variant not in self.told:
            self.told.add(row.variant)
            version = os.environ.get("FAKE_VERSION", "fake 1.0")
            rejected = [{"backend": "better", "reason": "cannot be loaded"}]
            record = {
                "variant": row.variant,
                "backend": "fake",
                "version": version,
                "rejected": rejected,
            }
            _check_same(record, self.log)
            self.log.append({"kind": "kernel", **record})

    def close(self):
        pass


def main(words) -> int:
    def restart(words):
        os.execv(sys.executable, [sys.executable, str(Path(__file__)), *words])

    cli._restart = restart
    return cli.main(words, open_device=open_device, open_bench=lambda a, d, log, p: FakeBench(log))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent / "src"))
    sys.exit(main(sys.argv[1:]))
