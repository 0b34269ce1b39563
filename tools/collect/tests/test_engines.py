"""The code for GPUs, as far as it runs without one: calls, layouts, the order of what is timed."""

import sys
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the calls of engines are not tested")

import engines  # noqa: E402

from rooflut_collect import device, kernels, timing  # noqa: E402
from rooflut_collect.bench import TorchBench  # noqa: E402
from rooflut_collect.errors import DeviceLost, UserError  # noqa: E402
from rooflut_collect.gpus import known  # noqa: E402
from rooflut_collect.kernels import flash, ranks  # noqa: E402
from rooflut_collect.operations import Row  # noqa: E402

HEADS = {"dtype": "bf16", "q_heads": 8, "kv_heads": 2, "head_dim": 64, "tp": 1}
EXPERTS = {"experts": 4, "top_k": 2, "hidden": 128, "intermediate": 256, "tp": 1}
PREFILL = Row.of("prefill", kv_dtype="bf16", batch=2, seq_len=50, **HEADS)
DECODE = {kv: Row.of("decode", kv_dtype=kv, batch=3, kv_len=37, **HEADS) for kv in ("bf16", "fp8")}
GEMM = {d: Row.of("gemm", dtype=d, k=256, n=384, m=5) for d in ("bf16", "fp8", "fp8_block")}
MOE = {d: Row.of("moe", dtype=d, tokens=7, **EXPERTS) for d in ("bf16", "fp8")}


@pytest.fixture
def bench(monkeypatch):
    """A bench on a CPU that takes itself for a GPU as far as libraries are concerned."""
    monkeypatch.setattr(flash, "flashinfer_workspace", lambda: torch.zeros(16))
    for module in (kernels.prefill, kernels.decode):
        monkeypatch.setattr(module, "flashinfer_workspace", lambda: torch.zeros(16))
    for module in kernels.OPERATIONS.values():
        for backend in module.BACKENDS:
            monkeypatch.setattr(backend, "devices", ("cpu", "cuda"))

    def bench(*libraries):
        engines.install(monkeypatch, libraries)
        told = []
        budget = timing.Budget(0.0, 0.001, min_repetitions=2)
        opened = device.Device("cpu", "a GPU", known()["h200"], "", {}, 1 << 16)
        return TorchBench(opened, budget, told.append), told

    return bench


@pytest.mark.parametrize(
    ("library", "row", "backend"),
    [
        ("vllm", GEMM["fp8"], "vllm"),
        ("vllm", GEMM["fp8_block"], "deepgemm"),
        ("deep_gemm", GEMM["fp8_block"], "deepgemm"),
        ("vllm", PREFILL, "vllm-fa3"),
        ("fa3", PREFILL, "fa3"),
        ("flashinfer", PREFILL, "flashinfer"),
        *(("vllm", row, "vllm-fa3") for row in DECODE.values()),
        *(("fa3", row, "fa3") for row in DECODE.values()),
        *(("flashinfer", row, "flashinfer") for row in DECODE.values()),
        *(("vllm", row, "vllm") for row in MOE.values()),
    ],
    ids=str,
)
def test_a_library_is_called_as_it_is_documented(bench, library, row, backend):
    measuring, told = bench(library)
    assert measuring.measure(row).backend == backend
    assert told[-1]["self_check"] <= 0.06
    # The shape of the row itself too, not only that of the self-check.
    module = kernels.OPERATIONS[row.operation]
    chosen = next(each for each in module.BACKENDS if each.name == backend)
    operands = module.operands(row, "cpu")
    found = chosen.prepare(row, operands)()
    assert kernels.base.relative_error(found, module.reference(row, operands)) <= 0.06


def test_the_kernel_of_an_engine_is_preferred(bench):
    measuring, _ = bench("vllm", "fa3", "flashinfer")
    assert measuring.measure(DECODE["bf16"]).backend == "vllm-fa3"


def test_where_no_engine_is_installed_torch_says_instead_of_what(bench, monkeypatch):
    for name in ("vllm", "vllm.vllm_flash_attn", "flash_attn_interface", "flashinfer"):
        monkeypatch.setitem(sys.modules, name, None)  # As if it were not installed.
    without, told = bench()
    assert without.measure(DECODE["bf16"]).backend == "torch"
    assert [each["backend"] for each in told[0]["rejected"]] == ["vllm-fa3", "fa3", "flashinfer"]
    assert all("cannot be loaded: ModuleNotFoundError" in each["reason"] for each in told[0]["rejected"])


