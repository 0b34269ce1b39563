"""How long LLM inference takes: measured GPU kernels, a roofline step model, a serving simulator.

Times end in their unit: ``_ns``, ``_us``, ``_ms``, ``_s``. Errors are :class:`RooflutError`, a ``ValueError`` whose
message says what was found, what was expected and what to do. Long calls release the lock of the interpreter.

``PARTS`` are the names of the parts of a step, ``BINDINGS`` of what limits a part, ``CLASSES`` of the sources of times.
"""

from ._answer import Answer
from ._commands import compare, engines, fits, lookup, models, plan, saturate, step, sweep, tables
from ._config import read_config
from ._frame import Frame
from ._report import Report
from ._rooflut import (
    BINDINGS,
    CLASSES,
    PARTS,
    Deployment,
    Estimate,
    Event,
    Kernel,
    RooflutError,
    Server,
    Tables,
    __version__,
)
from ._simulate import simulate
from ._sweep import Sweep
from ._types import PartTime, ServerStep, StepTime

__all__ = [
    "BINDINGS",
    "CLASSES",
    "PARTS",
    "Answer",
    "Deployment",
    "Estimate",
    "Event",
    "Frame",
    "Kernel",
    "PartTime",
    "Report",
    "RooflutError",
    "Server",
    "ServerStep",
    "StepTime",
    "Sweep",
    "Tables",
    "__version__",
    "compare",
    "engines",
    "fits",
    "lookup",
    "models",
    "plan",
    "read_config",
    "saturate",
    "simulate",
    "step",
    "sweep",
    "tables",
]
