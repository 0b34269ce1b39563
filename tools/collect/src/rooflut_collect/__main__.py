"""`python -m rooflut_collect`."""

import sys

from .cli import main

if __name__ == "__main__":  # Not in the processes of an all-reduce, which import this file.
    sys.exit(main())
