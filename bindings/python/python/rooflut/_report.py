"""Reports of runs, and frames of their requests and steps."""

from __future__ import annotations

import html
import importlib
import json
from typing import TYPE_CHECKING, Any, Dict

from ._rooflut import RooflutError

if TYPE_CHECKING:
    import numpy
    import pandas
    import polars

#: The latencies of a report, with what they measure.
_LATENCIES = {
    "ttft_ms": "TTFT to first token",
    "tpot_ms": "TPOT per output token",
    "itl_ms": "ITL next token",
    "e2e_ms": "E2E to last token",
    "queue_ms": "queue to scheduling",
}


class Frame(Dict[str, "numpy.ndarray[Any, numpy.dtype[Any]]"]):
    """Columns of equal length, each a NumPy array: what ``pandas.DataFrame`` and ``polars.DataFrame`` take."""

    def to_pandas(self) -> pandas.DataFrame:
        """Returns the columns as a frame of pandas, which must be installed."""
        import pandas

        frame: pandas.DataFrame = pandas.DataFrame(self)
        return frame

    def to_polars(self) -> polars.DataFrame:
        """Returns the columns as a frame of polars, which must be installed."""
        import polars

        return polars.DataFrame(dict(self))

    def to_arrow(self) -> Any:
        """Returns the columns as a table of Arrow, for which pyarrow must be installed."""
        # It has no types.
        pyarrow: Any = importlib.import_module("pyarrow")
        return pyarrow.table(dict(self))


class Report(Dict[str, Any]):
    """The report of a run: the fields of ``rooflut run --json``."""

    def __init__(self, text: str, requests: Frame | None = None, steps: Frame | None = None) -> None:
        super().__init__(json.loads(text))
        self._text = text
        self._requests = requests
        self._steps = steps

    def json(self) -> str:
        """Returns the bytes of ``rooflut run --json``."""
        return self._text

    @property
    def requests(self) -> Frame:
        """A row for each request, in the order of the load.

        Times that a request does not have are NaN; a replica or a point in time is -1.
        """
        return _kept(self._requests, "requests")

    @property
    def steps(self) -> Frame:
        """A row for each step, in the order of their ends."""
        return _kept(self._steps, "steps")

    def _repr_html_(self) -> str:
        title = f"{self['model']} on {self['gpus']} {self['gpu']} GPU{'' if self['gpus'] == 1 else 's'}"
        figures = ["mean", "p50", "p90", "p95", "p99"]
        rows = [["latency, ms", *figures]]
        for key, label in _LATENCIES.items():
            rows.append([label, *(_figure(self[key][figure]) for figure in figures)])
        cells = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
        throughput = self["throughput"]
        served = (
            f"{self['completed']:,} of {self['requests']:,} requests, {throughput['requests_per_s']:,.2f} requests/s, "
            f"{throughput['output_tokens_per_s']:,.0f} output tokens/s"
        )
        note = "<p><b>The server does not keep up with this rate.</b></p>" if self["overloaded"] else ""
        return f"<p><b>{html.escape(title)}</b></p><table>{cells}</table><p>{served}</p>{note}"


def _kept(frame: Frame | None, name: str) -> Frame:
    if frame is None:
        raise RooflutError(f"{name}: not kept; call simulate(keep_{name}=True)")
    return frame


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:,.4g}"
