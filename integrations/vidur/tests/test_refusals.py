"""Replicas that cannot be represented are refused, with the cause."""

import pytest
import rooflut
import rooflut_vidur
from rooflut import RooflutError
from vidur.config import SarathiSchedulerConfig


@pytest.mark.parametrize(
    "replica, cause",
    [
        ({"device": "a40", "network_device": "a40_pairwise_nvlink"}, "device: no measured tables of a40"),
        ({"device": "l40", "network_device": "l40_pcie"}, "device: no measured tables of l40"),
        ({"device": "a100"}, "network_device: expected a node of a100 GPUs, found h100_dgx"),
        (
            {"network_device": "h100_pairwise_nvlink", "tensor_parallel_size": 2},
            "network_device: expected a DGX node, found h100_pairwise_nvlink with 2 GPUs",
        ),
        ({"kv_parallel_size": 2}, "kv_parallel_size: expected 1, found 2"),
        ({"enable_sequence_pipeline_parallel": True, "num_pipeline_stages": 2}, "enable_sequence_pipeline_parallel"),
        ({"num_pipeline_stages": 4, "tensor_parallel_size": 4}, "4 stages of 4 GPUs lie on nodes of 8"),
        ({"model_name": "microsoft/phi-2"}, "microsoft/phi-2: use_gated_mlp: expected True"),
        ({"model_name": "meta-llama/Llama-3-70B"}, "meta-llama/Llama-3-70B does not fit h100 with tp = 1"),
        (
            {"model_name": "internlm/internlm2-20b", "keys": {"strict": "smoothed"}},
            "internlm/internlm2-20b: prefill_attention: table set h100: expected smoothed or better, found transferred",
        ),
        ({"native": True}, "use_native_execution_time_predictor"),
        ({"keys": {"engine": "vllm-9"}}, "vllm-9"),
        ({"keys": {"engin": "vllm-0.15.1"}}, "engin"),
        ({"keys": {"model": "llama-3.1-8b"}}, "model: expected Vidur's configuration to state it"),
        ({"keys": {"tp": 2}}, "tp: expected Vidur's configuration to state it"),
        ({"keys": {"tables": "/nowhere"}}, "/nowhere"),
    ],
)
def test_a_replica_that_cannot_be_represented_is_refused(predictor, replica, cause):
    with pytest.raises(RooflutError) as refused:
        predictor(**replica)
    assert cause in str(refused.value)
    assert "config.json" not in str(refused.value)


def test_a_refusal_ends_the_run_of_vidur(run):
    rooflut_vidur.register(dtype="fp9")
    with pytest.raises(RooflutError, match="fp9"):
        run(SarathiSchedulerConfig(), requests=1, prompt=10, output=2)


@pytest.mark.parametrize("network", ["h100_pairwise_nvlink", "h100_dgx"])
def test_a_replica_of_one_gpu_fits_any_node(predictor, network):
    assert predictor(network_device=network).deployment.max_num_seqs > 0


def test_tables_of_a_user_answer_for_any_device(predictor, tables):
    replica = {"device": "a40", "network_device": "a40_pairwise_nvlink"}
    own = predictor(keys={"tables": tables}, **replica).deployment
    built_in = rooflut.Deployment(model="llama-3.1-8b", gpu="a100", sampler="plain")
    assert own.step(prefill=[512])["total_ns"] == built_in.step(prefill=[512])["total_ns"]
