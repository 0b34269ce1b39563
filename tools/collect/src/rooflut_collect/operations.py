"""The five operations: the columns of their tables, and a row of one."""

import csv
from dataclasses import dataclass
from pathlib import Path

from .errors import UserError, comma


@dataclass(frozen=True)
class Operation:
    """A table: its file, the columns of a shape, the measured axes."""

    name: str
    file: str
    shape: tuple[str, ...]
    axes: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns but the latency."""
        return self.shape + self.axes


_HEADS = ("dtype", "kv_dtype", "q_heads", "kv_heads", "head_dim", "tp")
_EXPERTS = ("dtype", "experts", "top_k", "hidden", "intermediate", "tp", "ep", "matrices")

#: In the order in which they are measured.
OPERATIONS = {
    operation.name: operation
    for operation in (
        Operation("gemm", "gemm.csv", ("dtype", "k", "n"), ("m",)),
        Operation("prefill", "attention_prefill.csv", _HEADS, ("batch", "seq_len")),
        Operation("decode", "attention_decode.csv", _HEADS, ("batch", "kv_len")),
        Operation("moe", "moe.csv", _EXPERTS, ("tokens",)),
        Operation("allreduce", "allreduce.csv", ("ranks",), ("bytes",)),
    )
}

#: Columns that hold a name; all others hold a whole number.
_NAMES = ("dtype", "kv_dtype")
#: Columns that a file or a row may leave out, and what they are then.
_DEFAULTS = {"tp": 1, "ep": 1, "matrices": 3}
#: Columns that take a kernel of their own where they differ from the default.
_UNUSUAL = ("ep", "matrices")


@dataclass(frozen=True)
class Row:
    """One kernel call that is measured: an operation and the values of its columns."""

    operation: str
    values: tuple[int | str, ...]

    @staticmethod
    def of(operation: str, **values: int | str) -> "Row":
        """A row by the names of its columns, some of which have defaults."""
        values = _DEFAULTS | values
        return Row(operation, tuple(values[column] for column in OPERATIONS[operation].columns))

    def __getitem__(self, column: str) -> int | str:
        return self.values[OPERATIONS[self.operation].columns.index(column)]

    @property
    def key(self) -> str:
        """`gemm dtype=bf16 k=4096 n=6144 m=8`: what a row is known by, in logs and listings."""
        columns = OPERATIONS[self.operation].columns
        pairs = (f"{column}={value}" for column, value in zip(columns, self.values))
        return " ".join([self.operation, *pairs])

    @property
    def shape(self) -> tuple[int | str, ...]:
        """The values of the shape's columns."""
        return self.values[: len(OPERATIONS[self.operation].shape)]

    @property
    def variant(self) -> str:
        """`decode bf16/fp8`: what a kernel library is chosen for."""
        columns = OPERATIONS[self.operation].columns
        names = (str(self[name]) for name in _NAMES if name in columns)
        others = (name for name in _UNUSUAL if name in columns and self[name] != _DEFAULTS[name])
        pairs = (f"{name}={self[name]}" for name in others)
        return " ".join([self.operation, "/".join(names), *pairs]).strip()

    def replace(self, **values: int | str) -> "Row":
        """The row with other values in some columns."""
        columns = OPERATIONS[self.operation].columns
        return Row.of(self.operation, **{**dict(zip(columns, self.values)), **values})


def row_of_key(key: str) -> Row:
    """The row of a [`Row.key`]."""
    operation, *pairs = key.split(" ")
    values = dict(pair.split("=", 1) for pair in pairs)
    typed = {name: text if name in _NAMES else int(text) for name, text in values.items()}
    return Row.of(operation, **typed)


def read_rows(folder: Path) -> list[Row]:
    """The rows of a table set's CSVs, without their latencies."""
    files = [(op, folder / op.file) for op in OPERATIONS.values() if (folder / op.file).is_file()]
    if not files:
        expected = comma(op.file for op in OPERATIONS.values())
        raise UserError(f"{folder}: expected a table set with some of {expected}, found none")
    return [row for operation, path in files for row in _read(operation, path)]


def _read(operation: Operation, path: Path) -> list[Row]:
    rows = []
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        for record in reader:
            record = _DEFAULTS | record
            try:
                values = {c: record[c] if c in _NAMES else int(record[c]) for c in operation.columns}
            except (KeyError, TypeError, ValueError) as error:
                raise UserError(
                    f"{path}:{reader.line_num}: expected the columns {comma(operation.columns)} "
                    f"with whole numbers, could not read {error}; correct the file"
                ) from None
            rows.append(Row.of(operation.name, **values))
    return rows
