"""The programs that compare with measured runs."""

import pathlib
import sys

import pytest
import rooflut_vidur

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "compare"))

import forest
from loads import read
from runs import VidurRun, of_rooflut
from speed import batches, call_us


def test_loads_and_causes_cover_all_rows():
    loads, left_out = read(10.0)
    stages, replays = ([load for load in loads if load.at_client == at_client] for at_client in (True, False))
    assert len(stages) == 27 and sum(left_out.values()) == 29
    assert [len(replay.arrivals) for replay in replays] == [280, 282]
    assert {load.sampler for load in loads} == {"plain", "top-p"}


@pytest.mark.parametrize("number", [0, 3, 14, 23])
def test_tokens_take_the_time_that_rooflut_s_simulator_finds(number):
    load = read(10.0)[0][number]
    rooflut_vidur.register(engine=load.server["engine"], sampler=load.sampler)
    found, expected = VidurRun(load).latencies(), of_rooflut(load)
    assert found["tpot_ms"] == pytest.approx(expected["tpot_ms"], rel=0.02)
    assert found["ttft_ms"] < expected["ttft_ms"], "Vidur has no API server"


@pytest.fixture
def few_trees(monkeypatch):
    monkeypatch.setattr(forest.SMALL, "num_estimators", [40])
    monkeypatch.setattr(forest.SMALL, "num_training_job_threads", 1)
    monkeypatch.setattr(forest.SMALL, "prediction_max_batch_size", 16)
    monkeypatch.setattr(forest.SMALL, "prediction_max_tokens_per_request", 1024)
    monkeypatch.setattr(forest.SMALL, "prediction_max_prefill_chunk_size", 1024)


def test_a_forest_learns_the_layers_of_rooflut(few_trees, tmp_path):
    load = read(2.0)[0][13]
    forest.register(str(tmp_path), load.sampler)
    learnt = VidurRun(load).predictor
    rooflut_vidur.register(engine=load.server["engine"], sampler=load.sampler)
    known = VidurRun(load).predictor
    batch, *_ = batches(8, 0)
    trees, tables = (predictor.get_execution_time(batch, 0) for predictor in (learnt, known))
    # Vidur adds a tenth to the attention of several requests that share keys and values.
    assert trees.attention_decode_execution_time == pytest.approx(1.1 * tables.attention_decode_execution_time, rel=0.1)
    for field in ("attention_layer_pre_proj_execution_time", "mlp_layer_up_proj_execution_time", "add_time"):
        assert getattr(trees, field) == pytest.approx(getattr(tables, field), rel=0.05), field
    assert trees.pipeline_parallel_communication_time == 0.0 < tables.pipeline_parallel_communication_time
    assert 0.1 < call_us(known.get_execution_time, 2, 0) < 1e6
