"""Columns of NumPy arrays, and their conversion to frames of other packages."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Dict

if TYPE_CHECKING:
    import numpy
    import pandas
    import polars


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
