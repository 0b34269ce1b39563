"""The terms that Vidur gets."""

import random

import pytest
import rooflut
from conftest import request
from rooflut_vidur.predictor import step_batch
from rooflut_vidur.terms import FIELDS, LAST_STAGE, LAYER_FIELDS, STEP_FIELD
from vidur.entities import Batch, KVParallelBatch

# The step of the tests: a whole prompt, and three requests that have sampled a token.
PARTS = {"prefill": [(512, 512, True)], "decode": [(3, 801)]}


def batch() -> Batch:
    requests = [request(512, 10, 0)] + [request(800, 10, 800) for _ in range(3)]
    return Batch(0, requests, [512, 1, 1, 1], [512, 802, 802, 802])


def close(value: float):
    return pytest.approx(value, rel=1e-13)


@pytest.mark.parametrize("tp", [1, 2, 8])
def test_terms_add_up_to_the_step_time(predictor, tp):
    predicts = predictor(tensor_parallel_size=tp)
    step = predicts.deployment.step(**PARTS)
    time = predicts.get_execution_time(batch(), 0)
    assert time.total_time == close(step["total_s"])
    assert round(time.total_time * 1e9) == step["total_ns"]


def test_terms_of_random_batches_add_up_to_the_step_time(predictor):
    predicts = predictor(tensor_parallel_size=4, model_name="meta-llama/Llama-3-70B")
    draw = random.Random(0)
    for _ in range(200):
        requests, new = [], []
        for _ in range(draw.randint(0, 3)):
            prompt = draw.randint(2, 3000)
            processed = draw.randint(0, prompt - 1)
            requests.append(request(prompt, 10, processed))
            new.append(draw.randint(1, prompt - processed))
        for _ in range(draw.randint(not requests, 60)):
            prompt = draw.randint(1, 3000)
            requests.append(request(prompt, 100, prompt + draw.choice([0, 2, 50])))
            new.append(1)
        chunks, groups = step_batch(Batch(0, requests, new, new))
        # Each decoding request as a group of its own.
        alone = [(1, r.num_processed_tokens) for r in requests if r.is_prefill_complete]
        assert len(groups) <= 2 and sum(n for n, _ in groups) == len(alone)
        step = predicts.deployment.step(prefill=chunks, decode=alone)
        time = predicts.get_execution_time(Batch(0, requests, new, new), 0)
        assert time.total_time == close(step["total_s"])


@pytest.mark.parametrize(
    "name, catalogue", [("meta-llama/Llama-3-8B", "llama-3.1-8b"), ("meta-llama/Llama-3-70B", "llama-3.1-70b")]
)
def test_a_model_of_vidur_takes_the_time_of_that_in_the_catalogue(predictor, name, catalogue):
    ours = predictor(model_name=name, tensor_parallel_size=4).deployment
    theirs = rooflut.Deployment(model=catalogue, gpu="h100", tp=4, sampler="plain")
    assert ours.step(**PARTS)["parts"] == theirs.step(**PARTS)["parts"]


@pytest.mark.parametrize("engine", ["vllm-0.11.0", "vllm-0.15.1"])
@pytest.mark.parametrize("tp, pp", [(2, 1), (2, 2), (1, 4), (2, 4), (8, 2)])
def test_stages_take_the_time_of_rooflut_s_own_stages(predictor, tp, pp, engine):
    keys = {"engine": engine, "sampler": "plain"}
    predicts = predictor(keys, tensor_parallel_size=tp, num_pipeline_stages=pp)
    command = rooflut.step(model="llama-3.1-8b", gpu="h100", tp=tp, pp=pp, prefill="512", decode="3x801", **keys)
    # The steps of the older engine wait for the host: once, and for the kernels of each layer.
    assert (command["parts"].get("host", 0.0) > 0.0) == (engine == "vllm-0.11.0")
    stages = [predicts.get_execution_time(batch(), stage).model_time_ms for stage in range(pp)]
    assert stages == [close(ms) for ms in command["stages_ms"] or [command["total_ms"]]]


@pytest.mark.parametrize("pp", [1, 2, 4])
@pytest.mark.parametrize("tp", [1, 2])
def test_whole_step_terms_are_in_the_field_that_vidur_counts_once(predictor, tp, pp):
    predicts = predictor({"engine": "vllm-0.11.0"}, tensor_parallel_size=tp, num_pipeline_stages=pp)
    requests = [request(10, 10, 10) for _ in range(100)]
    decode = Batch(0, requests, [1] * 100, [1] * 100)
    step = predicts.deployment.step(decode=[(100, 11)])
    parts = {part["part"]: part["time_s"] * 1e3 for part in step["parts"]}
    ends = [parts["host"], parts["lm_head"] + parts["sampling"]]
    assert min(ends) > 0.0
    for stage in range(pp):
        expected = ends[0] * (stage == 0) + ends[1] * (stage + 1 == pp)
        if stage + 1 < pp:
            expected += parts["transfer"] / (pp - 1)
        time = predicts.get_execution_time(decode, stage)
        assert getattr(time, STEP_FIELD) == close(expected)
        assert time.num_layers == 32 // pp


def test_layer_terms_are_of_one_layer(predictor):
    predicts = predictor(tensor_parallel_size=2)
    time = predicts.get_execution_time(batch(), 0)
    parts = {part["part"]: part["time_s"] for part in predicts.deployment.step(**PARTS)["parts"]}
    for part, field in LAYER_FIELDS.items():
        layer_ms = parts[part] * 1e3 / 32
        assert getattr(time, field) == close(layer_ms / 2 if part == "all_reduce" else layer_ms), part
    left = set(FIELDS) - set(LAYER_FIELDS.values()) - {STEP_FIELD}
    assert {getattr(time, field) for field in left} == {0.0}


def test_every_part_of_a_dense_step_has_a_place():
    placed = {*LAYER_FIELDS, *LAST_STAGE, "host", "transfer"}
    # Vidur has no models with experts.
    assert placed == set(rooflut.PARTS) - {"router", "moe", "exchange"}


def test_a_group_of_kv_parallel_batches_is_a_batch(predictor):
    predicts = predictor()
    alone = predicts.get_execution_time(batch(), 0).total_time
    assert predicts.get_execution_time(KVParallelBatch(0, {0: batch()}), 0).total_time == alone


def test_kv_lengths_are_those_of_the_requests():
    requests = [request(100, 5, 0), request(100, 5, 40), request(100, 5, 99), request(100, 5, 100), request(50, 9, 53)]
    new = [60, 30, 1, 1, 1]
    # The base of Vidur's schedulers leaves the last column to each of them.
    for kv_tokens in ([0] * 5, []):
        chunks, groups = step_batch(Batch(0, requests, new, kv_tokens))
        assert chunks == [(60, 60, False), (30, 70, False), (1, 100, True)]
        assert groups == [(2, 77)]  # 101 and 53 tokens


def test_a_chunk_without_a_request_does_not_end_its_prompt():
    assert step_batch(Batch(0, [None], [32], [64])) == ([(32, 96, False)], [])
