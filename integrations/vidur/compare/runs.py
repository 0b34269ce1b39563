"""A load in Vidur, and in rooflut's own simulator."""

from __future__ import annotations

import contextlib
import tempfile
import time
from typing import Any, Iterable, Iterator

import rooflut
from forest import SMALL
from loads import LATENCIES, MODELS, Arrival, Load
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


def of_rooflut(load: Load) -> dict[str, float]:
    """Returns the mean latencies of rooflut's own simulator, with the API server if they were measured at the client."""
    report = rooflut.simulate(
        model=load.server["model"],
        gpu=load.server["gpu"],
        tp=load.number("tp"),
        engine=load.server["engine"],
        sampler=load.sampler,
        kv_blocks=load.kv_blocks,
        max_model_len=load.number("max_model_len"),
        max_num_seqs=load.number("max_num_seqs"),
        max_num_batched_tokens=load.number("max_num_batched_tokens"),
        trace={
            "arrival_ms": [arrival.at_s * 1e3 for arrival in load.arrivals],
            "prompt_tokens": [arrival.prompt_tokens for arrival in load.arrivals],
            "cached_prompt_tokens": [arrival.cached_prompt_tokens for arrival in load.arrivals],
            "output_tokens": [arrival.output_tokens for arrival in load.arrivals],
        },
        keep_requests=True,
    )
    if load.at_client:
        return {latency: report[latency]["mean"] for latency in LATENCIES}
    columns = ("arrival_ns", "first_token_ns", "finish_ns", "output_tokens")
    return _means(
        (arrival / 1e9, first / 1e9, finish / 1e9, int(output))
        for arrival, first, finish, output in zip(*(report.requests[column] for column in columns))
    )


class VidurRun:
    """A run of a load in Vidur, with whichever predictor is registered."""

    def __init__(self, load: Load) -> None:
        self.load = load
        # Vidur numbers the replicas of a process, and its router expects the first of them to be 0.
        Replica._id = -1
        self.requests = [_request(arrival) for arrival in load.arrivals]
        with generated(self.requests), tempfile.TemporaryDirectory() as output:
            self.config = _config(load, output)
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

    def latencies(self) -> dict[str, float]:
        """Returns mean latencies."""
        return _means(
            (request.arrived_at, request.prefill_completed_at, request.completed_at, arrival.output_tokens)
            for request, arrival in zip(self.requests, self.load.arrivals)
        )


@contextlib.contextmanager
def generated(requests: list[Request]) -> Iterator[None]:
    """Makes Vidur's generator of synthetic requests return these."""

    class Generator:
        def __init__(self, config: Any) -> None:
            pass

        def generate(self) -> list[Request]:
            return requests

    def replace(by: type) -> None:
        RequestGeneratorRegistry.unregister(RequestGeneratorType.SYNTHETIC)
        RequestGeneratorRegistry.register(RequestGeneratorType.SYNTHETIC, by)

    before = RequestGeneratorRegistry.get_class(RequestGeneratorType.SYNTHETIC)
    replace(Generator)
    try:
        yield
    finally:
        replace(before)


def _means(requests: Iterable[tuple[float, float, float, int]]) -> dict[str, float]:
    """Returns the mean latencies of requests: seconds of arrival, first and last token, and tokens."""
    ttft, tpot, e2e = [], [], []
    for arrival, first, last, output in requests:
        ttft.append(first - arrival)
        e2e.append(last - arrival)
        if output > 1:
            tpot.append((last - first) / (output - 1))
    return {name: 1e3 * sum(each) / len(each) for name, each in zip(LATENCIES, (ttft, tpot, e2e))}


def _request(arrival: Arrival) -> Request:
    request = Request(arrival.at_s, arrival.prompt_tokens, arrival.output_tokens)
    # Vidur has no prefix cache: the cached tokens have been processed when the request arrives.
    request._num_processed_tokens = request._num_stage_processed_tokens = arrival.cached_prompt_tokens
    return request


def _config(load: Load, output: str) -> SimulationConfig:
    return SimulationConfig(
        log_level="error",
        cluster_config=ClusterConfig(
            replica_config=ReplicaConfig(
                model_name=MODELS[load.server["model"]],
                device=load.server["gpu"],
                network_device=f"{load.server['gpu']}_dgx",
                tensor_parallel_size=load.number("tp"),
                num_pipeline_stages=1,
            ),
            cache_config=CacheConfig(num_blocks=load.kv_blocks),
            replica_scheduler_config=SarathiSchedulerConfig(
                batch_size_cap=load.number("max_num_seqs"), chunk_size=load.number("max_num_batched_tokens")
            ),
        ),
        request_generator_config=SyntheticRequestGeneratorConfig(num_requests=len(load.arrivals)),
        execution_time_predictor_config=SMALL,
        metrics_config=MetricsConfig(
            write_metrics=False, store_plots=False, enable_chrome_trace=False, output_dir=output
        ),
    )
