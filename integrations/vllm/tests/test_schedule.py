"""The results equal those of rooflut's simulator and of the conformance test."""

import math
import pathlib
import shutil
import sys

import numpy as np
import pytest
from workloads import WORKLOADS

import rooflut
import rooflut_vllm
from rooflut_vllm.report import UNCOUNTED

HARNESS = pathlib.Path(__file__).resolve().parents[3] / "tools" / "vllm-schedule"


@pytest.mark.parametrize("name", WORKLOADS)
def test_steps_requests_and_report_are_those_of_rooflut(serve, name):
    requests, keys = WORKLOADS[name]
    found, expected = serve(requests, **keys)
    for frame in ("steps", "requests"):
        assert_equal_frames(getattr(found, frame), getattr(expected, frame))
    assert_equal_figures(found, expected)
    # The workload has the property that its name promises.
    rows = expected.requests
    assert (rows["preemptions"].sum() > 0) >= ("preemptions" in name)
    assert expected["rejected"] + expected["truncated"] > 0 or name != "beyond_max_model_len"


def assert_equal_frames(found, expected):
    assert list(found) == list(expected)
    for name, column in expected.items():
        assert found[name].dtype.kind == column.dtype.kind, name
        np.testing.assert_array_equal(found[name], column, err_msg=name)


def assert_equal_figures(found, expected):
    """Compares reports: means are added in another order, and gaps are in a sketch there."""
    assert list(found) == list(expected)
    for name, figure in expected.items():
        if name in UNCOUNTED:
            assert found[name] is None
        elif name == "itl_percentile_error":
            assert found[name] == 0.0
        elif name == "kv_blocks_peak":
            # The peak after a step's schedule; there also within it, before blocks outside of windows are freed.
            assert found[name] <= figure <= 1.002 * found[name], (name, found[name], figure)
        else:
            # Steps take whole nanoseconds here.
            tolerance = {"itl_ms": figure and expected["itl_percentile_error"], "mean_step_ms": 1e-6}.get(name, 1e-12)
            assert_close(found[name], figure, tolerance, name)


def assert_close(found, expected, tolerance, name):
    if isinstance(expected, dict):
        assert list(found) == list(expected), name
        for key, value in expected.items():
            assert_close(found[key], value, tolerance, f"{name}.{key}")
    elif isinstance(expected, float):
        assert math.isclose(found, expected, rel_tol=tolerance), (name, found, expected)
    else:
        assert found == expected, name


def test_steps_are_those_of_the_conformance_test(vllm, tmp_path, monkeypatch):
    binary = shutil.which("rooflut", path=str(pathlib.Path(sys.executable).parent))
    assert binary, "the package rooflut is not installed beside this interpreter"
    monkeypatch.syspath_prepend(str(HARNESS))
    from cases import CASES
    from compare import compare

    compared = 0
    for case in ("full_prefix_hits", "few_slots", "tight_kv_cache"):
        for workload in CASES[case](1):
            if workload.asynchronous and vllm.release < (0, 15):
                continue
            version = f"vllm-{vllm.version}"
            harness = compare(vllm, binary, workload, str(tmp_path), version)
            report = rooflut_vllm.Server(**keys_of(workload)).serve(columns_of(workload))
            steps = report.steps
            numbers = [
                (step.start, step.duration, step.prefill_chunks, step.prefill_tokens, step.decode_requests)
                + (step.kv_tokens, step.preempted, *step.state)
                for step in harness.engine.steps
            ]
            names = ("start_ns", "duration_ns", "prefill_chunks", "prefill_tokens", "decode_requests", "kv_tokens")
            names += ("preempted", "running", "waiting", "kv_blocks_used")
            assert not harness.differs
            assert list(zip(*(steps[name].tolist() for name in names))) == numbers
            ends = [harness.engine.sequences[f"{index:06d}"].finished_ns for index in range(len(workload.rows))]
            assert report.requests["finish_ns"].tolist() == ends
            compared += len(numbers)
    assert compared > 5_000


def keys_of(workload):
    """The keys of the server of a case: rooflut's default model and GPU."""
    return dict(
        model="llama-3.1-8b",
        gpu="h100",
        max_num_seqs=workload.seqs,
        max_num_batched_tokens=workload.budget,
        max_model_len=workload.max_model_len,
        kv_blocks=workload.blocks,
        block_size=workload.block_size,
        prefix_caching="on" if workload.caching else "off",
        scheduling="async" if workload.asynchronous else "sync",
    )


def columns_of(workload):
    """The requests of a case, whose prefixes have names there."""
    names = list(workload.rows[0])
    columns = {name: [row[name] for row in workload.rows] for name in names}
    if "prefix_id" in columns:
        numbers = {name: number for number, name in enumerate(dict.fromkeys(columns["prefix_id"]))}
        columns["prefix_id"] = [numbers[name] for name in columns["prefix_id"]]
    return columns


def test_prompts_of_equal_token_ids_share_their_blocks(vllm):
    shared, own = list(range(64)), list(range(1000, 1040))
    server = rooflut_vllm.Server(model="llama-3.1-8b", gpu="h100")
    arrival_ms = [0.0, 1000.0]
    same = server.serve(
        dict(arrival_ms=arrival_ms, prompt_token_ids=[shared + own, shared + [7]], output_tokens=[4, 4])
    )
    other = server.serve(
        dict(arrival_ms=arrival_ms, prompt_token_ids=[shared + own, own + shared[:25]], output_tokens=[4, 4])
    )
    chunks = [report.steps["prefill_tokens"][report.steps["prefill_chunks"] > 0].tolist() for report in (same, other)]
    assert chunks == [[104, 1], [104, 65]]


def test_frames_of_all_kinds_and_any_order_give_the_same_bytes(vllm):
    import pandas
    import polars

    columns = dict(arrival_ms=[40.0, 0.0, 20.0], prompt_tokens=[30, 20, 10], output_tokens=[3, 2, 1])
    rows = [dict(zip(columns, row)) for row in zip(*columns.values())]
    server = rooflut_vllm.Server(model="llama-3.1-8b", gpu="h100")
    reports = [server.serve(of(columns)) for of in (dict, pandas.DataFrame, polars.DataFrame)]
    reports.append(server.serve(rows))
    reports.append(server.serve({"arrival_ns": [40_000_000, 0, 20_000_000]} | dict(list(columns.items())[1:])))
    assert len({report.json() for report in reports}) == 1
    expected = rooflut.simulate(
        trace=columns, keep_requests=True, model="llama-3.1-8b", gpu="h100", engine=f"vllm-{vllm.version}"
    )
    times = [sorted(report.requests["finish_ns"].tolist()) for report in (reports[0], expected)]
    assert times[0] == times[1]
    assert reports[0].requests["arrival_ns"].tolist() == [40_000_000, 0, 20_000_000]
