import time

from rooflut_collect.progress import Progress, duration
from rooflut_collect.telemetry import Telemetry, parse


def test_a_line_of_nvidia_smi():
    assert parse("1980, 3201, 652.31, 51\n") == (1980.0, 3201.0, 652.31, 51.0)
    assert parse("1980, 3201, [N/A], 51") == (1980.0, 3201.0, None, 51.0)
    assert parse("Unable to determine the device handle") == (None,) * 4


def test_samples_are_of_the_row_that_is_measured(tmp_path, monkeypatch):
    smi = tmp_path / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho 100, 1, 1, 1\nwhile sleep 0.02; do echo 1980, 3201, 650, 50; done\n")
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    telemetry = Telemetry("GPU-1")
    try:
        time.sleep(0.3)
        began = time.monotonic()
        # None yet: the last one before.
        assert telemetry.since(began + 60.0)["sm_mhz"] == 1980.0
        time.sleep(0.2)
        assert telemetry.since(began) == {
            "sm_mhz": 1980.0,
            "mem_mhz": 3201.0,
            "power_w": 650.0,
            "celsius": 50.0,
        }
    finally:
        telemetry.close()


def test_without_nvidia_smi_nothing_is_known(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    telemetry = Telemetry("GPU-1")
    assert telemetry.since(0.0) == dict.fromkeys(("sm_mhz", "mem_mhz", "power_w", "celsius"))
    telemetry.close()


class Terminal:
    """A terminal that keeps what it was told."""

    def __init__(self):
        self.text = ""

    def isatty(self):
        return True

    def write(self, text):
        self.text += text

    def flush(self):
        pass


def test_time_left_is_that_of_the_operations_left():
    progress = Progress(["gemm"] * 3 + ["moe"] * 2, Terminal())
    progress.row("gemm", 1.0, "")
    assert progress.seconds_left() == 4.0  # Of a moe row nothing is known: it is taken to last as long.
    progress.row("moe", 10.0, "x")
    assert progress.seconds_left() == 2 * 1.0 + 10.0


def test_a_terminal_shows_one_line():
    terminal = Terminal()
    progress = Progress(["gemm"] * 4, terminal)
    progress.row("gemm", 60.0, "a row")
    assert terminal.text == "\r\x1b[K[######..................] 1/4, 3 min left: a row"


def test_durations_are_short():
    assert [duration(s) for s in (3, 89.6, 420, 12600)] == ["3 s", "90 s", "7 min", "3.5 h"]
