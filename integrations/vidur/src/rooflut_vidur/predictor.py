"""The predictor that Vidur creates and asks."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn, Union

from vidur._native.entities import ExecutionTime
from vidur.config import BaseExecutionTimePredictorConfig, CacheConfig, ReplicaConfig
from vidur.entities import Batch, KVParallelBatch
from vidur.execution_time_predictor import BaseExecutionTimePredictor, ExecutionTimePredictorRegistry
from vidur.types import ExecutionTimePredictorType

from .deployment import deployment, first_stage
from .terms import host_s, stage_terms

Chunk = tuple[int, int, bool]
Group = tuple[int, int]


def _not_alone(self: object, batch: Batch) -> NoReturn:
    raise NotImplementedError("rooflut computes the terms of a step together: call get_execution_time")


# Vidur asks for whole steps alone; its base class wants a method for each term all the same.
_Terms = type("_Terms", (), dict.fromkeys(BaseExecutionTimePredictor.__abstractmethods__, _not_alone))


class RooflutPredictor(_Terms, BaseExecutionTimePredictor):  # type: ignore[misc, valid-type]
    """Predicts the steps of a replica from measured kernels. ``register`` makes Vidur create it."""

    # Keys of a scenario that describe the replica beyond what Vidur states.
    keys: dict[str, Any] = {}

    def __init__(
        self,
        predictor_config: BaseExecutionTimePredictorConfig,
        replica_config: ReplicaConfig,
        cache_config: CacheConfig,
    ) -> None:
        super().__init__(predictor_config, replica_config, cache_config)
        self.deployment = deployment(predictor_config, replica_config, self.keys)
        self._stages = replica_config.num_pipeline_stages
        self._first_stage = first_stage(replica_config, self.keys) if self._stages > 1 else self.deployment
        # The EDF scheduler keeps its prefill times there.
        Path(self._cache_dir).mkdir(parents=True, exist_ok=True)

    def get_execution_time(self, batch: Union[Batch, KVParallelBatch], pipeline_stage: int) -> ExecutionTime:
        """Computes the time of a batch in a pipeline stage."""
        if isinstance(batch, KVParallelBatch):
            (batch,) = batch.batch_mapping.values()
        prefill, decode = step_batch(batch)
        step = self.deployment.step(prefill=prefill, decode=decode)
        first_host_s = host_s(step)
        if first_host_s > 0.0 and self._stages > 1:
            first_host_s = host_s(self._first_stage.step(prefill=prefill, decode=decode))
        return stage_terms(step, first_host_s, pipeline_stage, self._stages, self._num_layers_per_pipeline_stage)

    def to_dict(self) -> dict[str, str]:
        """Returns what tells this predictor from others; Vidur names the files of its cache after it."""
        return {
            "model_provider": f"rooflut {version('rooflut')}",
            "replica": repr(self._replica_config),
            "keys": repr(sorted(self.keys.items())),
        }


def step_batch(batch: Batch) -> tuple[list[Chunk], list[Group]]:
    """Returns the chunks of prompts in a batch, and its decoding requests.

    KV lengths are those of the requests, new tokens included, and not ``num_kv_tokens``: each scheduler of Vidur counts
    the tokens of the step in another way.
    """
    if None in batch.requests:
        # The EDF scheduler asks for chunks of a prompt that is not there.
        sizes = zip(batch.num_q_tokens, batch.num_kv_tokens, strict=True)
        return [(new, before + new, False) for new, before in sizes], []
    chunks: list[Chunk] = []
    requests = kv_tokens = 0
    for request, new in zip(batch.requests, batch.num_q_tokens, strict=True):
        if request.is_prefill_complete:
            # Vidur counts the token that is sampled; its keys and values are written in the next step.
            requests += 1
            kv_tokens += request.num_processed_tokens
        else:
            kv_len = request.num_processed_tokens + new
            chunks.append((new, kv_len, kv_len == request.num_prefill_tokens))
    return chunks, _groups(requests, kv_tokens)


def _groups(requests: int, kv_tokens: int) -> list[Group]:
    """Returns groups of requests with the same sum of KV lengths, on which alone the time of full attention depends."""
    if requests == 0:
        return []
    kv_len, longer = divmod(kv_tokens, requests)
    groups = [(requests - longer, kv_len), (longer, kv_len + 1)]
    return [group for group in groups if group[0] > 0]


def register(
    predictor_type: ExecutionTimePredictorType = ExecutionTimePredictorType.RANDOM_FORREST, **keys: Any
) -> None:
    """Makes Vidur predict with rooflut wherever its configuration asks for ``predictor_type``.

    ``keys`` are those of a scenario that describe a server beyond what Vidur states: ``engine``, ``dtype``,
    ``kv_dtype``, ``sampler``, ``tables``, ``network_bandwidth`` and so on.
    """
    predictor = type("RooflutPredictor", (RooflutPredictor,), {"keys": keys})
    ExecutionTimePredictorRegistry.unregister(predictor_type)
    ExecutionTimePredictorRegistry.register(predictor_type, predictor)
