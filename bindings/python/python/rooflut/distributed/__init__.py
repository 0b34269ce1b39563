"""Sweeps on more than one machine: on Ray, Dask or any executor of ``concurrent.futures``.

The rows, and the bytes of the file that they are written to, are those of :func:`rooflut.sweep` on one machine, whatever
the number of workers and whichever of them fail.
"""

from ._progress import Progress
from ._sweep import Written, sweep

__all__ = ["Progress", "Written", "sweep"]
