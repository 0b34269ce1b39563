"""Requests to serve, as columns."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .text import text_of
from .version import VllmError

#: Columns with whole numbers, and the least of each.
NUMBERS = {
    "arrival_ns": 0,
    "prompt_tokens": 1,
    "output_tokens": 1,
    "priority": 0,
    "prefix_id": 0,
    "prefix_tokens": 0,
    "session_id": 0,
}
COLUMNS = (*NUMBERS, "arrival_ms", "prompt_token_ids")
#: Largest number of tokens.
MAX_TOKENS = 2**31 - 1
#: Last arrival, 146 years, so that times after it are within 64 bits, too.
LAST_ARRIVAL_NS = 2**62


@dataclass
class Requests:
    """Requests to serve: lists of equal length."""

    arrival_ns: list[int]
    prompt_tokens: list[int]
    output_tokens: list[int]
    priority: list[int]
    #: Token `i` of each.
    texts: list

    def __len__(self):
        return len(self.arrival_ns)


def read(frame):
    """Reads requests: a dictionary of arrays, a table of pandas, polars or Arrow, or a list of dictionaries."""
    columns = columns_of(frame)
    unknown = [name for name in columns if name not in COLUMNS]
    if unknown:
        raise VllmError(f"unknown column {unknown[0]!r}; drop it, the columns are {', '.join(COLUMNS)}")
    for pair in (("arrival_ns", "arrival_ms"), ("prompt_tokens", "prompt_token_ids")):
        if all(name in columns for name in pair):
            raise VllmError(f"{pair[0]} and {pair[1]}: given both; leave one out")
    ids = columns.pop("prompt_token_ids", None)
    if ids is not None:
        ids = [token_ids(row, of) for row, of in enumerate(ids)]
        columns["prompt_tokens"] = [len(of) for of in ids]
    for name in ("prompt_tokens", "output_tokens"):
        if name not in columns:
            raise VllmError(f"{name}: missing; the requests must have it")
    if "arrival_ms" in columns:
        columns["arrival_ns"] = nanoseconds(columns.pop("arrival_ms"))
    numbers = {name: whole(name, values) for name, values in columns.items()}
    rows = {name: len(values) for name, values in numbers.items()}
    if len(set(rows.values())) > 1:
        found = ", ".join(f"{name} {count}" for name, count in rows.items())
        raise VllmError(f"expected columns of equal length, found {found}")
    if ("prefix_id" in numbers) != ("prefix_tokens" in numbers):
        raise VllmError("expected both prefix_id and prefix_tokens; give both")
    for row, (prefix, prompt) in enumerate(zip(numbers.get("prefix_tokens", ()), numbers["prompt_tokens"])):
        if prefix > prompt:
            raise VllmError(f"prefix_tokens[{row}]: expected at most prompt_tokens ({prompt}), found {prefix}")
    count = rows["prompt_tokens"]
    zeros = [0] * count
    return Requests(
        numbers.get("arrival_ns", zeros),
        numbers["prompt_tokens"],
        numbers["output_tokens"],
        numbers.get("priority", zeros),
        texts(numbers, ids, count),
    )


def columns_of(frame):
    """The columns of a frame by name."""
    if isinstance(frame, (list, tuple)):
        if not all(isinstance(row, Mapping) and row.keys() == frame[0].keys() for row in frame):
            raise VllmError("expected a list of dictionaries with the same keys, found others; give each all keys")
        return {name: [row[name] for row in frame] for name in (frame[0] if frame else ())}
    for attribute in ("column_names", "columns", "keys"):
        names = getattr(frame, attribute, None)
        if names is not None:
            return {str(name): frame[name] for name in (names() if callable(names) else names)}
    raise VllmError(
        f"expected a dictionary of arrays, a frame with named columns or a list of dictionaries, found {type(frame)}"
    )


def array(name, values, kinds, expected):
    """An array of one dimension."""
    if isinstance(values, np.ma.MaskedArray):
        raise VllmError(f"{name}: expected an array without a mask; use its compressed() or filled()")
    try:
        found = np.asarray(values)
    except ValueError as error:
        raise VllmError(f"{name}: expected {expected}: {error}") from error
    # NumPy makes an empty list one of floats.
    if found.ndim != 1 or not (found.dtype.kind in kinds or found.size == 0):
        raise VllmError(
            f"{name}: expected one dimension of {expected}, found {found.dtype} of shape {found.shape}; convert it"
        )
    return found


def whole(name, values):
    """Whole numbers that are large enough."""
    numbers = [int(number) for number in array(name, values, "iu", "whole numbers")]
    most = {"arrival_ns": LAST_ARRIVAL_NS, "prefix_id": 2**63 - 1, "session_id": 2**63 - 1}.get(name, MAX_TOKENS)
    for row, number in enumerate(numbers):
        if not NUMBERS[name] <= number <= most:
            raise VllmError(f"{name}[{row}]: expected a whole number from {NUMBERS[name]} to {most}, found {number}")
    return numbers


def nanoseconds(arrival_ms):
    """Nanoseconds of milliseconds."""
    times = array("arrival_ms", arrival_ms, "fiu", "numbers").astype(np.float64)
    for row, time in enumerate(times):
        if not 0 <= time <= LAST_ARRIVAL_NS / 1e6:
            raise VllmError(f"arrival_ms[{row}]: expected a number from 0 to {LAST_ARRIVAL_NS // 10**6}, found {time}")
    return np.round(times * 1e6).astype(np.int64)


def token_ids(row, ids):
    """The token ids of a prompt."""
    return [int(id) for id in array(f"prompt_token_ids[{row}]", ids, "iu", "whole numbers")]


def texts(numbers, ids, count):
    """Token `i` of each request."""
    shared = [name for name in ("prefix_id", "prefix_tokens", "session_id") if name in numbers]
    made = [text_of(row, {name: numbers[name][row] for name in shared}) for row in range(count)]
    return made if ids is None else [given_text(of, text) for of, text in zip(ids, made)]


def given_text(ids, text):
    """The tokens of a prompt, followed by those of a made-up text."""
    return lambda i: ids[i] if i < len(ids) else text(i)
