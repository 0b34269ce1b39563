"""Bad input is an error that names its cause."""

import json
import pathlib
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import rooflut
import rooflut_vllm
from rooflut_vllm import VllmError
from rooflut_vllm.fetch import fetch
from rooflut_vllm.version import Vllm

KEYS = dict(model="llama-3.1-8b", gpu="h100")
ONE = dict(prompt_tokens=[10], output_tokens=[10])


@pytest.fixture
def server(vllm):
    return rooflut_vllm.Server(**KEYS)


@pytest.mark.parametrize(
    "requests, message",
    [
        (dict(prompt_tokens=[1]), "output_tokens: missing"),
        (dict(prompt_tokens=[1, 2], output_tokens=[1]), "equal length, found prompt_tokens 2, output_tokens 1"),
        (dict(prompt_tokens=[1, 0], output_tokens=[1, 1]), r"prompt_tokens\[1\]: expected a whole number from 1"),
        (dict(prompt_tokens=[1], output_tokens=[-1]), r"output_tokens\[0\]: .* found -1"),
        (dict(prompt_tokens=[2**40], output_tokens=[1]), r"prompt_tokens\[0\]: .* found 1099511627776"),
        (dict(prompt_tokens=[1.5], output_tokens=[1]), "prompt_tokens: expected one dimension of whole numbers"),
        (dict(prompt_tokens=[[1], [2]], output_tokens=[1, 1]), r"found int64 of shape \(2, 1\)"),
        (dict(prompt_tokens=[[1], [2, 3]], output_tokens=[1, 1]), "prompt_tokens: expected whole numbers"),
        (dict(prompt_tokens=np.ma.array([1], mask=[True]), output_tokens=[1]), "without a mask"),
        (ONE | dict(arrival_ms=[float("nan")]), r"arrival_ms\[0\]: expected a number from 0 to 4611686018427, .* nan"),
        (ONE | dict(arrival_ms=[-1.0]), r"arrival_ms\[0\]: .* found -1.0"),
        (ONE | dict(arrival_ms=[5e12]), r"arrival_ms\[0\]: .* found 5000000000000.0"),
        (ONE | dict(arrival_ns=[2**63 - 1]), r"arrival_ns\[0\]: .* found 9223372036854775807"),
        (ONE | dict(arrival_ms=["soon"]), "arrival_ms: expected one dimension of numbers"),
        (ONE | dict(arrival_ms=[1.0], arrival_ns=[1]), "given both"),
        (ONE | dict(prompt_token_ids=[[1]]), "given both"),
        (dict(prompt_token_ids=[[]], output_tokens=[1]), r"prompt_tokens\[0\]: .* found 0"),
        (dict(prompt_token_ids=[["a"]], output_tokens=[1]), r"prompt_token_ids\[0\]: expected"),
        (ONE | dict(prefix_id=[1]), "both prefix_id and prefix_tokens"),
        (ONE | dict(prefix_id=[1], prefix_tokens=[11]), r"prefix_tokens\[0\]: expected at most prompt_tokens \(10\)"),
        (ONE | dict(promt=[1]), "unknown column 'promt'"),
        ([dict(prompt_tokens=1), dict(output_tokens=1)], "same keys"),
        (5, "expected a dictionary of arrays"),
        ({}, "prompt_tokens: missing"),
    ],
)
def test_requests(server, requests, message):
    with pytest.raises(VllmError, match=message):
        server.serve(requests)


def test_no_requests_are_no_error(server):
    report = server.serve(dict(prompt_tokens=[], output_tokens=[]))
    assert report["requests"] == report["steps"] == 0
    assert report["ttft_ms"]["mean"] is None


