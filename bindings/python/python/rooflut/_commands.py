"""The commands of ``rooflut`` that answer with JSON, as functions.

Keyword arguments are the flags of the command with underscores for dashes: ``True`` is a flag without a value, a list
several values, ``None`` leaves the flag out. ``rooflut help COMMAND`` describes them.
"""

from __future__ import annotations

import json
import os
from typing import Any, Sequence, Union

from . import _rooflut

#: The value of a flag.
One = Union[None, bool, int, float, str, "os.PathLike[str]"]
#: The values of a flag, or one.
Flag = Union[One, Sequence[One]]


def models() -> Any:
    """Lists the models that are known by name, with their dimensions."""
    return _answer("models", [], {})


def engines() -> Any:
    """Lists the engine stacks: scheduling, and what each adds to the kernels."""
    return _answer("engines", [], {})


def tables(**flags: Flag) -> Any:
    """Lists the table sets: operations, shapes, ranges, sources."""
    return _answer("tables", [], flags)


def lookup(kernel: str, **flags: Flag) -> Any:
    """Looks one kernel up, with the measured points near it: ``lookup("gemm", k=4096, n=6144, m=100)``.

    For many lookups see :meth:`Tables.kernel`.
    """
    return _answer("lookup", [kernel], flags)


def step(**flags: Flag) -> Any:
    """Times one step with its memory and its range: ``step(prefill="512@1024", decode=["64x1000"])``.

    For many steps see :meth:`Deployment.step_times_ns`.
    """
    return _answer("step", [], flags)


def fits(**flags: Flag) -> Any:
    """Lists the GPUs that hold a model: longest context, largest batch, KV tokens."""
    return _answer("fits", [], flags)


def plan(**flags: Flag) -> Any:
    """Finds the deployments with the fewest GPUs that serve a load within limits.

    ``plan(model="llama-3.1-70b", gpu=["h100", "h200"], tp=[2, 4], rate=30, goodput="ttft:500")``
    """
    return _answer("plan", [], flags)


def compare(a: str | os.PathLike[str], b: str | os.PathLike[str]) -> Any:
    """Compares two scenarios or reports, given as paths: what differs, and the terms of the differences."""
    return _answer("compare", [os.fspath(a), os.fspath(b)], {})


def validate(*files: str | os.PathLike[str], **flags: Flag) -> Any:
    """Predicts measured runs of vLLM and compares: those of the project, or those of CSV files with their columns."""
    return _answer("validate", [os.fspath(file) for file in files], flags)


def _answer(command: str, operands: list[str], flags: dict[str, Flag]) -> Any:
    arguments = [command, *operands, "--json"]
    for name, value in flags.items():
        arguments += _flag(name, value)
    return json.loads(_rooflut.answer(arguments))


def _flag(name: str, value: Flag) -> list[str]:
    flag = "--" + name.replace("_", "-")
    if value is None or value is False:
        return []
    if value is True:
        return [flag]
    if isinstance(value, (list, tuple)):
        return [part for item in value for part in _flag(name, item)]
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    # As one argument: a value may begin with a dash.
    return [f"{flag}={value}"]
