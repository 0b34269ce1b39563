"""Reports of runs."""

from __future__ import annotations

import html
from typing import List

from ._answer import Answer
from ._frame import Frame
from ._rooflut import RooflutError

#: The latencies of a report, with what they measure.
_LATENCIES = {
    "ttft_ms": "TTFT to first token",
    "tpot_ms": "TPOT per output token",
    "itl_ms": "ITL next token",
    "e2e_ms": "E2E to last token",
    "queue_ms": "queue to scheduling",
}


class Report(Answer):
    """The report of a run: the fields of ``rooflut run --json``."""

    def __init__(self, text: str, requests: Frame | None = None, steps: Frame | None = None) -> None:
        super().__init__("rooflut run", text)
        self._requests = requests
        self._steps = steps

    @property
    def requests(self) -> Frame:
        """A row for each request, in the order of the load.

        Times that a request does not have are NaN; a replica or a point in time is -1.
        """
        return _kept(self._requests, "requests")

    @property
    def steps(self) -> Frame:
        """A row for each step, in the order of their ends, with the columns of :class:`ServerStep`."""
        return _kept(self._steps, "steps")

    def _table(self) -> str:
        title = f"{self['model']} on {self['gpus']} {self['gpu']} GPU{'' if self['gpus'] == 1 else 's'}"
        figures = ["mean", "p50", "p90", "p95", "p99"]
        rows = [_row("th", "latency, ms", figures)]
        for key, label in _LATENCIES.items():
            rows.append(_row("td", label, [_figure(self[key][figure]) for figure in figures]))
        throughput = self["throughput"]
        served = (
            f"{self['completed']:_} of {self['requests']:_} requests, {throughput['requests_per_s']:.2f} requests/s, "
            f"{throughput['output_tokens_per_s']:_.0f} output tokens/s"
        )
        overload = "<p><b>The server does not keep up with this rate.</b></p>" if self["overloaded"] else ""
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self["notes"])
        return f"<p><b>{html.escape(title)}</b></p><table>{''.join(rows)}</table><p>{served}</p>{overload}{notes}"


def _kept(frame: Frame | None, name: str) -> Frame:
    if frame is None:
        raise RooflutError(f"{name}: not kept; call simulate(keep_{name}=True)")
    return frame


def _row(tag: str, label: str, figures: List[str]) -> str:
    cells = "".join(f"<{tag}>{figure}</{tag}>" for figure in figures)
    return f"<tr><th>{label}</th>{cells}</tr>"


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:_.4g}"
