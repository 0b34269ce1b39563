"""Answers of commands, and what a notebook shows of them."""

from __future__ import annotations

import html
import json
from typing import Any, Dict

from . import _rooflut


class Answer(Dict[str, Any]):
    """An answer of a command: the fields of its JSON."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(json.loads(text))
        self._name = name
        self._text = text

    def json(self) -> str:
        """Returns the bytes of the command's JSON."""
        return self._text

    def to_html(self) -> str:
        """Returns a report with charts: one HTML file that opens offline, as ``rooflut report`` writes it."""
        return _rooflut.html(self._name, self._text)

    def _repr_html_(self) -> str:
        return framed(self.to_html(), self._table())

    def _table(self) -> str:
        figures = [(key, value) for key, value in self.items() if isinstance(value, (bool, int, float, str))]
        rows = "".join(f"<tr><th>{html.escape(key)}</th><td>{html.escape(str(value))}</td></tr>" for key, value in figures)
        return f"<table>{rows}</table>"


def framed(report: str, table: str) -> str:
    """Returns a report in a frame of its own, and a table, which is what a notebook shows that is not trusted."""
    frame = f'<iframe sandbox="allow-scripts allow-downloads" srcdoc="{html.escape(report)}" title="rooflut"'
    return f'{frame} width="100%" height="720" frameborder="0"></iframe><details><summary>Table</summary>{table}</details>'
