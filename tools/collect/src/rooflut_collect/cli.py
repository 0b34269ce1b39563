"""The command line."""

import argparse
import os
import sys
from collections.abc import Sequence

from . import __version__
from .commands import manifest, merge, run, serve
from .errors import UserError

_COMMANDS = {
    "run": (run, "measure a plan, or a shard of one"),
    "merge": (merge, "join shards into a set"),
    "manifest": (manifest, "write a Kubernetes Job or a Slurm script that runs all shards"),
    "serve": (serve, "send loads to a running server, and write a result of each"),
}


def main(argv: Sequence[str] | None = None, **replaced) -> int:
    """Runs a command; its exit status. `replaced` goes to `run`, for tests."""
    words = list(sys.argv[1:] if argv is None else argv)
    arguments = _parser().parse_args(words)
    # The log knows which rows were to be tried again: once more would be for ever.
    arguments.restart = lambda: _restart([word for word in words if word != "--retry"])
    try:
        return arguments.execute(arguments, **(replaced if arguments.command == "run" else {}))
    except UserError as error:
        print(f"rooflut-collect: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"rooflut-collect: {error}; what is in the log is kept", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return run.INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rooflut-collect",
        description="Measures GPU kernels and writes table sets for rooflut; measures running servers.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (module, text) in _COMMANDS.items():
        # No abbreviations: a new process differs from this one by `--retry`, word for word.
        command = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
        module.add(command)
        command.set_defaults(execute=module.execute)
    return parser


def _restart(words: list[str]) -> None:
    """Replaces this process by one that runs the same command."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-m", __package__, *words])
