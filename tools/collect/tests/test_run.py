import csv
import json
import re
import tomllib

import pytest
from fake import FakeBench, latency_us, open_device

from rooflut_collect import bounds, cli, gpus, log, plan, run, table_set
from rooflut_collect.errors import DeviceLost
from rooflut_collect.log import Log
from rooflut_collect.plan import PlanSpec
from rooflut_collect.progress import Progress

TINY = plan.build(PlanSpec(("tiny",))).rows


@pytest.fixture
def collect(tmp_path):
    """Runs `rooflut-collect run --plan tiny` with the fake bench: exit status and measured keys."""

    def collect(*words, out=tmp_path / "out"):
        benches = []

        def open_bench(arguments, device, opened, progress):
            benches.append(FakeBench(opened))
            return benches[-1]

        words = (
            "run",
            "--out",
            str(out),
            *(words if "--plan" in words else ("--plan", "tiny", *words)),
        )
        status = cli.main(words, open_device=open_device, open_bench=open_bench)
        return status, [row.key for bench in benches for row in bench.rows]

    return collect


@pytest.fixture
def records(tmp_path):
    return lambda: log.read(tmp_path / "out/log/shard-0000-of-0001.jsonl")


def test_every_row_is_measured_once(collect, records):
    assert collect() == (0, [row.key for row in TINY])
    assert collect() == (0, [])
    assert list(records().rows) == [row.key for row in TINY]


def test_a_dry_run_lists_exactly_what_runs(collect, capsys, tmp_path):
    for words in (
        (),
        ("--shard", "1/3"),
        ("--only", "decode,moe"),
        ("--plan", "models:llama-3.1-8b"),
    ):
        out = tmp_path / "-".join(("out", *words)).replace("/", "_")
        assert collect(*words, "--dry-run", out=out)[0] == 0
        listed = capsys.readouterr().out.splitlines()
        assert not out.exists()
        assert collect(*words, out=out) == (0, listed)
        capsys.readouterr()
        collect(*words, "--dry-run", out=out)
        assert capsys.readouterr().out == ""


def test_a_kernel_that_raises_is_recorded_and_the_run_goes_on(collect, records, monkeypatch, capsys):
    monkeypatch.setenv("FAKE_FAIL", "moe")
    monkeypatch.setenv("FAKE_OOM", "m=64")
    status, measured = collect()
    assert status == 0 and len(measured) == len(TINY)
    outcomes = {key: record["status"] for key, record in records().rows.items()}
    for row in TINY:
        wanted = "failed" if row.operation == "moe" else "oom" if "m=64" in row.key else "ok"
        assert outcomes[row.key] == wanted
    failed = next(record for key, record in records().rows.items() if key.startswith("moe"))
    assert failed["reason"] == "RuntimeError: made to fail"
    assert "failed: moe dtype=bf16" in capsys.readouterr().err


def test_a_row_is_not_blamed_for_a_library_that_took_the_device_down(tmp_path):
    class Crashing(FakeBench):
        def measure(self, row):
            if len(self.rows) == 2:
                raise DeviceLost("in a self-check", by_row=False)
            return super().measure(row)

    opened = Log(tmp_path / "log.jsonl")
    progress = Progress([row.operation for row in TINY])
    outcome = run.measure(TINY, opened, Crashing(), gpus.known()["h200"], progress)
    assert outcome.lost and outcome.counts["ok"] == 2
    assert list(opened.records.rows) == [row.key for row in TINY[:2]]


def test_rows_that_failed_are_measured_again_only_if_asked(collect, records, monkeypatch):
    monkeypatch.setenv("FAKE_FAIL", "moe")
    collect()
    monkeypatch.delenv("FAKE_FAIL")
    assert collect()[1] == []
    assert all(key.startswith("moe") for key in collect("--retry")[1])
    assert {record["status"] for record in records().rows.values()} == {"ok"}


