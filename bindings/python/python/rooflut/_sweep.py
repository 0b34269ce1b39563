"""Rows of sweeps."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any, Callable

from ._frame import Frame

if TYPE_CHECKING:
    import numpy

#: Columns of text whatever they hold.
_TEXT = ("grid", "error")


class Sweep(Frame):
    """The rows of a sweep, a column for each of its CSV: ``index``, ``grid``, the values of the grid, figures, ``error``.

    Columns of numbers are arrays of numbers, with NaN for figures that are not known; others are arrays of strings.
    """

    def __init__(self, text: str) -> None:
        header, *rows = csv.reader(io.StringIO(text, newline=""))
        columns = zip(*rows) if rows else ((),) * len(header)
        super().__init__((name, _column(name, cells)) for name, cells in zip(header, columns))
        self._text = text

    def csv(self) -> str:
        """Returns the bytes of ``rooflut sweep``."""
        return self._text


def _column(name: str, cells: tuple[str, ...]) -> numpy.ndarray[Any, numpy.dtype[Any]]:
    import numpy

    readers: list[Callable[[str], Any]] = [int, lambda cell: float(cell or "nan")]
    for read in [] if name in _TEXT else readers:
        try:
            return numpy.array([read(cell) for cell in cells])
        except ValueError:
            pass
    return numpy.array(cells, dtype=str)
