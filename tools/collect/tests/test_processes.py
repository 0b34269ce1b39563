"""Processes that are killed, interrupted, or lose their device."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rooflut_collect import log, plan
from rooflut_collect.plan import PlanSpec

FAKE = Path(__file__).parent / "fake.py"
TINY = [row.key for row in plan.build(PlanSpec(("tiny",))).rows]


@pytest.fixture
def start(tmp_path):
    """Starts a collector with the fake bench."""

    def start(*words, interrupts=signal.SIG_DFL, **settings):
        source = str(Path(__file__).parents[1] / "src")
        environment = {**os.environ, "PYTHONPATH": source, "FAKE_TRACE": str(tmp_path / "trace")}
        environment |= {f"FAKE_{name}": str(value) for name, value in settings.items()}
        command = [
            sys.executable,
            str(FAKE),
            "run",
            "--plan",
            "tiny",
            "--out",
            str(tmp_path / "out"),
            *words,
        ]
        return subprocess.Popen(
            command,
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
            # As a shell sets it: the tests themselves may run in the background.
            preexec_fn=lambda: signal.signal(signal.SIGINT, interrupts),
        )

    return start


@pytest.fixture
def traced(tmp_path):
    return lambda: (tmp_path / "trace").read_text().splitlines() if (tmp_path / "trace").exists() else []


def recorded(tmp_path):
    return list(log.read(tmp_path / "out/log/shard-0000-of-0001.jsonl").rows)


def test_after_a_kill_no_row_is_measured_twice(start, traced, tmp_path):
    process = start(KILL_AT=7)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert recorded(tmp_path) == traced() == TINY[:7]
    process = start()
    process.communicate()
    assert process.returncode == 0
    assert traced() == TINY == recorded(tmp_path)


@pytest.mark.parametrize(
    ("which", "interrupts"),
    [(signal.SIGINT, signal.SIG_DFL), (signal.SIGINT, signal.SIG_IGN), (signal.SIGTERM, signal.SIG_DFL)],
    ids=["SIGINT", "SIGINT in the background", "SIGTERM"],
)
def test_an_interrupt_loses_at_most_the_row_in_work(start, traced, tmp_path, which, interrupts):
    process = start(SECONDS=0.1, interrupts=interrupts)
    until = time.monotonic() + 20
    while len(traced()) < 4 and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(which)
    _, error = process.communicate(timeout=20)
    assert process.returncode == 130
    done = recorded(tmp_path)
    assert len(done) + 1 >= 4 and len(traced()) - 1 <= len(done) < len(TINY)
    assert f"stopped with {len(TINY) - len(done)} rows left; the same command goes on" in error
    assert (tmp_path / "out/h200-measured/set.toml").exists()
    process = start()
    process.communicate(timeout=20)
    assert process.returncode == 0 and recorded(tmp_path) == TINY


def test_a_lost_device_fails_its_row_and_a_new_process_goes_on(start, traced, tmp_path):
    process = start(LOST="tokens=1 ")
    _, error = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "going on in a new process" in error
    records = log.read(tmp_path / "out/log/shard-0000-of-0001.jsonl")
    assert len(records.sessions) == 2
    failed = [key for key, record in records.rows.items() if record["status"] == "failed"]
    assert len(failed) == 1 and failed[0].endswith("tokens=1")
    assert traced() == TINY


def test_a_retry_tries_each_row_once_more_though_one_loses_the_device_again(start, traced, tmp_path):
    lost = "tokens=1 "
    start(LOST=lost, FAIL="ranks=").communicate(timeout=20)
    before = len(traced())
    process = start("--retry", LOST=lost)
    _, error = process.communicate(timeout=20)
    assert process.returncode == 0 and error.count("going on in a new process") == 1
    # The rows after it were to be tried again too: the new process does.
    again = [key for key in TINY if lost in f"{key} " or "ranks=" in key]
    assert len(again) > 1 and again[0].startswith("moe") and traced()[before:] == again
    records = log.read(tmp_path / "out/log/shard-0000-of-0001.jsonl")
    assert [key for key, row in records.rows.items() if row["status"] != "ok"] == again[:1]
