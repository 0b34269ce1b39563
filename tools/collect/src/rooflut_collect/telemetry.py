"""Clocks, power and temperature while a row is measured.

One `nvidia-smi` runs beside the collector and prints a line every fifth of a second: asking it per row
would take longer than the row.
"""

import statistics
import subprocess
import threading
import time
from collections import deque

_FIELDS = ("clocks.sm", "clocks.mem", "power.draw", "temperature.gpu")
_NAMES = ("sm_mhz", "mem_mhz", "power_w", "celsius")
_EVERY_MS = 200
#: Samples kept: those of the longest row that matters.
_KEPT = 3000


class Telemetry:
    """Samples of one GPU; none where there is no `nvidia-smi`."""

    def __init__(self, uuid: str):
        self._samples: deque[tuple[float, tuple[float | None, ...]]] = deque(maxlen=_KEPT)
        self._process = None
        if not uuid:
            return
        command = ["nvidia-smi", "-i", uuid, f"--query-gpu={','.join(_FIELDS)}"]
        command += ["--format=csv,noheader,nounits", "-lms", str(_EVERY_MS)]
        try:
            self._process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                start_new_session=True,  # Ctrl-C is for the collector, which ends it.
            )
        except OSError:
            return
        threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True).start()

    def _read(self, lines) -> None:
        for line in lines:
            self._samples.append((time.monotonic(), parse(line)))

    def since(self, began: float) -> dict[str, float | None]:
        """The medians of the samples since `began`; of the last one before, if there are none."""
        samples = list(self._samples)
        rows = [values for at, values in samples if at >= began] or [v for _, v in samples[-1:]]
        medians = {}
        for place, name in enumerate(_NAMES):
            known = [values[place] for values in rows if values[place] is not None]
            medians[name] = statistics.median(known) if known else None
        return medians

    def close(self) -> None:
        """Ends `nvidia-smi`."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()


def parse(line: str) -> tuple[float | None, ...]:
    """The numbers of a line; `None` for `[N/A]`."""
    values: list[float | None] = []
    for text in line.split(","):
        try:
            values.append(float(text))
        except ValueError:
            values.append(None)
    return tuple((values + [None] * len(_NAMES))[: len(_NAMES)])
