"""Definitions of a row in the README, each tested by itself."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: what a row is, is not tested")

from rooflut_collect import device, kernels, timing  # noqa: E402
from rooflut_collect.bench import TorchBench  # noqa: E402
from rooflut_collect.gpus import known  # noqa: E402
from rooflut_collect.kernels.ranks import Ranks  # noqa: E402
from rooflut_collect.operations import Row  # noqa: E402

L2_BYTES = 1 << 16
BUDGET = timing.Budget(0.0, 0.001, min_repetitions=2)
#: Mean 23, median 7.
SKEWED = timing.Samples([1.0, 5.0, 7.0, 8.0, 94.0], 1.0, 0.0)
GEMM = Row.of("gemm", dtype="bf16", k=64, n=64, m=4)


@pytest.fixture
def bench():
    opened = device.Device("cpu", "a GPU", known()["h200"], "", {}, L2_BYTES)
    bench = TorchBench(opened, BUDGET, lambda record: None)
    yield bench
    bench.close()


def test_twice_the_cache_is_read_to_flush_it(bench):
    assert bench._flush.nbytes == 2 * L2_BYTES


def test_a_row_is_the_median(bench, monkeypatch):
    monkeypatch.setattr(timing, "repeat", lambda repeater, budget: SKEWED)
    measured = bench.measure(GEMM)
    assert measured.latency_us == 7.0 and measured.p10_us < 7.0 < measured.p90_us


def test_an_all_reduce_is_the_median_too(monkeypatch):
    group = Ranks("cpu", lambda record: None)
    monkeypatch.setattr(group, "_start", lambda ranks: None)
    monkeypatch.setattr(group, "_repeat", lambda size, budget: (SKEWED, 1))
    assert group.measure(Row.of("allreduce", ranks=2, bytes=4096), BUDGET).latency_us == 7.0


def test_an_all_reduce_takes_its_slowest_rank(monkeypatch):
    group = Ranks("cpu", lambda record: None)
    monkeypatch.setattr(group, "_ask", lambda question, budget: [[1.0, 9.0, 3.0], [5.0, 2.0, 4.0]])
    assert group._repeat(4096, BUDGET)[0].microseconds == [5.0, 9.0, 4.0]


def test_pages_are_in_random_order():
    heads = {"dtype": "bf16", "kv_dtype": "bf16", "q_heads": 2, "kv_heads": 1, "head_dim": 8, "tp": 1}
    row = Row.of("decode", batch=4, kv_len=1600, **heads)
    pages = kernels.decode.operands(row, "cpu").pages.flatten().long()
    assert pages.sort().values.tolist() == list(range(400))
    assert (pages.diff() == 1).sum() < 20  # In order: 399.


def test_scales_of_fp8_differ():
    # A kernel that mixes them up, or leaves one out, fails its self-check.
    one = kernels.gemm.operands(GEMM.replace(dtype="fp8"), "cpu")
    assert len({one.a_scale.item(), one.w_scale.item(), one.a_scale.item() * one.w_scale.item(), 1.0}) == 4
    blocks = kernels.gemm.operands(Row.of("gemm", dtype="fp8_block", k=256, n=256, m=2), "cpu")
    for scale in (blocks.a_scale, blocks.w_scale):
        assert scale.shape == (2, 2) and len(scale.unique()) == 4
