"""python -m rooflut_vllm fetch VERSION [FOLDER]"""

import argparse
import sys

from .fetch import fetch
from .version import VERSIONS, cache


def main():
    """Fetches the sources of a version; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m rooflut_vllm")
    commands = parser.add_subparsers(required=True)
    about = "fetch the Python sources of a version of vLLM: its wheel (340 to 510 MB) without the kernels"
    command = commands.add_parser("fetch", help=about, description=about)
    command.add_argument("version", choices=VERSIONS)
    command.add_argument("folder", nargs="?", default=cache(), help="default: $ROOFLUT_VLLM, or ~/.cache/rooflut/vllm")
    arguments = parser.parse_args()
    try:
        target = fetch(arguments.version, arguments.folder)
    except OSError as error:
        print(f"cannot write: {error}; name another FOLDER", file=sys.stderr)
        return 1
    if target is None:
        print(f"pip cannot fetch the wheel of vLLM {arguments.version}; see its message above", file=sys.stderr)
        return 1
    print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
