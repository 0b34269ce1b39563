"""The commands of ``rooflut`` as functions.

Keyword arguments are the flags of the command with underscores for dashes: a list or an array gives several values,
``None`` leaves the flag out. ``rooflut help COMMAND`` describes them.
"""

from __future__ import annotations

import json
import os
from typing import Any, Iterable, List, Mapping, Sequence, Tuple, Union, cast

from . import _rooflut
from ._answer import Answer
from ._rooflut import RooflutError
from ._sweep import Sweep

#: A value of a flag.
One = Union[None, bool, int, float, str, "os.PathLike[str]"]
#: The value of a flag, or its values, of which one may be a list, as with two limits of ``goodput``.
Flag = Union[One, Iterable[Union[One, List[str], Tuple[str, ...]]]]


def models() -> Any:
    """Lists the models that are known by name, with their dimensions."""
    return _json("models", [], {})["models"]


def engines() -> Any:
    """Lists the engine stacks: scheduling, and what each adds to the kernels."""
    return _json("engines", [], {})["engines"]


def tables(**flags: Flag) -> Any:
    """Lists the table sets: operations, shapes, ranges, sources."""
    return _json("tables", [], flags)["tables"]


def lookup(kernel: str, **flags: Flag) -> Any:
    """Looks one kernel up, with the measured points near it: ``lookup("gemm", k=4096, n=6144, m=100)``.

    For many lookups see :meth:`Tables.kernel`.
    """
    return _json("lookup", [kernel], flags)


def step(**flags: Flag) -> Answer:
    """Times one step with its memory and its range: ``step(prefill="512@1024", decode=["64x1000"])``.

    For many steps see :meth:`Deployment.step_times_ns`.
    """
    return _shown("step", [], flags)


def fits(**flags: Flag) -> Any:
    """Lists the GPUs that hold a model: longest context, largest batch, KV tokens, smallest deployment."""
    return _json("fits", [], flags)


def plan(**flags: Flag) -> Answer:
    """Finds the cheapest deployments that serve a load within limits, with their prices.

    ``plan(model="llama-3.1-70b", gpu=["h100", "h200"], tp=[2, 4], rate=30, goodput="ttft:500")``; ``prices`` is the
    path of a TOML file with prices of GPUs. If no deployment meets the limits, the error names the nearest one.
    """
    return _shown("plan", [], flags)


def saturate(**flags: Flag) -> Answer:
    """Finds the highest rate that servers serve within limits, and the latencies at rates around it.

    ``saturate(model="llama-3.1-8b", gpu="h100", replicas=2, goodput=["ttft:500", "tpot:20"])``; without ``goodput``,
    the highest rate that the servers keep up with.
    """
    return _shown("saturate", [], flags)


def sweep(
    *,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    **flags: Flag,
) -> Sweep:
    """Runs a grid of deployments and loads in parallel and returns a row for each, in the order of the grid.

    ``sweep(model="llama-3.1-8b", gpu=["h100", "h200"], tp=[1, 2], rate="4..20:4")`` has 20 rows; the last argument
    varies fastest. ``scenario`` is the path of a file that may have lists in a table ``[sweep]``; with ``untrusted=True`` it
    may name nothing outside of its own folder. ``shard="2/8"`` runs a part of the grid. A deployment that cannot be run is
    a row with an error. ``goodput=["ttft:200", "tpot:20"]`` are two values with one limit each, and
    ``goodput=[["ttft:200", "tpot:20"]]`` is one with both.

    ``out`` writes each row to a CSV file, or to a folder ``NAME.parquet``, as soon as it is known; ``resume`` goes on
    with the output of a sweep that was interrupted. ``threads`` is the number of threads, by default that of the CPUs
    that the process may use. :func:`rooflut.distributed.sweep` runs on several machines.
    """
    if flags.get("submit") is not None:
        raise RooflutError("submit: expected a sweep that runs here; submit with the command rooflut sweep")
    switches = ["--resume"] if resume else []
    if out is None:
        return Sweep(_answer("sweep", switches, flags))
    _answer("sweep", switches, {"out": out, **flags})
    return Sweep(_rooflut.sweep_csv(out))


def compare(a: str | os.PathLike[str], b: str | os.PathLike[str], *, untrusted: bool = False) -> Answer:
    """Compares two scenarios or reports, given as paths: what differs, and the terms of the differences.

    With ``untrusted``, a scenario that names anything outside of its own folder is refused.
    """
    return _shown("compare", [os.fspath(a), os.fspath(b)], {"untrusted": untrusted})


def _json(command: str, operands: list[str], flags: dict[str, Flag]) -> Any:
    return json.loads(_answer(command, ["--json", *operands], flags))


def _shown(command: str, operands: list[str], flags: dict[str, Flag]) -> Answer:
    """An answer that notebooks show as a report."""
    return Answer(f"rooflut {command}", _answer(command, ["--json", *operands], flags))


def _answer(command: str, operands: list[str], given: dict[str, Flag]) -> str:
    return _rooflut.answer([command, *operands, *flags(given)])


def flags(given: dict[str, Flag]) -> list[str]:
    """Returns keyword arguments as the flags of the command."""
    return [flag for name, value in given.items() for flag in _flag(name, value)]


def _item(name: str, value: Any) -> list[str]:
    if isinstance(value, (list, tuple)):
        texts = [text for text in cast("Sequence[object]", value) if isinstance(text, str)]
        if len(texts) == len(cast("Sequence[object]", value)) > 1:
            return [_option(name), *texts]
    return _flag(name, cast("Any", value))


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _flag(name: str, value: Flag) -> list[str]:
    if value is None:
        return []
    # Arrays, and single numbers and booleans of NumPy.
    values: Any = getattr(value, "tolist", None)
    if values is not None:
        return _flag(name, values())
    if isinstance(value, (bytes, bytearray, Mapping)):
        raise RooflutError(f"{name}: expected text, a number or a list of them, found {value.__class__.__name__}")
    if isinstance(value, Iterable) and not isinstance(value, str):
        flags = [part for item in value for part in _item(name, item)]
        if not flags:
            raise RooflutError(f"{name}: expected at least one value, found none; leave it out")
        return flags
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    # The only flag here that takes no value.
    if name == "untrusted" and isinstance(value, bool):
        return ["--untrusted"] if value else []
    # As one argument: a value may begin with a dash.
    return [f"{_option(name)}={text}"]