def test_a_run_in_which_nothing_can_be_measured_fails(collect, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("FAKE_NO_KERNEL", "=")
    assert collect()[0] == 1
    assert "no row was measured: no set" in capsys.readouterr().err
    assert not (tmp_path / "out/h200-measured").exists()


def test_a_shard_of_which_nothing_can_be_measured_is_done(collect, monkeypatch):
    # A cluster would start it again, for nothing.
    monkeypatch.setenv("FAKE_NO_KERNEL", "=")
    status, measured = collect("--shard", "1/4")
    assert status == 0 and len(measured) > 1
    assert collect("--shard", "1/4") == (0, [])


def test_a_time_that_cannot_be_is_recorded_and_stays_out_of_the_set(collect, records, monkeypatch, tmp_path):
    monkeypatch.setenv("FAKE_FACTOR", "0.4")
    collect("--plan", "models:llama-3.1-8b", "--only", "gemm,decode")
    reasons = [r["reason"] for r in records().rows.values() if r["status"] == "failed"]
    assert any("above the peak" in reason for reason in reasons)
    assert any("above the bandwidth" in reason for reason in reasons)
    with (tmp_path / "out/h200-measured/gemm.csv").open() as file:
        kept = sum(1 for _ in csv.DictReader(file))
    assert kept == sum(r["status"] == "ok" for k, r in records().rows.items() if k.startswith("gemm"))


def test_the_set_holds_what_was_measured(collect, tmp_path):
    collect("--license", "CC0-1.0")
    folder = tmp_path / "out/h200-measured"
    header = tomllib.loads((folder / "set.toml").read_text())
    assert header["name"] == "h200-measured" and header["gpu"] == "h200" and header["license"] == "CC0-1.0"
    assert header["engine"].startswith("fake 1.0 (gemm bf16, gemm fp8, prefill bf16/bf16")
    assert "SM clock 1980 MHz" in header["timing"]
    assert "driver 580.1" in header["source"] and "torch 2.0" in header["source"]
    assert "gemm fp8: better: cannot be loaded" in (folder / "set.toml").read_text()
    for name in ("gemm", "prefill", "decode", "allreduce", "moe"):
        assert header[name]["t0_us"] == pytest.approx(5.0, abs=0.3)
    with (folder / "attention_decode.csv").open() as file:
        lines = list(csv.DictReader(file))
    decode = [row for row in TINY if row.operation == "decode"]
    assert list(lines[0]) == [
        "dtype",
        "kv_dtype",
        "q_heads",
        "kv_heads",
        "head_dim",
        "tp",
        "batch",
        "kv_len",
        "latency_us",
    ]
    assert {line["latency_us"] for line in lines} == {f"{latency_us(row):.3f}" for row in decode}
    with (tmp_path / "out/measurements.csv").open() as file:
        details = {line["row"]: line for line in csv.DictReader(file)}
    assert set(details) == {row.key for row in TINY}
    assert details[TINY[0].key]["repetitions"] == "20" and details[TINY[0].key]["sm_mhz"] == "1980.0"


def test_t0_is_the_least_time_beyond_flops_and_bytes(tmp_path):
    sheet = gpus.known()["h200"]
    rows = [row for row in TINY if row.operation == "gemm"][:3]
    records = log.Records()
    for row, beyond in zip(rows, (7.0, 3.0, 5.0)):
        us = bounds.bound_us(row, sheet) + beyond
        outcome = {"status": "ok", "latency_us": us, "at": run.now()}
        records.add({"kind": "row", "key": row.key, **outcome})
    written = table_set.write(tmp_path, table_set.About("mine", "none", sheet), rows, records)
    assert tomllib.loads((written / "set.toml").read_text())["gemm"]["t0_us"] == 3.0


def test_a_table_whose_rows_all_fail_later_is_taken_away(collect, tmp_path, monkeypatch):
    collect("--only", "gemm")
    assert (tmp_path / "out/h200-measured/gemm.csv").exists()
    monkeypatch.setenv("FAKE_FAIL", "gemm")
    out = tmp_path / "other"
    collect("--only", "gemm,moe", out=out)
    assert not (out / "h200-measured/gemm.csv").exists() and (out / "h200-measured/moe.csv").exists()


@pytest.mark.parametrize(
    ("again", "settings", "message"),
    [
        (
            (),
            {"FAKE_GPU": "NVIDIA L40S"},
            "holds rows of 'NVIDIA H200', this device is 'NVIDIA L40S'",
        ),
        (("--only", "moe"), {}, r"holds another plan \(--plan tiny; 19 rows, this one has 2\)"),
        (("--shard", "0/2"), {}, "holds a plan split into 1 shards, not 2"),
        (
            ("--retry",),
            {"FAKE_VERSION": "fake 2.0"},
            "measured with fake 1.0, now fake 2.0 was chosen",
        ),
    ],
)
def test_a_folder_of_something_else_is_refused(collect, monkeypatch, capsys, again, settings, message):
    monkeypatch.setenv("FAKE_FAIL", "moe")
    collect()
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    status, measured = collect(*again)
    error = capsys.readouterr().err
    assert status == 1 and len(measured) <= 1
    assert re.search(message, error), error
    assert "give another --out" in error


def test_a_log_that_another_process_writes_is_left_alone(collect, tmp_path, capsys):
    path = tmp_path / "out/log/shard-0000-of-0001.jsonl"
    collect()
    opened = Log(path)
    assert collect()[0] == 1
    assert "another process is collecting this shard" in capsys.readouterr().err
    opened.close()
    assert collect() == (0, [])


def test_half_a_line_is_cut_off_and_its_row_measured_again(collect, tmp_path, records):
    collect()
    path = tmp_path / "out/log/shard-0000-of-0001.jsonl"
    text = path.read_bytes()
    path.write_bytes(text[: text.rstrip().rfind(b"\n") + 30])
    assert collect() == (0, [TINY[-1].key])
    assert len(records().rows) == len(TINY)
    for line in path.read_text().splitlines():
        json.loads(line)


def test_a_line_that_is_no_record_is_named(collect, tmp_path, capsys):
    collect()
    path = tmp_path / "out/log/shard-0000-of-0001.jsonl"
    path.write_text("[1]\n" + path.read_text())
    assert collect()[0] == 1
    assert "shard-0000-of-0001.jsonl:1: expected a record of a log" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--only", "gem"),
            "--only gem: expected some of gemm, prefill, decode, moe, allreduce, found 'gem'",
        ),
        (
            ("--dtype", "bf16,int4"),
            "--dtype bf16,int4: expected some of bf16, fp8, fp8_block, found 'int4'",
        ),
        (("--shard", "3/2"), "indexes are 0 to 1"),
        (("--name", "My Set"), "--name My Set: expected lower-case letters"),
        (("--name", "h100"), "--name h100: rooflut has a built-in set of that name; try h100-measured"),
        (("--kernels", "fa3,torhc"), "found 'torhc': did you mean torch?"),
        (("--only", "gemm", "--plan", "set:/nowhere"), "expected a table set"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_written(collect, capsys, tmp_path, words, message):
    assert collect(*words) == (1, [])
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_without_a_plan_the_choices_are_shown(capsys):
    assert cli.main(["run"], open_device=open_device) == 1
    assert "--plan is missing: models:NAME,…@tp1,2,4 or set:FOLDER or tiny" in capsys.readouterr().err