@pytest.mark.parametrize(
    "keys, message",
    [
        (dict(model="llama-9"), "unknown model"),
        (dict(gpu="abacus"), "abacus"),
        (dict(replicas=2), "replicas has no effect"),
        (dict(engine="vllm-0.12.0"), "engine: expected vllm-.* found 'vllm-0.12.0'"),
        (dict(model="gemma-4-31b", tp=2), "KV entries of gemma-4-31b differ from layer to layer"),
        (dict(model="qwen3-next-80b-a3b", tp=4), "layers of qwen3-next-80b-a3b keep a state"),
        (dict(pp=2), "pp: expected 1, found 2"),
        (dict(max_waiting=5), "max_waiting: vLLM's scheduler has no such limit"),
        (dict(policy="shortest-prompt"), "policy: expected fcfs or priority, found shortest-prompt"),
        (dict(draft_model="llama-3.2-1b", draft_tokens=2, acceptance=0.5), "draft_model: expected ngram"),
        (dict(scheduler_cls=int), "scheduler_cls: expected a subclass"),
        (dict(scheduler_cls="nowhere.Scheduler"), "scheduler_cls: cannot import 'nowhere.Scheduler'"),
        (dict(scheduler_cls="Scheduler"), "scheduler_cls: cannot import 'Scheduler'"),
        (dict(settings={"scheduler_config.no_such": 1}), "has no scheduler_config.no_such"),
        (dict(settings={"scheduler_config.policy": "fcfs"}), "scheduler_config.policy is the server's key policy"),
        (dict(settings={"cache_config.enable_prefix_caching": False}), "is the server's key prefix_caching"),
        (dict(settings={"cache_config.gpu_memory_utilization": 0.5}), "is the server's key gpu_memory_utilization"),
        (dict(settings={"model_config.dtype": 1}), "expected scheduler_config.NAME"),
    ],
)
def test_servers(vllm, keys, message):
    with pytest.raises((VllmError, rooflut.RooflutError), match=message):
        rooflut_vllm.Server(**(KEYS | keys))


@pytest.mark.parametrize("key, value", [("watermark", 0.1), ("scheduler_reserve_full_isl", True)])
def test_keys_that_older_versions_lack(vllm, key, value):
    keys = KEYS | {key: value}
    since = {"watermark": (0, 24), "scheduler_reserve_full_isl": (0, 21)}
    if vllm.release >= since[key]:
        assert rooflut_vllm.Server(**keys).serve(ONE)["completed"] == 1
        return
    with pytest.raises(VllmError, match=f"{key}: the scheduler of vLLM {vllm.version} has none"):
        rooflut_vllm.Server(**keys)


def test_layers_of_a_config(vllm, tmp_path):
    path = tmp_path / "config.json"
    config = dict(
        model_type="llama",
        hidden_size=4096,
        intermediate_size=14336,
        num_attention_heads=32,
        num_key_value_heads=8,
        head_dim=128,
        num_hidden_layers=4,
        vocab_size=32768,
        max_position_embeddings=8192,
    )
    path.write_text(json.dumps(config))
    assert rooflut_vllm.Server(model=str(path), gpu="h100").serve(ONE)["completed"] == 1
    limits = dict(model_type="mistral", sliding_window=1000)
    path.write_text(json.dumps(config | limits))
    load, keys = dict(prompt_tokens=[3000, 20], output_tokens=[50, 50]), dict(model=str(path), gpu="h100")
    found = rooflut_vllm.Server(**keys).serve(load)
    engine = f"vllm-{vllm.version}"
    expected = rooflut.simulate(trace=dict(arrival_ms=[0.0, 0.0], **load), engine=engine, **keys)
    for name in ("ttft_ms", "e2e_ms"):
        # Times are summed in another order.
        assert found[name]["mean"] == pytest.approx(expected[name]["mean"], rel=1e-12)


def test_a_scheduler_that_is_not_as_the_server(vllm):
    if vllm.release < (0, 15):
        pytest.skip("0.11 schedules synchronously")
    for cls, scheduling in ((vllm.Scheduler, "async"), (vllm.AsyncScheduler, "sync")):
        with pytest.raises(VllmError, match="the server schedules"):
            rooflut_vllm.Server(scheduler_cls=cls, scheduling=scheduling, **KEYS)


