"""Runs of Vidur's own."""

import os
import pathlib
import subprocess
import sys

import pytest
import rooflut
import rooflut_vidur
from rooflut_vidur import RooflutPredictor
from vidur.config import (
    MnemosyneEDFSchedulerConfig,
    MnemosyneFCFSFixedChunkSchedulerConfig,
    MnemosyneFCFSSchedulerConfig,
    MnemosyneLRSSchedulerConfig,
    MnemosyneSTSchedulerConfig,
    OrcaSchedulerConfig,
    SarathiSchedulerConfig,
    VllmSchedulerConfig,
)
from vidur.execution_time_predictor import ExecutionTimePredictorRegistry
from vidur.types import ExecutionTimePredictorType

HERE = pathlib.Path(__file__).parent.parent
SCHEDULERS = [
    VllmSchedulerConfig,
    SarathiSchedulerConfig,
    OrcaSchedulerConfig,
    MnemosyneFCFSFixedChunkSchedulerConfig,
    MnemosyneFCFSSchedulerConfig,
    MnemosyneEDFSchedulerConfig,
    MnemosyneLRSSchedulerConfig,
    MnemosyneSTSchedulerConfig,
]


@pytest.mark.parametrize("scheduler", [SarathiSchedulerConfig, VllmSchedulerConfig, OrcaSchedulerConfig])
@pytest.mark.parametrize("engine", ["vllm-0.11.0", "vllm-0.15.1"])
def test_a_request_alone_takes_the_sum_of_its_steps(run, scheduler, engine):
    rooflut_vidur.register(engine=engine)
    end_s = run(scheduler(), requests=1, prompt=100, output=5)
    server = rooflut.Deployment(model="llama-3.1-8b", gpu="h100", engine=engine, sampler="plain")
    steps = [server.step(prefill=[100]), *(server.step(decode=[(1, 100 + token)]) for token in range(1, 5))]
    assert end_s == pytest.approx(sum(step["total_s"] for step in steps), rel=1e-12)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_every_scheduler_runs_with_and_without_stages(run, scheduler):
    rooflut_vidur.register()
    single = run(scheduler(), requests=12, prompt=600, output=20, tp=2)
    staged = run(scheduler(), requests=12, prompt=600, output=20, tp=2, pp=2)
    assert 0.05 < single < 0.5 and 0.05 < staged < 0.5


def test_equal_runs_end_at_the_same_time(run):
    rooflut_vidur.register()
    ends = {run(SarathiSchedulerConfig(), requests=8, prompt=700, output=20) for _ in range(2)}
    assert len(ends) == 1


def test_keys_reach_the_deployment(run):
    ends = []
    for keys in ({}, {"dtype": "fp8"}, {"sampler": "top-p"}):
        rooflut_vidur.register(**keys)
        ends.append(run(SarathiSchedulerConfig(), requests=4, prompt=700, output=20))
    plain, fp8, top_p = ends
    assert fp8 < plain < top_p


def test_a_registration_replaces_the_predictor_of_one_type():
    forest = ExecutionTimePredictorType.RANDOM_FORREST
    regression = ExecutionTimePredictorType.LINEAR_REGRESSION
    before = ExecutionTimePredictorRegistry.get_class(regression)
    rooflut_vidur.register(engine="vllm-0.11.0")
    rooflut_vidur.register(engine="vllm-0.15.1")
    registered = ExecutionTimePredictorRegistry.get_class(forest)
    assert issubclass(registered, RooflutPredictor) and registered.keys == {"engine": "vllm-0.15.1"}
    assert RooflutPredictor.keys == {}
    assert ExecutionTimePredictorRegistry.get_class(regression) is before


def test_terms_alone_are_not_answered(predictor):
    predicts = predictor()
    with pytest.raises(NotImplementedError, match="call get_execution_time"):
        predicts._get_attention_rope_execution_time(None)


def test_the_example_of_the_readme_runs():
    example = (HERE / "example.py").read_text()
    assert example in (HERE / "README.md").read_text()
    arguments = [
        "--replica_config_num_pipeline_stages=1",
        "--replica_config_tensor_parallel_size=2",
        "--synthetic_request_generator_config_num_requests=4",
        "--fixed_request_length_generator_config_decode_tokens=4",
        "--no-metrics_config_store_plots",
    ]
    command = [sys.executable, "-c", example, *arguments]
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "simulated 0." in done.stdout
