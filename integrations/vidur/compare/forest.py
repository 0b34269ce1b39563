"""Vidur's own predictor, trained on profiles that rooflut's tables fill.

Vidur's wheel has no profiles: they are datasets of the Hugging Face Hub. These have the same columns, with the kernels
of rooflut's tables. So the forest and rooflut know the same kernels, and nothing is said about Vidur's own data.
"""

from __future__ import annotations

import pathlib

import pandas
from rooflut_vidur import RooflutPredictor
from vidur.config import CacheConfig, RandomForrestExecutionTimePredictorConfig, ReplicaConfig
from vidur.execution_time_predictor import ExecutionTimePredictorRegistry
from vidur.execution_time_predictor.random_forrest_execution_time_predictor import RandomForrestExecutionTimePredictor
from vidur.types import ExecutionTimePredictorType
from vidur.utils.random import set_seeds

# Tokens of a step, batches and KV lengths that are profiled.
TOKENS = [*range(8, 129, 8), *range(160, 1025, 32), *range(1152, 4097, 128)]
BATCHES = [1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128]
KV_TOKENS = [64, 128, 256, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192]
# One point of Vidur's grid of 27: a hundredth of its training time.
SMALL = RandomForrestExecutionTimePredictorConfig(
    num_estimators=[250],
    max_depth=[16],
    min_samples_split=[2],
    k_fold_cv_splits=2,
    num_training_job_threads=2,
    kv_cache_prediction_granularity=64,
    prediction_max_tokens_per_request=8192,
)
# Vidur's columns, and the parts of a layer that they hold. rooflut has one time for all small kernels.
COMPUTE = {
    "attn_pre_proj": "qkv",
    "attn_post_proj": "o_proj",
    "mlp_up_proj": "gate_up",
    "mlp_down_proj": "down",
    "add": "small_kernels",
}
EMPTY = ("mlp_act", "input_layernorm", "post_attention_layernorm", "attn_rope")


def register(cache_dir: str, sampler: str) -> None:
    """Makes Vidur train its forest on such profiles."""

    class Forest(RandomForrestExecutionTimePredictor):
        def _load_predictions_from_hf(self) -> None:
            raise FileNotFoundError("not asked of the Hub")

        def _get_input_files(self) -> tuple[str, ...]:
            return profiles(self._replica_config, pathlib.Path(self._cache_dir, "profiles"), sampler)

    # Forests are random.
    set_seeds(0)
    SMALL.cache_dir = cache_dir
    kind = ExecutionTimePredictorType.RANDOM_FORREST
    ExecutionTimePredictorRegistry.unregister(kind)
    ExecutionTimePredictorRegistry.register(kind, Forest)


def profiles(replica: ReplicaConfig, folder: pathlib.Path, sampler: str) -> tuple[str, ...]:
    """Writes the profiles of a replica under the engine of most loads; returns the files in Vidur's order."""
    kind = type("Predictor", (RooflutPredictor,), {"keys": {"engine": "vllm-0.15.1", "sampler": sampler}})
    deployment = kind(SMALL, replica, CacheConfig()).deployment
    layers = replica.model_config.num_layers

    def layer_ms(**batch: object) -> dict[str, float]:
        return {part["part"]: part["time_s"] * 1e3 / layers for part in deployment.step(**batch)["parts"]}

    model = replica.model_config
    shape = {"num_tensor_parallel_workers": replica.tensor_parallel_size, "n_embd": model.embedding_dim}
    compute, reduce, attention = [], [], []
    for tokens in TOKENS:
        parts = layer_ms(prefill=[tokens])
        row = {f"time_stats.{column}.median": parts[part] for column, part in COMPUTE.items()}
        compute.append({"num_tokens": tokens, **row, **{f"time_stats.{column}.median": 0.0 for column in EMPTY}})
        # Two all-reduces of a layer, of 16-bit activations.
        size = tokens * model.embedding_dim * 2
        reduce.append({"size": size, "time_stats.all_reduce.median": parts.get("all_reduce", 0.0) / 2})
    for new in (tokens for tokens in TOKENS if tokens % 32 == 0):
        # Vidur's schedulers count the new tokens among those of the cache.
        for kv_len in (tokens for tokens in KV_TOKENS if tokens >= new):
            parts = layer_ms(prefill=[(new, kv_len)])
            prefill = {"batch_size": 1, "prefill_chunk_size": new, "kv_cache_size": kv_len}
            attention.append({**prefill, "time_stats.attn_prefill.median": parts["prefill_attention"]})
    for batch in BATCHES:
        for kv_len in KV_TOKENS:
            parts = layer_ms(decode=[(batch, kv_len)])
            decode = {"batch_size": batch, "prefill_chunk_size": 0, "kv_cache_size": kv_len}
            attention.append({**decode, "time_stats.attn_decode.median": parts["decode_attention"]})

    heads = {"n_kv_head": model.num_kv_heads, **shape}
    mlp = {"n_expanded_embd": model.mlp_hidden_dim, "use_gated_mlp": True, "vocab_size": model.vocab_size}
    node = {"num_workers": replica.tensor_parallel_size, "devices_per_node": replica.tensor_parallel_size}
    files = {
        "mlp": pandas.DataFrame(compute).assign(n_head=model.num_q_heads, **heads, **mlp),
        "attention": pandas.DataFrame(attention).assign(n_q_head=model.num_q_heads, block_size=16, **heads),
        "all_reduce": pandas.DataFrame(reduce).assign(collective="all_reduce", **node),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, frame in files.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    # Pipelines are not trained.
    return (*(str(folder / f"{name}.csv") for name in files), "")
