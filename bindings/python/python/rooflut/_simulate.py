"""Simulations of servers under load."""

from __future__ import annotations

import os
from typing import Any, Mapping

from . import _rooflut
from ._frame import Frame
from ._report import Report


def simulate(
    scenario: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    /,
    *,
    trace: Any = None,
    untrusted: bool = False,
    keep_requests: bool = False,
    keep_steps: bool = False,
    **keys: Any,
) -> Report:
    """Simulates a server under load and returns the report of ``rooflut run --json``.

    ``scenario`` is the path of a scenario file, or its keys as a dictionary; ``keys`` replace them:
    ``simulate(model="llama-3.1-8b", rate=5, requests=200, prompt="uniform:100..900")``. ``rooflut help run`` lists them
    as flags. What a scenario file would write to other files is not written. With ``untrusted``, a file that names anything
    outside of its own folder, a pipe or a device is refused; paths of ``keys`` are free.

    ``trace`` is the path of a trace, or a frame of requests: a dictionary of arrays, or a table of pandas, polars or
    Arrow with the columns ``arrival_ms``, ``prompt_tokens``, ``output_tokens`` and optionally
    ``cached_prompt_tokens``, ``priority``, ``prefix_id`` with ``prefix_tokens``, and ``session_id``; ids are numbers.

    ``keep_requests`` and ``keep_steps`` keep a row of each request (about 150 bytes) and step (80 bytes) for
    :attr:`Report.requests` and :attr:`Report.steps`.
    """
    if isinstance(trace, (str, os.PathLike)):
        keys["trace"] = trace
        trace = None
    if isinstance(scenario, Mapping):
        scenario = dict(scenario)
    text, requests, steps = _rooflut.simulate(scenario, trace, untrusted, keep_requests, keep_steps, keys)
    return Report(text, _frame(requests), _frame(steps))


def _frame(columns: dict[str, Any] | None) -> Frame | None:
    return None if columns is None else Frame(columns)
