"""The log of a shard: one JSON object per line, appended and on disk before the next row begins.

Kinds of lines: `session` (a process began: device, versions, host), `kernel` (which library was
chosen for a variant, and which were rejected), `broken` (a library that took the device down), `row`
(a row's outcome: `ok`, `oom` or `failed`), and `retry` (earlier outcomes that are not `ok` count no more).
"""

import fcntl
import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from .errors import UserError

OK, OOM, FAILED = "ok", "oom", "failed"


@dataclass
class Records:
    """Contents of the logs."""

    sessions: list[dict] = field(default_factory=list)
    kernels: list[dict] = field(default_factory=list)
    broken: list[dict] = field(default_factory=list)
    #: By key: the last outcome of each row.
    rows: dict[str, dict] = field(default_factory=dict)

    def add(self, record: dict) -> None:
        """Takes a line in."""
        if record["kind"] == "row":
            self.rows[record["key"]] = record
        elif record["kind"] == "retry":
            self.rows = {key: row for key, row in self.rows.items() if row["status"] == OK}
        else:
            getattr(self, record["kind"] + ("" if record["kind"] == "broken" else "s")).append(record)


def read(path: Path) -> Records:
    """The lines of a log; a last line that a killed process left unfinished is left out."""
    return _parse(path, path.read_bytes())[0]


def _parse(path: Path, text: bytes) -> tuple[Records, int]:
    """The records, and the length of the text up to the last whole line."""
    records, whole = Records(), text.rfind(b"\n") + 1
    for number, line in enumerate(text[:whole].splitlines(), start=1):
        try:
            records.add(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise UserError(
                f"{path}:{number}: expected a record of a log, found {line[:60]!r}; "
                "remove the line (its row is measured again)"
            ) from None
    return records, whole


class Log:
    """A log that is open for appending, by one process at a time."""

    def __init__(self, path: Path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._file)
            if isinstance(error, BlockingIOError):
                raise UserError(f"{path}: another process is collecting this shard; wait for it") from None
            raise UserError(f"{path}: cannot be locked ({error}): give an --out on another volume") from None
        self.records, whole = _parse(path, path.read_bytes())
        os.ftruncate(self._file, whole)

    def append(self, record: dict) -> None:
        """Writes a line, in one piece, and waits until it is on disk."""
        line = json.dumps(record, separators=(",", ":")) + "\n"
        os.write(self._file, line.encode())
        os.fsync(self._file)
        self.records.add(record)

    def close(self) -> None:
        """Lets another process have the log."""
        os.close(self._file)
