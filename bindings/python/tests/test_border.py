"""Panics and signals stop at the border."""

import os
import signal
import subprocess
import sys
import time

import pytest

import rooflut
from rooflut import _rooflut


@pytest.mark.parametrize("thread", [False, True])
def test_a_panic_is_an_exception(thread):
    with pytest.raises(rooflut.RooflutError, match="internal error: out of luck; report it"):
        _rooflut._panic("out of luck", thread)
    # The process goes on.
    assert rooflut.simulate(requests=2)["completed"] == 2


def test_an_interrupt_in_the_code_of_an_argument_stays_one():
    class Array:
        def __array__(self, *_, **__):
            raise KeyboardInterrupt

    def items():
        yield 512
        raise KeyboardInterrupt

    deployment = rooflut.Deployment()
    for call in (
        lambda: deployment.step_times_ns(decode_requests=Array(), decode_kv_tokens=100),
        lambda: deployment.step(prefill=items()),
        lambda: deployment.server().push_all({"prompt_tokens": Array(), "output_tokens": 1}),
    ):
        with pytest.raises(KeyboardInterrupt):
            call()


@pytest.mark.parametrize(
    "call",
    [
        # The loop around makes each of them endless.
        "rooflut.simulate(rate=20, requests=10_000_000)",
        "rooflut.plan(rate=2_000, requests=100_000, goodput='ttft:900', gpu=['h100', 'h200'], tp=[1, 2, 4], max_gpus=4_000)",
        "rooflut.sweep(rate='1..20000:1', requests=2_000)",
        "rooflut.saturate(requests=100_000)",
        "rooflut.Tables('h100').kernel('gemm', dtype='bf16', k=4096, n=6144).times(m=numpy.ones(10**7, int))",
        "deployment.step_times_ns(decode_requests=numpy.ones(10**7, int), decode_kv_tokens=100)",
        "server.advance_to(10**18)",
        "server.run_until_idle()",
    ],
)
def test_ctrl_c_ends_a_long_call(call):
    program = f"""
import numpy, rooflut
deployment = rooflut.Deployment()
server = deployment.server()
server.push_all({{"prompt_tokens": numpy.full(10**6, 10), "output_tokens": 500}})
print("begins", flush=True)
try:
    while True:
        {call}
except KeyboardInterrupt as interrupt:
    print("interrupted", flush=True)
    import os
    os._exit(0)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begins\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        assert process.stdout.readline() == "interrupted\n"
        assert time.monotonic() - start < 5
        assert process.wait() == 0


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="the system does not list threads")
def test_an_interrupted_simulation_leaves_no_thread():
    program = """
import os, signal, threading, time, rooflut
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    rooflut.simulate(rate=20, requests=10_000_000)
except KeyboardInterrupt:
    pass
deadline = time.monotonic() + 5
while len(os.listdir("/proc/self/task")) > 1 and time.monotonic() < deadline:
    time.sleep(0.01)
print(len(os.listdir("/proc/self/task")))
"""
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "1\n"


@pytest.mark.parametrize(
    "call", ["simulate(rate=20, requests=10_000_000, seeds=4)", "sweep(rate='10..20:1', requests=10_000_000)"]
)
def test_interrupted_simulations_end_on_all_threads(call):
    program = f"""
import os, signal, threading, time, rooflut
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    rooflut.{call}
except KeyboardInterrupt:
    pass
deadline = time.monotonic() + 10
busy = 1
while busy > 0.05 and time.monotonic() < deadline:
    start = time.process_time()
    time.sleep(0.2)
    busy = time.process_time() - start
print("idle" if busy <= 0.05 else busy)
"""
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "idle\n"
