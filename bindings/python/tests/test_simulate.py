"""Reports are those of the command, byte for byte."""

import html
import json
import os
import pathlib
import random

import numpy as np
import pytest

import rooflut

EXAMPLES = pathlib.Path(__file__).parents[3] / "examples"


def drawn(seed):
    """Returns the keys of a small run, drawn at random."""
    draw = random.Random(seed)
    keys = {
        "model": draw.choice(["llama-3.1-8b", "llama-3.1-70b", "qwen3-14b", "openai/gpt-oss-120b"]),
        "gpu": draw.choice(["h100", "h200", "b200"]),
        "tp": draw.choice([4, 8]),
        "requests": draw.randint(4, 120),
        "prompt": draw.choice([128, "uniform:100..900", "lognormal:512,0.6@16..4096"]),
        "output": draw.choice([32, "uniform:1..200"]),
        "seed": draw.randint(0, 1_000),
    }
    if draw.random() < 0.5:
        keys["rate"] = draw.choice([0.5, 5, 40])
    else:
        keys["users"] = draw.randint(1, 64)
    if draw.random() < 0.3:
        keys["replicas"] = 2
        keys["router"] = draw.choice(["least-tokens", "round-robin"])
    if draw.random() < 0.3:
        keys["goodput"] = ["ttft:200", "tpot:20"]
    if draw.random() < 0.2:
        keys["kv_blocks"] = 2_000
    return keys


def flags(keys):
    for key, value in keys.items():
        yield "--" + key.replace("_", "-")
        yield from value if isinstance(value, list) else [value]


@pytest.mark.parametrize("seed", range(100))
def test_a_report_is_that_of_the_command(command, seed):
    keys = drawn(seed)
    assert rooflut.simulate(**keys).json() == command("run", "--json", *flags(keys))


def test_seeds_and_intervals_are_those_of_the_command(command):
    keys = {"rate": 12, "requests": 300, "seeds": 3, "interval": 0.8}
    assert rooflut.simulate(**keys).json() == command("run", "--json", *flags(keys))


def test_fleets_are_those_of_the_command(command, tmp_path):
    load = {"rate": 20, "requests": 200, "patience": 2, "retries": 1}
    lost = {**load, "replicas": 2, "lose": ["1@2..6"]}
    links = {"link_bandwidth": 50, "link_latency": 10}
    pools = {**load, **links, "prefill_replicas": 1, "decode_replicas": 2, "prefill": ["tp=2"], "decode": ["gpu=h200"]}
    for keys in [lost, pools]:
        assert rooflut.simulate(**keys).json() == command("run", "--json", *flags(keys))
    file = tmp_path / "fleet.toml"
    file.write_text("[[fleet]]\ngpu = 'h100'\n[[fleet]]\ngpu = 'l40s'\nreplicas = 2\n")
    fleet = [{"gpu": "h100"}, {"gpu": "l40s", "replicas": 2}]
    report = rooflut.simulate({"fleet": fleet}, **load)
    # No flag says the tables of a fleet, but for a file of them.
    assert report["command"] is None
    assert dict(report) == {**json.loads(command("run", "--json", *flags(load), "--fleet", file)), "command": None}


def test_keys_replace_those_of_a_file(command, tmp_path):
    file = tmp_path / "scenario.toml"
    file.write_text("tp = 2\n[workload]\nusers = 8\nrequests = 40\n[output]\nrequests_out = 'unwritten.csv'\njson = true\n")
    report = rooflut.simulate(file, rate=3, keep_requests=True)
    own = json.loads(command("run", "--scenario", file, "--rate", 3, "--requests-out", tmp_path / "requests.csv"))
    assert own.pop("scenario") == {"path": str(file), "replaced": ["users", "requests_out"]}
    assert report.pop("scenario") == {"path": str(file), "replaced": ["users"]}
    assert report == own and report["tp"] == 2
    assert not pathlib.Path("unwritten.csv").exists()


def test_a_dictionary_is_a_scenario():
    keys = {"tp": 2, "workload": {"rate": 3, "requests": 20}, "server": {"max_num_seqs": 16}}
    flat = rooflut.simulate(tp=2, rate=3, requests=20, max_num_seqs=16)
    assert rooflut.simulate(keys) == flat
    assert rooflut.simulate(keys, requests=np.int64(10))["requests"] == 10
    assert rooflut.simulate(keys, scheduler_reserve_full_isl=np.True_)["scheduler_reserve_full_isl"] is True


