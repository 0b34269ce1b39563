"""A part of a plan, for one of several jobs."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .errors import UserError
from .operations import Row


@dataclass(frozen=True)
class Shard:
    """Every `count`-th row, from the `index`-th on: neighbouring rows, which cost alike, are spread."""

    index: int = 0
    count: int = 1

    def take(self, rows: Sequence[Row]) -> tuple[Row, ...]:
        """The rows of this shard."""
        return tuple(rows[self.index :: self.count])

    @property
    def log_name(self) -> str:
        """The shard's log."""
        return f"shard-{self.index:04d}-of-{self.count:04d}.jsonl"


def parse(text: str, indexes: Sequence[int] = ()) -> Shard:
    """`3/25`: shard 3 of 25, counted from 0; with `indexes`, 3 counts in them."""
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    if match is None:
        raise UserError(f"--shard {text}: expected INDEX/COUNT like 0/25, counted from 0")
    index, count = int(match[1]), int(match[2])
    if indexes:
        if index >= len(indexes):
            raise UserError(
                f"--shard {text}: position {index} in --indexes, which has {len(indexes)}; "
                f"positions are 0 to {len(indexes) - 1}"
            )
        index = indexes[index]
    if index >= count:
        raise UserError(f"--shard {text}: shard {index} of {count}; indexes are 0 to {count - 1}")
    return Shard(index, count)


def parse_indexes(text: str, count: int) -> list[int]:
    """`3,7,9-12`: some of `count` shards, in order, each once."""
    indexes = set()
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not first <= last < count:
            raise UserError(f"--indexes {text}: expected 3,7,9-12 with each below {count}, found {part!r}")
        indexes.update(range(first, last + 1))
    return sorted(indexes)


def format_indexes(indexes: Sequence[int]) -> str:
    """`3,7,9-12`."""
    runs: list[list[int]] = []
    for index in indexes:
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(f"{first}-{last}" if last > first else f"{first}" for first, last in runs)
