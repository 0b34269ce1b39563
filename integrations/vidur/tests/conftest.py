"""Replicas and runs of Vidur."""

from __future__ import annotations

import os
import pathlib
import shutil
from typing import Any

import pytest

os.environ["WANDB_MODE"] = "disabled"

from rooflut_vidur import RooflutPredictor
from vidur.config import (
    CacheConfig,
    ClusterConfig,
    FixedRequestLengthGeneratorConfig,
    MetricsConfig,
    RandomForrestExecutionTimePredictorConfig,
    ReplicaConfig,
    SimulationConfig,
    SyntheticRequestGeneratorConfig,
)
from vidur.entities import Replica, Request
from vidur.simulator import Simulator


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Vidur writes into the working directory."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def predictor():
    """Creates a predictor; keyword arguments are those of a replica, ``keys`` those of a scenario."""

    def create(keys: dict[str, Any] = {}, native: bool = False, **replica: Any) -> RooflutPredictor:
        config = ReplicaConfig(**{"num_pipeline_stages": 1, "tensor_parallel_size": 1, **replica})
        kind = type("Predictor", (RooflutPredictor,), {"keys": keys})
        return kind(
            RandomForrestExecutionTimePredictorConfig(use_native_execution_time_predictor=native), config, CacheConfig()
        )

    return create


@pytest.fixture
def run():
    """Runs requests of one length that all arrive at once; returns the time of the end in seconds."""

    def run(scheduler: Any, requests: int, prompt: int, output: int, tp: int = 1, pp: int = 1) -> float:
        # Vidur numbers the replicas of a process, and its router expects the first of them to be 0.
        Replica._id = -1
        lengths = FixedRequestLengthGeneratorConfig(prefill_tokens=prompt, decode_tokens=output)
        simulator = Simulator(
            SimulationConfig(
                cluster_config=ClusterConfig(
                    replica_config=ReplicaConfig(tensor_parallel_size=tp, num_pipeline_stages=pp),
                    replica_scheduler_config=scheduler,
                ),
                request_generator_config=SyntheticRequestGeneratorConfig(
                    length_generator_config=lengths, num_requests=requests
                ),
                metrics_config=MetricsConfig(write_metrics=False, store_plots=False, enable_chrome_trace=False),
            )
        )
        simulator.run()
        return float(simulator._time)

    return run


def request(prompt: int, output: int, processed: int) -> Request:
    """A request of which ``processed`` tokens have been computed, or sampled."""
    request = Request(0.0, prompt, output)
    if processed:
        first = min(processed, prompt)
        request.on_batch_stage_end(0.0, 0, 0.0, 0.0, first)
        request.on_batch_end(0.0, first)
        for _ in range(request.num_processed_tokens, processed):
            request.on_batch_stage_end(0.0, 0, 0.0, 0.0, 1)
            request.on_batch_end(0.0, 1)
    assert request.num_processed_tokens == processed + (processed == prompt)
    return request


@pytest.fixture
def tables(tmp_path) -> str:
    """A folder of measurements: those of A100 by another name."""
    folder = tmp_path / "mine"
    shutil.copytree(pathlib.Path(__file__).parents[3] / "bench_data" / "a100", folder)
    described = (folder / "set.toml").read_text()
    (folder / "set.toml").write_text(described.replace('name = "a100"', 'name = "mine"', 1))
    return str(folder)