def test_requests_and_steps_are_those_of_the_command(command, tmp_path):
    import pandas

    keys = {"rate": 30, "requests": 400, "output": "uniform:1..60", "kv_blocks": 3_000, "max_model_len": 4096}
    report = rooflut.simulate(**keys, keep_requests=True, keep_steps=True)
    files = ("--requests-out", tmp_path / "requests.csv", "--steps-out", tmp_path / "steps.csv")
    command("run", *flags(keys), *files)
    requests, steps = (pandas.read_csv(tmp_path / f"{name}.csv") for name in ("requests", "steps"))
    for column in ("request", "prompt_tokens", "output_tokens", "outcome", "preemptions", "replica"):
        assert list(report.requests[column]) == list(requests[column])
    for column in ("queue_ms", "ttft_ms", "tpot_ms", "e2e_ms"):
        # The file has six decimals.
        assert np.allclose(report.requests[column], requests[column], rtol=0, atol=6e-7, equal_nan=True)
    assert np.array_equal(report.steps["start_ns"], np.rint(steps["start_ms"] * 1e6).astype("u8"))
    for column in ("prefill_tokens", "decode_requests", "kv_tokens", "running", "waiting", "kv_blocks_used"):
        assert list(report.steps[column]) == list(steps[column])


def test_steps_and_requests_that_are_not_kept_are_an_error():
    report = rooflut.simulate(requests=4)
    with pytest.raises(rooflut.RooflutError, match="keep_steps=True"):
        report.steps


def test_a_notebook_shows_a_report_and_a_table():
    report = rooflut.simulate(requests=20)
    shown = report._repr_html_()
    frame, table = shown.split("</iframe>")
    assert html.escape(report.to_html()) in frame and 'sandbox="allow-scripts' in frame
    assert report.to_html().startswith("<!doctype html>")
    assert "<table>" in table and "TTFT to first token" in table and "llama-3.1-8b on 1 h100 GPU<" in table
    # Remarks on the answer.
    report = rooflut.simulate(requests=20, engine="vllm-0.23.0")
    assert len(report["notes"]) == 1 and "<p>vllm-0.23.0 has no stack of its own" in report._repr_html_()


def test_a_trace_is_read_from_a_path(command):
    trace = EXAMPLES / "chat_trace.csv"
    assert rooflut.simulate(trace=trace).json() == command("run", "--json", "--trace", trace)


def nested(kind, levels):
    value = kind([1])
    for _ in range(levels):
        value = kind([value])
    return value


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"speed": 3}, "unknown key \"speed\""),
        ({"rates": 3}, "nearest: rate"),
        ({"rate": float("nan")}, "rate: "),
        ({"rate": -1}, "rate: "),
        ({"requests": 2**70}, "requests: "),
        ({"requests": 1.5}, "requests: "),
        ({"requests": object()}, "requests: expected a number, a string, a list"),
        ({"model": "llama-9"}, "unknown model \"llama-9\""),
        ({"model": 3}, "model: "),
        ({"gpu": "h900"}, "h900"),
        ({"rate": 1, "users": 2}, "cannot be used with"),
        ({"server": {"rate": 3}}, "expected in .workload.; move it there"),
        ({"rate": 3, "workload": {"rate": 4}}, "rate: given twice"),
        ({"requests_out": "r.csv"}, "requests_out: simulate.. writes no files"),
        ({"trace": "/nonexistent.csv"}, "nonexistent"),
        ({"prompt": "file:/nonexistent"}, "nonexistent"),
        ({"model": "\ud800"}, r"model: expected text that is UTF-8, found '.ud800'"),
        ({"trace": os.fsdecode(b"\xff.csv")}, "trace: expected text that is UTF-8"),
        ({"trace": pathlib.Path(os.fsdecode(b"\xff.csv"))}, "trace: expected text that is UTF-8"),
        ({"tp": np.array([1])}, "tp: expected a number, .* found ndarray"),
        ({"prompt": nested(list, 100_000)}, "prompt: expected at most 8 lists and dictionaries in each other"),
        ({"server": nested(lambda items: {"server": items[0]}, 100_000)}, "server: expected at most 8 lists"),
        ({"model": {"hidden_size": 4096}}, "model: expected a single value, found a dictionary"),
        ({"trace": {3: [1]}}, "expected names of columns, found 3"),
    ],
)
def test_wrong_keys_are_errors_with_their_cause(keys, message):
    with pytest.raises(ValueError, match=message):
        rooflut.simulate(**keys)


def test_wrong_files_are_errors_with_their_line(tmp_path):
    file = tmp_path / "scenario.toml"
    with pytest.raises(rooflut.RooflutError, match="cannot read .*scenario.toml"):
        rooflut.simulate(file)
    file.write_text("tp = 2\nrate = 3\n")
    with pytest.raises(rooflut.RooflutError, match="scenario.toml:2: rate: expected in .workload."):
        rooflut.simulate(file)
    file.write_bytes(b"tp = '\xff'\n")
    with pytest.raises(rooflut.RooflutError, match="scenario.toml:1: expected UTF-8"):
        rooflut.simulate(file)
    for scenario in (7, [1], "\ud800"):
        with pytest.raises(rooflut.RooflutError, match="scenario: expected the path of a TOML file or a dictionary"):
            rooflut.simulate(scenario)
