"""The command ``rooflut``: the same as the binary."""

import sys

from ._rooflut import main as run


def main() -> None:
    """Runs the command with the arguments of the process, and exits with its code."""
    sys.exit(run(["rooflut", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
