"""Sweeps have the rows of the command."""

import numpy as np
import pytest

import rooflut

GRID = {"model": "llama-3.1-8b", "requests": 60, "gpu": ["h100", "h200"], "tp": [1, 3], "rate": "2..6:2"}
FLAGS = ["--model", "llama-3.1-8b", "--requests", 60, "--gpu", "h100,h200", "--tp", "1,3", "--rate", "2..6:2"]


@pytest.fixture(scope="module")
def rows():
    return rooflut.sweep(**GRID)


def test_a_sweep_is_that_of_the_binary(command, rows):
    assert rows.csv() == command("sweep", *FLAGS)


def test_columns_have_the_types_of_their_values(rows):
    assert {len(column) for column in rows.values()} == {12}
    assert (rows["index"] == np.arange(12)).all() and rows["tp"].dtype.kind == "i"
    assert rows["gpu"].tolist() == 6 * ["h100"] + 6 * ["h200"]
    assert rows["rate"].tolist() == 4 * [2, 4, 6]
    # Three ranks cannot share the model.
    failed = rows["tp"] == 3
    assert np.isnan(rows["ttft_mean_ms"][failed]).all() and (rows["ttft_mean_ms"][~failed] > 0).all()
    assert ((rows["error"] != "") == failed).all() and rows["grid"].dtype.kind == "U"
    assert np.isnan(rows["overloaded"][failed]).all() and (rows["overloaded"][~failed] == 0).all()


def test_rows_go_to_pandas_polars_and_arrow(rows):
    pandas, polars, arrow = rows.to_pandas(), rows.to_polars(), rows.to_arrow()
    assert pandas["ttft_mean_ms"].isna().sum() == 6 and polars["rate"].sum() == arrow["rate"].to_numpy().sum()


def test_a_file_has_the_rows_as_they_come(rows, tmp_path):
    file = tmp_path / "sweep.csv"
    assert rooflut.sweep(out=file, **GRID).csv() == file.read_bytes().decode() == rows.csv()
    with pytest.raises(rooflut.RooflutError, match="already exists"):
        rooflut.sweep(out=file, **GRID)
    # The file of a sweep that ended in the midst of a row.
    file.write_text(rows.csv()[:1_000])
    assert rooflut.sweep(out=file, resume=True, **GRID).csv() == rows.csv()


def test_shards_are_merged_to_the_whole(rows, tmp_path):
    shards = [tmp_path / f"{part}.csv" for part in (1, 2)]
    parts = [rooflut.sweep(out=file, shard=f"{part}/2", **GRID) for part, file in enumerate(shards, 1)]
    assert [len(part["index"]) for part in parts] == [6, 6]
    assert rooflut.sweep(merge=shards, out=tmp_path / "whole.csv").csv() == rows.csv()


def test_values_are_given_as_lists_arrays_or_in_a_file(rows, tmp_path):
    file = tmp_path / "sweep.toml"
    file.write_text("model = 'llama-3.1-8b'\n[workload]\nrequests = 60\n[sweep]\ngpu = 'h100,h200'\ntp = [1, 3]\nrate = '2..6:2'\n")
    assert rooflut.sweep(scenario=file).csv() == rows.csv()
    assert rooflut.sweep(**{**GRID, "rate": np.arange(2, 7, 2)}).csv() == rows.csv()
    switches = np.array([False, True])
    switched = rooflut.sweep(model="llama-3.1-8b", requests=np.int64(20), scheduler_reserve_full_isl=switches)
    assert switched["scheduler_reserve_full_isl"].tolist() == [False, True]
    assert switched["overloaded"].dtype == bool


def test_a_list_within_a_list_is_one_value(command):
    limits = ["ttft:40", "tpot:7"]
    each, both = (rooflut.sweep(requests=20, goodput=goodput) for goodput in (limits, [limits]))
    assert len(each["index"]) == 2
    assert both.csv() == command("sweep", "--requests", 20, "--goodput", *limits)
