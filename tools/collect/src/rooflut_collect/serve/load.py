"""A load: requests that are sent to a server in one go. Read from a `vllm bench serve` command."""

import math
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import UserError, comma

_COMMAND = ["vllm", "bench", "serve"]
#: What `vllm bench serve` takes where a line does not say.
_REQUESTS, _PROMPT, _OUTPUT = 1000, 1024, 128


@dataclass(frozen=True)
class Load:
    """Requests of one length, at a rate (open loop), by a number of users (closed loop), or all at once."""

    requests: int
    prompt_tokens: int
    output_tokens: int
    #: Largest number of requests in flight.
    users: int | None = None
    #: Requests per second.
    rate: float | None = None
    model: str | None = None
    seed: int | None = None
    #: Beginning of messages about this load: `loads.txt:3: `.
    place: str = field(default="", compare=False)

    @property
    def name(self) -> str:
        """`users-16_512-128`: names the file."""
        parts = [f"rate-{self.rate:.12g}"] if self.rate else []
        parts += [f"users-{self.users}"] if self.users else []
        return f"{'_'.join(parts) or 'at-once'}_{self.prompt_tokens}-{self.output_tokens}"


def read(path: Path) -> list[Load]:
    """The loads of a file: a `vllm bench serve` command per line; blank lines and comments are left out."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: expected a file of vllm bench serve commands, found {error!r}") from None
    loads: dict[str, tuple[int, Load]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        load = parse(line, f"{path}:{number}: ")
        if load is None:
            continue
        if load.name in loads:
            earlier = loads[load.name][0]
            raise UserError(
                f"{load.place}found a second load of the name {load.name}, the first is in line {earlier}; "
                "results are files of that name: remove one, or put it into another file, with another --out"
            )
        loads[load.name] = number, load
    if not loads:
        raise UserError(f"{path}: expected a vllm bench serve command per line, found none; add one")
    return [load for _, load in loads.values()]


def parse(line: str, place: str = "") -> Load | None:
    """The load of a line, `None` if it is blank or a comment."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError as error:
        raise UserError(f"{place}expected a command, found an open quote or escape ({error})") from None
    if not words:
        return None
    if words[:3] != _COMMAND:
        found = " ".join(words)[:60]
        raise UserError(
            f"{place}expected a line that begins with vllm bench serve, found {found!r}; "
            "remove what is before it, or the line"
        )
    values = _flags(words[3:], place)
    rate = values.get("--request-rate", math.inf)
    return Load(
        requests=values.get("--num-prompts", _REQUESTS),
        prompt_tokens=values.get("--random-input-len", _PROMPT),
        output_tokens=values.get("--random-output-len", _OUTPUT),
        users=values.get("--max-concurrency"),
        rate=None if math.isinf(rate) else rate,
        model=values.get("--model"),
        seed=values.get("--seed"),
        place=place,
    )


def count(text: str) -> int:
    """A whole number of at least 1."""
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def rate(text: str) -> float:
    """Requests per second, or `inf`."""
    number = float(text)
    if not number > 0.0:  # NaN, too.
        raise ValueError
    return number


def _random(text: str) -> str:
    if text != "random":
        raise ValueError
    return text


#: A flag's value and what is expected; `None` for one that takes no value.
_FLAGS: dict[str, tuple[Callable, str] | None] = {
    "--model": (str, "a name"),
    "--max-concurrency": (count, "a whole number of at least 1"),
    "--num-prompts": (count, "a whole number of at least 1"),
    "--random-input-len": (count, "a whole number of at least 1"),
    "--random-output-len": (count, "a whole number of at least 1"),
    "--request-rate": (rate, "requests per second, or inf"),
    "--seed": (int, "a whole number"),
    "--dataset-name": (_random, "random, the only dataset that is drawn here"),
    "--save-result": None,
    "--save-detailed": None,
    "--ignore-eos": None,
}


def _flags(words: list[str], place: str) -> dict:
    """The values of flags, by flag."""
    values, rest = {}, iter(words)
    for word in rest:
        flag, equals, value = word.partition("=")
        if flag not in _FLAGS:
            raise UserError(f"{place}{flag}: expected one of {comma(_FLAGS)}; remove it from the line")
        if flag in values:
            raise UserError(f"{place}{flag}: found twice; remove one")
        if _FLAGS[flag] is None:
            if equals:
                raise UserError(f"{place}{flag}: expected no value, found {value!r}; remove it")
            values[flag] = True
            continue
        convert, expected = _FLAGS[flag]
        if not equals:
            value = next(rest, None)
        try:
            if value is None:
                raise ValueError
            values[flag] = convert(value)
        except ValueError:
            found = "nothing" if value is None else repr(value)
            raise UserError(f"{place}{flag}: expected {expected}, found {found}; correct the line") from None
    return values
