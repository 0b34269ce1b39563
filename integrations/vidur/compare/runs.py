"""A load stage in Vidur, and in rooflut's own simulator."""

from __future__ import annotations

import pathlib
import tempfile
import time
from typing import Any

import rooflut
from forest import SMALL
from stages import LATENCIES, MODELS, Stage
from vidur.config import (
    CacheConfig,
    ClusterConfig,
    MetricsConfig,
    ReplicaConfig,
    SarathiSchedulerConfig,
    SimulationConfig,
    SyntheticRequestGeneratorConfig,
)
from vidur.entities import Replica, Request
from vidur.execution_time_predictor import BaseExecutionTimePredictor
from vidur.request_generator import RequestGeneratorRegistry
from vidur.simulator import Simulator
from vidur.types import RequestGeneratorType


def of_rooflut(stage: Stage) -> dict[str, float]:
    """Returns the mean latencies of rooflut's own simulator, the API server included."""
    report = rooflut.simulate(
        model=stage.row["model"],
        gpu=stage.row["gpu"],
        tp=stage.number("tp"),
        engine=stage.row["engine"],
        arrival="constant",
        rate=float(stage.row["rate_rps"]),
        requests=len(stage.arrivals_s),
        prompt=stage.row["prompt_tokens"],
        cached_prompt=stage.number("cached_prompt_tokens"),
        output=stage.row["output_tokens"],
        kv_blocks=stage.kv_blocks,
        max_model_len=stage.number("max_model_len"),
        max_num_seqs=stage.number("max_num_seqs"),
        max_num_batched_tokens=stage.number("max_num_batched_tokens"),
    )
    return {latency: report[latency]["mean"] for latency in LATENCIES}


class VidurRun:
    """A run of a stage in Vidur, with whichever predictor is registered."""

    def __init__(self, stage: Stage) -> None:
        # Vidur numbers the replicas of a process, and its router expects the first of them to be 0.
        Replica._id = -1
        self.requests = [_request(stage, arrival_s) for arrival_s in stage.arrivals_s]
        requests = self.requests

        class Generator:
            def __init__(self, config: Any) -> None:
                pass

            def generate(self) -> list[Request]:
                return requests

        kind = RequestGeneratorType.SYNTHETIC
        RequestGeneratorRegistry.unregister(kind)
        RequestGeneratorRegistry.register(kind, Generator)
        with tempfile.TemporaryDirectory() as output:
            self.config = _config(stage, output)
            start = time.perf_counter()
            self.simulator = Simulator(self.config)
            self.setup_s = time.perf_counter() - start
            start = time.perf_counter()
            self.simulator.run()
            self.run_s = time.perf_counter() - start

    @property
    def predictor(self) -> BaseExecutionTimePredictor:
        (scheduler,) = self.simulator.scheduler._replica_schedulers.values()
        return scheduler._execution_time_predictor

    def latencies(self, stage: Stage) -> dict[str, float]:
        """Returns mean latencies."""
        later = stage.number("output_tokens") - 1
        each = [
            (
                request.prefill_completed_at - request.arrived_at,
                (request.completed_at - request.prefill_completed_at) / later,
                request.completed_at - request.arrived_at,
            )
            for request in self.requests
        ]
        return {latency: 1e3 * sum(column) / len(each) for latency, column in zip(LATENCIES, zip(*each))}


def _request(stage: Stage, arrival_s: float) -> Request:
    request = Request(arrival_s, stage.number("prompt_tokens"), stage.number("output_tokens"))
    # Vidur has no prefix cache: the cached tokens have been processed when the request arrives.
    request._num_processed_tokens = request._num_stage_processed_tokens = stage.number("cached_prompt_tokens")
    return request


def _config(stage: Stage, output: str) -> SimulationConfig:
    return SimulationConfig(
        log_level="error",
        cluster_config=ClusterConfig(
            replica_config=ReplicaConfig(
                model_name=MODELS[stage.row["model"]],
                device=stage.row["gpu"],
                network_device=f"{stage.row['gpu']}_dgx",
                tensor_parallel_size=stage.number("tp"),
                num_pipeline_stages=1,
            ),
            cache_config=CacheConfig(num_blocks=stage.kv_blocks),
            replica_scheduler_config=SarathiSchedulerConfig(
                batch_size_cap=stage.number("max_num_seqs"), chunk_size=stage.number("max_num_batched_tokens")
            ),
        ),
        request_generator_config=SyntheticRequestGeneratorConfig(num_requests=len(stage.arrivals_s)),
        execution_time_predictor_config=SMALL,
        metrics_config=MetricsConfig(
            write_metrics=False, store_plots=False, enable_chrome_trace=False, output_dir=output
        ),
    )