def test_a_self_check_that_takes_the_device_down_blames_the_library(bench, monkeypatch):
    measuring, told = bench("vllm")
    vllm = next(each for each in kernels.gemm.BACKENDS if each.name == "vllm")

    def crash(row, operands):
        raise RuntimeError("an illegal memory access was encountered")

    def lost(error):
        raise DeviceLost(str(error))

    monkeypatch.setattr(vllm, "prepare", crash)
    monkeypatch.setattr(measuring, "_collect_garbage", lost)
    with pytest.raises(DeviceLost) as raised:
        measuring.measure(GEMM["fp8"])
    assert raised.value.by_row is False
    assert told == [{"kind": "broken", "variant": "gemm fp8", "backend": "vllm"}]


class Gpu:
    """A `torch.cuda` that records its calls; kernels take 7 us, all else 100."""

    def __init__(self, monkeypatch):
        self.happened, self.now = [], 0.0
        gpu = self

        class Event:
            def __init__(self, enable_timing):
                assert enable_timing

            def record(self):
                self.at = gpu.now
                gpu.happened.append("event")

            def elapsed_time(self, later):
                return (later.at - self.at) * 1e-3

        class CUDAGraph:
            def replay(self):
                gpu.now += 7.0 * gpu.captured
                gpu.happened.append("replay")

        @contextmanager
        def graph(_, **options):
            before = gpu.calls
            yield
            gpu.captured = gpu.calls - before

        @contextmanager
        def stream(_):
            yield

        self.calls = 0
        streams = SimpleNamespace(wait_stream=lambda _: None)
        for name, value in {
            "Event": Event,
            "CUDAGraph": CUDAGraph,
            "graph": graph,
            "stream": stream,
            "Stream": lambda: streams,
            "current_stream": lambda: streams,
            "synchronize": lambda: gpu.happened.append("synchronize"),
        }.items():
            monkeypatch.setattr(torch.cuda, name, value)
        monkeypatch.setattr(timing.torch, "sum", self.flush)

    def flush(self, _):
        self.now += 100.0
        self.happened.append("flush")

    def kernel(self):
        self.calls += 1
        return torch.zeros(1)


def test_a_graph_is_flushed_before_it_is_timed_and_its_calls_share_the_time(monkeypatch):
    gpu = Gpu(monkeypatch)
    replay = timing.CudaReplay([gpu.kernel] * 3, torch.zeros(4))
    assert gpu.calls == 3 * 2 + 3  # Twice to warm up, once captured.
    gpu.happened.clear()
    times, flushed = replay.batch(2)
    once = ["event", "flush", "event", "replay", "event"]
    assert gpu.happened == once * 2 + ["synchronize"]
    assert times == pytest.approx([7.0, 7.0])
    assert flushed == pytest.approx(2 * 100e-6)


def test_an_all_reduce_on_gpus_is_captured_and_ranks_begin_together(monkeypatch):
    gpu = Gpu(monkeypatch)

    def all_reduce(tensor):
        gpu.calls += 1
        gpu.happened.append(f"all-reduce of {tensor.numel()}")

    import torch.distributed as dist

    monkeypatch.setattr(dist, "all_reduce", all_reduce)
    for name in ("randn", "zeros"):
        create = getattr(torch, name)
        monkeypatch.setattr(torch, name, lambda *a, create=create, **k: create(*a, **{**k, "device": "cpu"}))
    assert ranks._times("cuda", 1000, 4, 2) == pytest.approx([7.0, 7.0])
    assert gpu.happened == (
        ["all-reduce of 500", "synchronize"]
        + ["all-reduce of 500"] * 4
        + ["all-reduce of 1", "event", "replay", "event"] * 2
        + ["synchronize"]
    )


@pytest.fixture
def cuda(monkeypatch, tmp_path):
    """A CUDA device of that name, and its nvidia-smi."""

    def cuda(name):
        smi = tmp_path / "nvidia-smi"
        smi.write_text('#!/bin/sh\n[ "$4" = GPU-12 ] && echo 580.95.05\n')
        smi.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        properties = SimpleNamespace(name=name, uuid="12", L2_cache_size=60 << 20)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: properties)

    return cuda


def test_a_gpu_is_known_by_the_name_of_its_driver(cuda):
    cuda("NVIDIA H200")
    opened = device.open_device("cuda", None)
    assert (opened.sheet.name, opened.l2_bytes, opened.uuid) == ("h200", 60 << 20, "GPU-12")
    assert opened.versions["driver"] == "580.95.05"


def test_a_gpu_without_a_data_sheet_is_refused(cuda):
    cuda("NVIDIA H100 PCIe")
    with pytest.raises(UserError, match="no data sheet for 'NVIDIA H100 PCIe': give one with --gpu-sheet"):
        device.open_device("cuda", None)
