"""The deployment that a replica of Vidur is."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from rooflut import Deployment, RooflutError
from vidur.config import BaseExecutionTimePredictorConfig, ReplicaConfig
from vidur.config.model_config import BaseModelConfig
from vidur.types import ActivationType, NormType

# Devices of Vidur that have a table set of the same name.
GPUS = ("a100", "h100")
# Keys of a scenario that Vidur's own configuration states.
OF_VIDUR = ("model", "gpu", "tp", "pp", "gpus_per_node")


def deployment(
    predictor: BaseExecutionTimePredictorConfig, replica: ReplicaConfig, keys: dict[str, Any]
) -> Deployment:
    """Builds the deployment of a replica; ``keys`` of a scenario add what Vidur does not state.

    Raises ``RooflutError`` for whatever rooflut cannot represent.
    """
    for key in OF_VIDUR:
        if key in keys:
            raise RooflutError(f"{key}: expected Vidur's configuration to state it; set it there")
    _check(predictor, replica)
    return _build(replica, keys, replica.model_config.num_layers, replica.num_pipeline_stages)


def first_stage(replica: ReplicaConfig, keys: dict[str, Any]) -> Deployment:
    """Builds a deployment of the layers of one pipeline stage, whose steps wait for the host as the first stage does."""
    return _build(replica, keys, replica.num_layers_per_pipeline_stage, 1)


def _build(replica: ReplicaConfig, keys: dict[str, Any], layers: int, stages: int) -> Deployment:
    if "tables" not in keys:
        keys = {**keys, "gpu": _gpu(replica.device)}
    model = {**_model(replica.model_name, replica.model_config), "num_hidden_layers": layers}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "config.json")
        path.write_text(json.dumps(model))
        try:
            return Deployment(
                model=str(path),
                tp=replica.tensor_parallel_size,
                pp=stages,
                gpus_per_node=replica.node_config.num_devices_per_node,
                **keys,
            )
        except RooflutError as error:
            # The file is gone by the time that the message is read.
            raise RooflutError(str(error).replace(str(path), replica.model_name)) from None


def _check(predictor: BaseExecutionTimePredictorConfig, replica: ReplicaConfig) -> None:
    if predictor.use_native_execution_time_predictor:
        raise RooflutError(
            "use_native_execution_time_predictor: Vidur's native predictor holds Vidur's own predictions; leave it off"
        )
    if replica.kv_parallel_size != 1:
        raise RooflutError(
            f"kv_parallel_size: expected 1, found {replica.kv_parallel_size}: rooflut has no model of KV parallelism"
        )
    if replica.enable_sequence_pipeline_parallel:
        raise RooflutError(
            "enable_sequence_pipeline_parallel: the chunks of one prompt are in several stages at once, and Vidur does "
            "not tell a predictor their KV lengths; leave it off"
        )
    node = replica.node_config
    if node.device_sku_type != replica.device_config.get_type():
        raise RooflutError(
            f"network_device: expected a node of {replica.device} GPUs, found {replica.network_device}; choose another"
        )
    gpus = replica.tensor_parallel_size * replica.num_pipeline_stages
    if gpus > 1 and not replica.network_device.endswith("_dgx"):
        raise RooflutError(
            f"network_device: expected a DGX node, found {replica.network_device} with {gpus} GPUs a replica: the "
            "all-reduces of the tables were measured between GPUs that are all connected"
        )
    if (
        replica.num_pipeline_stages > 2
        and gpus > node.num_devices_per_node
        and replica.tensor_parallel_size % node.num_devices_per_node != 0
    ):
        raise RooflutError(
            f"num_pipeline_stages: {replica.num_pipeline_stages} stages of {replica.tensor_parallel_size} GPUs lie on "
            f"nodes of {node.num_devices_per_node}, so that only some send over the network; choose stages of whole "
            "nodes, or fewer"
        )


def _gpu(device: str) -> str:
    if device not in GPUS:
        raise RooflutError(
            f"device: no measured tables of {device}; choose one of {', '.join(GPUS)}, or give a folder of your own "
            "measurements: register(tables=FOLDER)"
        )
    return device


def _model(name: str, model: BaseModelConfig) -> dict[str, Any]:
    """Returns the dimensions of the layers of a model of Vidur as those of a Llama, or of a Qwen2 if its projections have biases."""
    differences = {
        "use_gated_mlp": (model.use_gated_mlp, True),
        "use_bias": (model.use_bias, False),
        "activation": (str(model.activation), str(ActivationType.SILU)),
        "norm": (str(model.norm), str(NormType.RMS_NORM)),
        "post_attn_norm": (model.post_attn_norm, True),
        "no_tensor_parallel": (model.no_tensor_parallel, False),
    }
    for field, (found, expected) in differences.items():
        if found != expected:
            raise RooflutError(
                f"{name}: {field}: expected {expected}, as of a Llama, found {found}: rooflut has no model of such layers"
            )
    return {
        "model_type": "qwen2" if model.use_qkv_bias else "llama",
        "hidden_size": model.embedding_dim,
        "intermediate_size": model.mlp_hidden_dim,
        "num_attention_heads": model.num_q_heads,
        "num_key_value_heads": model.num_kv_heads,
        "vocab_size": model.vocab_size,
        "max_position_embeddings": model.max_model_len,
        "hidden_act": "silu",
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
    }
