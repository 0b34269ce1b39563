"""The terms of a step as Vidur adds them up."""

from __future__ import annotations

from rooflut import RooflutError, StepTime
from vidur._native.entities import ExecutionTime

# Parts of every layer, and the fields that Vidur multiplies by the layers of a stage.
LAYER_FIELDS = {
    "qkv": "attention_layer_pre_proj_execution_time",
    "prefill_attention": "attention_prefill_execution_time",
    "decode_attention": "attention_decode_execution_time",
    "o_proj": "attention_layer_post_proj_execution_time",
    "gate_up": "mlp_layer_up_proj_execution_time",
    "down": "mlp_layer_down_proj_execution_time",
    "all_reduce": "tensor_parallel_communication_time",
    # Norms, rotary embedding, activation, residual and KV write together: rooflut does not tell them apart.
    "small_kernels": "add_time",
}
# Vidur counts the all-reduce after the attention and that after the MLP by the same field.
COUNTED_TWICE = "tensor_parallel_communication_time"
# The field that Vidur does not multiply by the layers. It takes the parts of a whole step.
STEP_FIELD = "pipeline_parallel_communication_time"
# Parts of a step after its layers.
LAST_STAGE = ("lm_head", "sampling")
# All fields; Vidur leaves attention_kv_cache_save_execution_time out of its sum, so that it must stay 0.
FIELDS = (
    "attention_rope_execution_time",
    "attention_kv_cache_save_execution_time",
    "attention_decode_execution_time",
    "attention_prefill_execution_time",
    "attention_layer_pre_proj_execution_time",
    "attention_layer_post_proj_execution_time",
    "mlp_layer_up_proj_execution_time",
    "mlp_layer_down_proj_execution_time",
    "mlp_layer_act_execution_time",
    "attn_norm_time",
    "mlp_norm_time",
    "add_time",
    "tensor_parallel_communication_time",
    "pipeline_parallel_communication_time",
)


def stage_terms(step: StepTime, first_host_s: float, stage: int, stages: int, layers: int) -> ExecutionTime:
    """Returns the part of a step that is spent in one of ``stages`` pipeline stages of ``layers`` layers each.

    The first stage waits ``first_host_s`` for the host, the others for the rest in equal parts; all but the last send
    their results on; the last one projects to the vocabulary and samples.
    """
    terms = dict.fromkeys(FIELDS, 0.0)
    for part in step["parts"]:
        name, time_ms = part["part"], part["time_s"] * 1e3
        if name in LAYER_FIELDS:
            terms[LAYER_FIELDS[name]] += time_ms / (stages * layers)
        elif name == "host":
            first_ms = first_host_s * 1e3
            terms[STEP_FIELD] += first_ms if stage == 0 else (time_ms - first_ms) / (stages - 1)
        elif name == "transfer":
            terms[STEP_FIELD] += time_ms / (stages - 1) if stage + 1 < stages else 0.0
        elif name in LAST_STAGE:
            terms[STEP_FIELD] += time_ms if stage + 1 == stages else 0.0
        else:
            raise RooflutError(f"no term of Vidur has the part {name}; expected a model without experts")
    terms[COUNTED_TWICE] /= 2.0
    return ExecutionTime(layers, *terms.values())


def host_s(step: StepTime) -> float:
    """Returns the time in which a step waits for the host."""
    return sum(part["time_s"] for part in step["parts"] if part["part"] == "host")
