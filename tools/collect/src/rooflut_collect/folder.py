"""An output folder: which plan it holds, for which device, in how many shards.

`collection.json` says so; it is written by whichever shard is first. Logs are in `log/`.
"""

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .errors import UserError
from .operations import Row, row_of_key
from .plan import Plan

_FILE = "collection.json"


@dataclass(frozen=True)
class Collection:
    """Properties that all logs of a folder share."""

    plan: Plan
    #: The command-line arguments of the plan.
    arguments: tuple[str, ...]
    shards: int
    device: str
    #: Other arguments of the `run` that was first, a word each; those of later ones may differ.
    options: tuple[str, ...] = ()

    def write(self, folder: Path) -> None:
        """Writes `collection.json`."""
        values = {
            "device": self.device,
            "shards": self.shards,
            "plan": list(self.arguments),
            "options": list(self.options),
            "digest": self.plan.digest,
            "rows": [row.key for row in self.plan.rows],
        }
        write_atomically(folder / _FILE, json.dumps(values, indent=1) + "\n")


def read(folder: Path) -> Collection:
    """The collection in `folder`."""
    path = folder / _FILE
    try:
        values = json.loads(path.read_text())
        rows: tuple[Row, ...] = tuple(row_of_key(key) for key in values["rows"])
        options = tuple(values.get("options", ()))  # Earlier versions wrote none.
        return Collection(Plan(rows), tuple(values["plan"]), values["shards"], values["device"], options)
    except FileNotFoundError:
        raise UserError(f"{folder}: expected a folder that was collected into, found no {_FILE}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: expected what rooflut-collect wrote, could not read {error!r}") from None


def claim(folder: Path, wanted: Collection) -> None:
    """Makes `folder` that of `wanted`.

    Refuses a folder of another device, plan or number of shards: their rows would be mixed.
    """
    if not (folder / _FILE).exists():
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.glob("log/*.jsonl")):
            raise UserError(f"{folder}: found logs but no {_FILE}; collect into another folder")
        wanted.write(folder)
    found = read(folder)
    if found.device != wanted.device:
        what = f"rows of {found.device!r}, this device is {wanted.device!r}"
    elif found.plan.digest != wanted.plan.digest:
        what = (
            f"another plan ({' '.join(found.arguments)}; {len(found.plan.rows)} rows, this one has "
            f"{len(wanted.plan.rows)})"
        )
    elif found.shards != wanted.shards:
        what = f"a plan split into {found.shards} shards, not {wanted.shards}"
    else:
        return
    raise UserError(f"{folder}: holds {what}; give another --out")


def write_atomically(path: Path, text: str) -> None:
    """Replaces a file in one step: no reader sees half of it, no crash leaves half of it."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