def test_a_scheduler_that_schedules_nothing(vllm):
    base = vllm.Scheduler if vllm.release < (0, 15) else vllm.AsyncScheduler

    class Never(base):
        def schedule(self, *arguments):
            waiting = list(self.waiting)
            self.waiting.clear()
            output = super().schedule(*arguments)
            self.waiting.extend(waiting)
            return output

    with pytest.raises(VllmError, match="schedules none of 1 requests"):
        rooflut_vllm.Server(scheduler_cls=Never, **KEYS).serve(ONE)


def test_more_steps_than_allowed(server):
    with pytest.raises(VllmError, match="more than 3 steps"):
        server.serve(ONE, max_steps=3)
    for steps in (0, -1, "many"):
        with pytest.raises(VllmError, match=f"max_steps: expected a whole number from 1, found {steps!r}"):
            server.serve(ONE, max_steps=steps)


def test_versions_that_are_not_there(vllm, tmp_path, monkeypatch):
    with pytest.raises(VllmError, match="vLLM 0.12.0 is not known; expected one of 0.11.0"):
        rooflut_vllm.load("0.12.0")
    other = next(version for version in rooflut_vllm.VERSIONS if version != vllm.version)
    (tmp_path / f"vllm-{other}").mkdir()
    monkeypatch.setenv("ROOFLUT_VLLM", str(tmp_path))
    with pytest.raises(VllmError, match=f"vLLM {vllm.version} of .* is loaded"):
        rooflut_vllm.load(other)
    monkeypatch.setenv("ROOFLUT_VLLM", str(tmp_path / "nowhere"))
    with pytest.raises(VllmError, match=f"fetch it with `python -m rooflut_vllm fetch {other}`"):
        rooflut_vllm.load(other)


def test_folders_that_are_no_wheel(vllm, tmp_path, monkeypatch):
    monkeypatch.setattr(Vllm, "loaded", None)
    with pytest.raises(VllmError, match="of an unpacked wheel, found neither"):
        rooflut_vllm.load(tmp_path)
    for source in (tmp_path / "nowhere", "v0.15.1", 0.15):
        with pytest.raises(VllmError, match="expected a version .* or the folder of an unpacked wheel"):
            rooflut_vllm.load(source)
    with pytest.raises(VllmError, match="vLLM is not installed"):
        rooflut_vllm.load()
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm-9.9.9.dist-info").mkdir()
    with pytest.raises(VllmError, match="vLLM 9.9.9 is not known"):
        rooflut_vllm.load(tmp_path)
    (tmp_path / "vllm-9.9.9.dist-info").rename(tmp_path / f"vllm-{vllm.version}.dist-info")
    with pytest.raises(VllmError, match="vllm is imported already"):
        rooflut_vllm.load(tmp_path)


def test_a_wheel_without_its_modules(tmp_path):
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm-0.15.1.dist-info").mkdir()
    program = "import sys, rooflut_vllm; rooflut_vllm.load(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 1
    assert "VllmError" in done.stderr and "cannot import vLLM 0.15.1" in done.stderr


@pytest.mark.parametrize(
    "arguments, status, message",
    [(["9.9.9"], 2, "invalid choice: '9.9.9'"), (["0.15.1", "/dev/null/folder"], 1, "cannot write: ")],
)
def test_what_cannot_be_fetched(arguments, status, message):
    command = [sys.executable, "-m", "rooflut_vllm", "fetch", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == status and message in done.stderr and "Traceback" not in done.stderr


def test_two_processes_may_fetch_one_version(tmp_path, monkeypatch):
    def download(command):
        folder = pathlib.Path(command[command.index("-d") + 1])
        folder.mkdir()
        with zipfile.ZipFile(folder / "vllm.whl", "w") as wheel:
            wheel.writestr("vllm/ours.py", "")
        # The other one is faster.
        (tmp_path / "vllm-9.9.9" / "vllm").mkdir(parents=True)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", download)
    assert fetch("9.9.9", tmp_path) == tmp_path / "vllm-9.9.9"
    # Nothing of the slower one is left.
    assert [path.name for path in tmp_path.iterdir()] == ["vllm-9.9.9"]
