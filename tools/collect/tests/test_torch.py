"""The real kernels, on a CPU. Left out where torch is not installed."""

import csv
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the kernels are not tested")

from rooflut_collect import kernels, plan, timing  # noqa: E402
from rooflut_collect.bench import TorchBench  # noqa: E402
from rooflut_collect.commands import options  # noqa: E402
from rooflut_collect.device import open_device  # noqa: E402
from rooflut_collect.errors import NoKernel, OutOfMemory, UserError  # noqa: E402
from rooflut_collect.kernels import ranks  # noqa: E402
from rooflut_collect.kernels.base import bytes_of, copy_of, random_fp8, relative_error  # noqa: E402
from rooflut_collect.kernels.ranks import Ranks  # noqa: E402
from rooflut_collect.operations import Row  # noqa: E402
from rooflut_collect.plan import PlanSpec  # noqa: E402

TINY = plan.build(PlanSpec(("tiny",))).rows
KERNELS = [row for row in TINY if row.operation != "allreduce"]
QUICK = timing.Budget(0.0, 0.005, min_repetitions=3)


def own(row):
    return next(b for b in kernels.OPERATIONS[row.operation].BACKENDS if b.name == "torch")


@pytest.mark.parametrize("row", KERNELS, ids=lambda row: row.key)
def test_torch_computes_what_the_reference_does(row):
    module, backend = kernels.OPERATIONS[row.operation], own(row)
    operands = module.operands(row, "cpu")
    found = backend.prepare(row, operands)()
    assert relative_error(found, module.reference(row, operands)) <= backend.tolerance(row)


def test_a_reference_notices_a_wrong_page_and_a_wrong_mask():
    decode = next(row for row in TINY if row.operation == "decode" and row["batch"] == 4)
    operands = kernels.decode.operands(decode, "cpu")
    found = own(decode).prepare(decode, operands)()
    operands.pages[0, 0], operands.pages[1, 0] = (
        operands.pages[1, 0].clone(),
        operands.pages[0, 0].clone(),
    )
    assert relative_error(found, kernels.decode.reference(decode, operands)) > 0.1
    prefill = next(row for row in TINY if row.operation == "prefill")
    operands = kernels.prefill.operands(prefill, "cpu")
    q, k, v = (kernels.prefill._by_head(prefill, t) for t in (operands.q, operands.k, operands.v))
    unmasked = torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    assert relative_error(unmasked.transpose(1, 2), kernels.prefill.reference(prefill, operands)) > 0.1


