"""Rows of sweeps."""

from __future__ import annotations

import csv
import html
import io
import itertools
from typing import TYPE_CHECKING, Any, Callable

from . import _rooflut
from ._answer import framed
from ._frame import Frame

if TYPE_CHECKING:
    import numpy

#: Rows of the table of a notebook that is not trusted.
_SHOWN_ROWS = 20
#: Columns of text whatever they hold.
_TEXT = ("grid", "error", "checksum")
_TRUTH = {"false": False, "true": True}


class Sweep(Frame):
    """The rows of a sweep, a column for each of its CSV: ``index``, ``grid``, the values of the grid, figures, ``error``, ``checksum``.

    Columns of numbers and booleans are arrays of them; others are arrays of strings. Where a row lacks a value, numbers
    and booleans are floats, and NaN is in its place.
    """

    def __init__(self, text: str) -> None:
        header, *rows = csv.reader(io.StringIO(text, newline=""))
        columns = zip(*rows) if rows else ((),) * len(header)
        super().__init__((name, _column(name, cells)) for name, cells in zip(header, columns))
        self._text = text

    def csv(self) -> str:
        """Returns the bytes of ``rooflut sweep``."""
        return self._text

    def to_html(self) -> str:
        """Returns a report with charts: one HTML file that opens offline, as ``rooflut report`` writes it."""
        return _rooflut.html("rooflut sweep", self._text)

    def _repr_html_(self) -> str:
        lines = itertools.islice(csv.reader(io.StringIO(self._text, newline="")), _SHOWN_ROWS + 1)
        rows = ("".join(f"<td>{html.escape(cell)}</td>" for cell in line) for line in lines)
        return framed(self.to_html(), f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>")


def _column(name: str, cells: tuple[str, ...]) -> numpy.ndarray[Any, numpy.dtype[Any]]:
    import numpy

    readers: list[Callable[[str], Any]] = [
        int,
        lambda cell: float(cell or "nan"),
        lambda cell: _TRUTH[cell],
        lambda cell: float(_TRUTH[cell] if cell else "nan"),
    ]
    for read in [] if name in _TEXT else readers:
        try:
            return numpy.array([read(cell) for cell in cells])
        except (KeyError, ValueError):
            pass
    return numpy.array(cells, dtype=str)
