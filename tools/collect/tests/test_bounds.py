import csv
from pathlib import Path

import pytest

from rooflut_collect import bounds, gpus, table_set
from rooflut_collect.errors import UserError
from rooflut_collect.operations import OPERATIONS, Row, read_rows

BENCH_DATA = Path(__file__).parents[3] / "bench_data"
HEADS = {"dtype": "bf16", "kv_dtype": "bf16", "q_heads": 32, "kv_heads": 8, "head_dim": 128}


def test_work_is_that_of_the_roofline_crate():
    # The numbers of its doc examples.
    gemm = bounds.work(Row.of("gemm", dtype="bf16", k=4096, n=6144, m=8))
    assert gemm.flops == 2 * 8 * 4096 * 6144
    assert gemm.bytes == 2 * (8 * 4096 + 4096 * 6144 + 8 * 6144)
    prefill = bounds.work(Row.of("prefill", **HEADS, tp=1, batch=1, seq_len=1024))
    assert prefill.flops == 2 * 32 * 128 * 1024 * 1024
    assert prefill.bytes == 2 * 1024 * 128 * (2 * 32 + 2 * 8)
    decode = bounds.work(Row.of("decode", **HEADS, tp=2, batch=4, kv_len=1000))
    assert decode.flops == 4 * 16 * 128 * 4000
    assert decode.bytes == 4000 * 2 * 4 * 128 * 2 + 4 * 2 * 16 * 128 * 2


def rows_and_latencies(name):
    folder = BENCH_DATA / name
    latencies = []
    for operation in OPERATIONS.values():
        if (folder / operation.file).exists():
            with (folder / operation.file).open() as file:
                latencies += [float(record["latency_us"]) for record in csv.DictReader(file)]
    return list(zip(read_rows(folder), latencies, strict=True))


@pytest.mark.parametrize("name", ["h100", "h200", "a100", "l40s", "b200"])
def test_rows_that_rooflut_accepts_are_possible(name):
    sheet = gpus.known()[name]
    wrong = [
        (row.key, why) for row, us in rows_and_latencies(name) if (why := bounds.impossible(row, us, sheet))
    ]
    assert wrong == []


def test_fp8_rows_read_as_bf16_are_impossible():
    sheet = gpus.known()["h100"]
    fp8 = [(row, us) for row, us in rows_and_latencies("../laboratory/predecessors/h100-infersim") if row.operation == "gemm"]
    whys = [bounds.impossible(row.replace(dtype="bf16"), us, sheet) for row, us in fp8]
    # As counted over the published table: 58 of 112 rows above the peak, 25 above the bandwidth.
    assert sum("TFLOP/s" in (why or "") for why in whys) == 58
    assert any("GB/s, above the bandwidth" in (why or "") for why in whys)


def test_a_bound_is_the_smallest_time_that_is_possible():
    sheet = gpus.known()["h200"]
    for row in (
        Row.of("gemm", dtype="fp8", k=8192, n=8192, m=4096),
        Row.of("decode", **HEADS, tp=1, batch=64, kv_len=8192),
        Row.of("allreduce", ranks=8, bytes=1 << 28),
        Row.of("moe", dtype="bf16", experts=8, top_k=2, hidden=4096, intermediate=14336, tp=1, tokens=4),
    ):
        bound = bounds.bound_us(row, sheet)
        assert bounds.impossible(row, bound * 1.001, sheet) is None
        assert bounds.impossible(row, bound * 0.999, sheet)


def test_a_dtype_without_a_peak_is_said():
    row = Row.of("gemm", dtype="fp8", k=64, n=64, m=1)
    assert "a100 has no fp8 peak" in bounds.impossible(row, 1e6, gpus.known()["a100"])


def test_only_parts_with_these_peaks_are_known_by_their_driver_name():
    assert gpus.of_device("NVIDIA H100 80GB HBM3").name == "h100"
    assert gpus.of_device("NVIDIA H100 PCIe") is None


def test_a_data_sheet_that_cannot_be_read_is_said_in_a_sentence(tmp_path):
    with pytest.raises(UserError, match="--gpu-sheet .*nope: cannot be read: No such file or directory$"):
        gpus.read(tmp_path / "nope")
    sheet = tmp_path / "sheet.toml"
    for text, message in (
        ("gpu", r"expected TOML with a table \[gpu\], found other text: Expected '='"),
        ("gpu = 1", "found no table"),
        ("[gpu]\nsms = 1", "found one without a name"),
    ):
        sheet.write_text(text)
        with pytest.raises(UserError, match=message):
            gpus.read(sheet)


def test_the_names_of_built_in_sets_are_known():
    # h200-measured was made with this and is not built in.
    folders = {path.parent.name for path in BENCH_DATA.glob("*/set.toml")}
    assert set(table_set.BUILT_IN) == folders - {"h200-measured"}


def test_the_data_sheets_are_those_of_rooflut():
    copy = Path(gpus.__file__).parent / "data/gpus.toml"
    assert copy.read_text() == (BENCH_DATA / "gpus.toml").read_text()


def test_a_data_sheet_of_ones_own(tmp_path):
    path = tmp_path / "gpu.toml"
    text = "[gpu]\nname = 'mine'\ndescription = 'd'\nbf16_tflops = 100.0\nmem_bytes = 1000\n"
    path.write_text(
        text + "mem_bw_gb_per_s = 1.0\nl2_bytes = 10\nsms = 1\nlink_gb_per_s = 1.0\nsource = 's'\n"
    )
    assert gpus.read(path).peak("bf16") == 1e14
    path.write_text(text)
    with pytest.raises(UserError, match="missing mem_bw_gb_per_s, l2_bytes, sms, link_gb_per_s, source"):
        gpus.read(path)
