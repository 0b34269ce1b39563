"""The command that the package is compared with, and the list of what is left out."""

import os
import signal
import subprocess
import sys

import pytest

# A background job of a shell ignores Ctrl-C, and so would its children.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_runtest_logreport(report):
    """Adds a test that is skipped to the file that LEFT_OUT names."""
    if report.skipped and not hasattr(report, "wasxfail") and "LEFT_OUT" in os.environ:
        with open(os.environ["LEFT_OUT"], "a") as left_out:
            reason = report.longrepr[2].removeprefix("Skipped: ")
            left_out.write(f"Python: {report.nodeid.rpartition('::')[2]}: {reason}: left out\n")


@pytest.fixture(scope="session")
def command():
    """Runs ``rooflut`` and returns what it prints: the binary that ROOFLUT names, or else the package's own."""
    binary = os.environ.get("ROOFLUT")
    start = [binary] if binary else [sys.executable, "-m", "rooflut"]

    def run(*arguments):
        done = subprocess.run([*start, *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
