"""Plans: ordered lists of rows to measure, from short words."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from . import models, shapes
from .errors import UserError, comma
from .operations import OPERATIONS, Row, read_rows

SYNTAX = "models:NAME,…@tp1,2,4 or set:FOLDER or tiny"

#: Points that an axis of one shape may have in rooflut's tables.
_MOST_POINTS = 32
DTYPES = ("bf16", "fp8", "fp8_block")
KV_DTYPES = ("bf16", "fp8")


@dataclass(frozen=True)
class PlanSpec:
    """The words that a plan is made from."""

    sources: tuple[str, ...]
    formats: shapes.Formats = shapes.Formats()
    operations: tuple[str, ...] = tuple(OPERATIONS)

    def arguments(self) -> list[str]:
        """The command-line arguments that say the same."""
        words = [word for source in self.sources for word in ("--plan", source)]
        default = PlanSpec(self.sources)
        if self.formats.dtypes != default.formats.dtypes:
            words += ["--dtype", ",".join(self.formats.dtypes)]
        if self.formats.kv_dtypes != default.formats.kv_dtypes:
            words += ["--kv-dtype", ",".join(self.formats.kv_dtypes)]
        if self.operations != default.operations:
            words += ["--only", ",".join(self.operations)]
        return words


@dataclass(frozen=True)
class Plan:
    """Rows in the order in which they are measured, each once."""

    rows: tuple[Row, ...]

    @property
    def digest(self) -> str:
        """Differs where the rows differ, or their order."""
        text = "\n".join(row.key for row in self.rows)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def most_ranks(self) -> int:
        """GPUs that the plan needs at once."""
        return max((int(row["ranks"]) for row in self.rows if row.operation == "allreduce"), default=1)


def build(spec: PlanSpec) -> Plan:
    """The rows of all sources, by operation, in the order of the sources."""
    found = dict.fromkeys(row for source in spec.sources for row in _source(source, spec.formats))
    rows = [row for name in spec.operations for row in found if row.operation == name]
    if not rows:
        raise UserError(
            f"the plan {' '.join(spec.sources)} has no row of {comma(spec.operations)}: "
            "name another plan or other operations"
        )
    _check_axes(rows)
    return Plan(tuple(rows))


def _source(source: str, formats: shapes.Formats) -> Iterable[Row]:
    kind, _, rest = source.partition(":")
    if source == "tiny":
        return shapes.tiny(formats)
    if kind == "set" and rest:
        return read_rows(Path(rest))
    if kind == "models" and rest:
        return _models(source, rest, formats)
    raise UserError(f"--plan {source}: expected {SYNTAX}")


def _models(source: str, rest: str, formats: shapes.Formats) -> Iterator[Row]:
    names, at, parallel = rest.partition("@")
    sizes = re.fullmatch(r"tp([1-9]\d{0,3}(?:,[1-9]\d{0,3})*)", parallel) if at else None
    if at and sizes is None:
        raise UserError(f"--plan {source}: expected @tp1,2,4 after the models, found @{parallel}")
    if not all(names.split(",")):
        raise UserError(f"--plan {source}: expected a model's name between commas, found none")
    for name in names.split(","):
        model = models.find(name)
        for tp in sizes[1].split(",") if sizes else ["1"]:
            yield from shapes.of_model(model, int(tp), formats)


def _check_axes(rows: list[Row]) -> None:
    """Refuses more points than rooflut's tables hold; sources that are joined may have them."""
    points = defaultdict(set)
    for row in rows:
        for axis in OPERATIONS[row.operation].axes:
            points[row.operation, row.shape, axis].add(row[axis])
    for (operation, shape, axis), values in points.items():
        if len(values) > _MOST_POINTS:
            raise UserError(
                f"the plan has {len(values)} values of {axis} for {operation} "
                f"{' '.join(map(str, shape))}, a table holds {_MOST_POINTS}: collect the sources "
                "of the plan into sets of their own"
            )