def test_block_scales_belong_to_their_blocks():
    row = Row.of("gemm", dtype="fp8_block", k=256, n=384, m=3)
    operands = kernels.gemm.operands(row, "cpu")
    out = kernels.gemm.reference(row, operands)
    expected = sum(
        operands.a[2, j].float()
        * operands.a_scale[2, j // 128]
        * operands.w[300, j].float()
        * operands.w_scale[2, j // 128]
        for j in range(256)
    )
    assert out[2, 300].item() == pytest.approx(expected.item(), rel=1e-4)


def test_a_copy_of_operands_has_memory_of_its_own():
    row = Row.of("gemm", dtype="bf16", k=64, n=64, m=64)
    one = kernels.gemm.operands(row, "cpu")
    other = copy_of(one)
    assert torch.equal(one.a, other.a) and torch.equal(one.w, other.w)
    assert one.a.data_ptr() != other.a.data_ptr() and one.w.data_ptr() != other.w.data_ptr()


def test_operands_are_no_zeros():
    for dtype in ("bf16", "fp8"):
        row = Row.of("gemm", dtype=dtype, k=64, n=64, m=64)
        one = kernels.gemm.operands(row, "cpu")
        assert bytes_of(one) >= 2 * 64 * 64 * (2 if dtype == "bf16" else 1)
        assert one.a.float().std() > 0.1 and one.a.float().isfinite().all()
    values = random_fp8((10000,), "cpu").float()
    assert values.abs().min() >= 1 / 16 and values.abs().max() < 1 and abs(values.mean()) < 0.02


class Kernel:
    """A repeater of known speed, on a clock of its own."""

    def __init__(self, seconds, monkeypatch):
        self.seconds, self.repetitions, self.now = seconds, 0, 0.0
        monkeypatch.setattr(timing.time, "monotonic", lambda: self.now)

    def batch(self, repetitions):
        self.repetitions += repetitions
        self.now += self.seconds * repetitions
        return [self.seconds * 1e6] * repetitions, 0.25 * self.seconds * repetitions


def test_a_row_takes_its_time_and_no_more(monkeypatch):
    samples = timing.repeat(Kernel(0.001, monkeypatch), timing.Budget(0.05, 0.25))
    assert 0.3 <= samples.loop_s < 0.37
    assert samples.flush_s == pytest.approx(samples.loop_s / 4)
    assert 250 <= len(samples.microseconds) < 290


def test_a_slow_kernel_has_its_fewest_repetitions(monkeypatch):
    slow = Kernel(2.0, monkeypatch)
    samples = timing.repeat(slow, timing.Budget(0.05, 0.25, min_repetitions=4))
    assert len(samples.microseconds) == 4 and slow.repetitions == 5


def test_a_fast_kernel_has_its_most_repetitions(monkeypatch):
    fast = timing.repeat(Kernel(1e-6, monkeypatch), timing.Budget(0.01, 5.0, max_repetitions=1000))
    assert 1000 <= len(fast.microseconds) < 1064


def test_percentiles_are_between_samples():
    samples = timing.Samples([float(n) for n in range(1, 102)], 1.0, 0.0)
    assert [samples.percentile(p) for p in (10, 50, 90)] == [11.0, 51.0, 91.0]


def test_each_call_is_made_once_a_repetition_and_the_flush_is_not_timed():
    made = []
    calls = [lambda n=n: made.append(n) or torch.zeros(1) for n in range(3)]
    repeater = timing.CpuCalls(calls, torch.zeros(20_000_000))
    times, flushed = repeater.batch(4)
    assert made == [0, 1, 2] * 4
    assert flushed > 0.001 and max(times) < 1e6 * flushed / 4


@pytest.fixture(scope="module")
def device():
    return open_device("cpu", None)


def bench(device, budget=QUICK, **options):
    told = []
    return TorchBench(device, budget, told.append, **options), told


def test_every_operation_is_measured_on_a_cpu(device):
    measuring, told = bench(device)
    for row in KERNELS:
        measured = measuring.measure(row)
        assert 0 < measured.p10_us <= measured.latency_us <= measured.p90_us
        assert measured.repetitions >= 3 and measured.calls == 8 and measured.backend == "torch"
    measuring.close()
    assert [record["variant"] for record in told] == list(dict.fromkeys(row.variant for row in KERNELS))
    assert all(0 <= record["self_check"] <= 0.02 for record in told)


def test_a_row_that_does_not_fit_is_out_of_memory_and_the_next_is_measured(device):
    measuring, _ = bench(device)
    with pytest.raises(OutOfMemory):
        measuring.measure(Row.of("gemm", dtype="bf16", k=1 << 22, n=1 << 22, m=1))
    assert measuring.measure(KERNELS[0]).latency_us > 0


def test_where_no_library_has_a_kernel_the_row_says_why(device):
    measuring, told = bench(device)
    why = "on cpu: deepgemm: not for cpu; vllm: not for cpu; torch: no fp8_block"
    with pytest.raises(NoKernel, match=f"no kernel for gemm fp8_block {why}"):
        measuring.measure(Row.of("gemm", dtype="fp8_block", k=128, n=128, m=1))
    assert told[0]["backend"] is None


def test_every_library_can_be_named():
    names = {backend.name for module in kernels.OPERATIONS.values() for backend in module.BACKENDS}
    assert names | set(ranks._BACKENDS.values()) == set(options.LIBRARIES)


class Candidate(kernels.gemm.TorchGemm):
    """A library that may be wrong."""

    def __init__(self, name, prepare=None, load=None):
        self.name = name
        self.prepare = prepare or self.prepare
        self.load = load or (lambda: f"{name} 1.0")


def test_a_library_that_is_wrong_is_rejected_and_the_next_is_checked(device, monkeypatch):
    def missing():
        raise ImportError("no module named missing")

    def broken(row, operands):
        raise RuntimeError("unsupported head size")

    candidates = [
        Candidate("missing", load=missing),
        Candidate("wrong", lambda row, operands: lambda: operands.a @ operands.w.t() * 1.1),
        Candidate("nan", lambda row, operands: lambda: operands.a @ operands.w.t() * float("nan")),
        Candidate("broken", broken),
        Candidate("unwanted"),
        Candidate("crashed"),
        Candidate("right"),
    ]
    monkeypatch.setattr(kernels.gemm, "BACKENDS", candidates)
    allowed = [c.name for c in candidates if c.name != "unwanted"]
    measuring, told = bench(device, broken=[("gemm bf16", "crashed")], allowed=allowed)
    assert measuring.measure(KERNELS[0]).backend == "right"
    reasons = {each["backend"]: each["reason"] for each in told[0]["rejected"]}
    assert reasons == {
        "missing": "cannot be loaded: ImportError: no module named missing",
        "wrong": "wrong 1.0: self-check: error 0.1, expected at most 0.02",
        "nan": "nan 1.0: self-check: error nan, expected at most 0.02",
        "broken": "broken 1.0: self-check failed: RuntimeError: unsupported head size",
        "unwanted": "not among --kernels",
        "crashed": "took the device down in an earlier process",
    }


def test_processes_reduce_together_and_a_dead_one_fails_just_its_row(device):
    told = []
    group = Ranks("cpu", told.append)
    row = Row.of("allreduce", ranks=2, bytes=4096)
    try:
        measured = group.measure(row, QUICK)
        assert measured.latency_us > 0 and measured.calls == 20
        assert [record["backend"] for record in told] == ["gloo"]
        group._processes[1].kill()
        group._processes[1].join()
        with pytest.raises(RuntimeError, match="rank"):
            group.measure(row, QUICK)
        assert group.measure(row, QUICK).latency_us > 0
    finally:
        group.close()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_cuda_device_the_cpu_is_offered():
    with pytest.raises(
        UserError, match="no CUDA device: this torch .* or try the collector with --device cpu"
    ):
        open_device("cuda", None)


def start(out, *words):
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "src")}
    command = [
        sys.executable,
        "-m",
        "rooflut_collect",
        "run",
        "--device",
        "cpu",
        "--out",
        str(out),
        *words,
    ]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def test_the_command_measures_the_tiny_plan(tmp_path):
    process = start(tmp_path, "--skip", "allreduce", "--row-seconds", "0.02")
    _, error = process.communicate(timeout=100)
    assert process.returncode == 0, error
    assert "17 ok in" in error
    with (tmp_path / "measurements.csv").open() as file:
        assert {line["status"] for line in csv.DictReader(file)} == {"ok"}
    names = {path.name for path in (tmp_path / "cpu-measured").iterdir()}
    assert names == {
        "set.toml",
        "gemm.csv",
        "attention_prefill.csv",
        "attention_decode.csv",
        "moe.csv",
    }


def test_ctrl_c_ends_the_processes_of_an_all_reduce(tmp_path):
    process = start(tmp_path, "--only", "allreduce", "--row-seconds", "60")
    for line in process.stderr:
        if line.startswith("allreduce: gloo"):
            break
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert len(children) >= 2
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=30)
    assert process.returncode == 130 and "stopped with 2 rows left" in error
    assert not any(
        Path(f"/proc/{child}/cmdline").exists() and "spawn" in Path(f"/proc/{child}/cmdline").read_text()
        for child in children
    )
