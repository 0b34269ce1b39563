"""Frames of pandas, polars and Arrow come in and go out."""

import json

import numpy as np
import pytest

import rooflut


def frame_of(kind, columns):
    if kind == "pandas":
        return __import__("pandas").DataFrame(columns)
    if kind == "polars":
        return __import__("polars").DataFrame(columns)
    if kind == "arrow":
        return __import__("pyarrow").table(columns)
    return columns


@pytest.fixture(scope="module")
def columns():
    draw = np.random.default_rng(5)
    return {
        "arrival_ms": np.sort(draw.uniform(0, 5_000, 80)),
        "prompt_tokens": draw.integers(1, 900, 80),
        "output_tokens": draw.integers(1, 50, 80),
        "priority": draw.integers(0, 2, 80),
    }


@pytest.mark.parametrize("kind", ["dict", "pandas", "polars", "arrow"])
def test_a_frame_is_a_trace(kind, columns, command, tmp_path):
    import pandas

    pandas.DataFrame(columns).to_csv(tmp_path / "trace.csv", index=False)
    told = json.loads(command("run", "--policy", "priority", "--json", "--trace", tmp_path / "trace.csv"))
    report = rooflut.simulate(trace=frame_of(kind, columns), policy="priority")
    told["load"]["path"] = "<frame>"
    # No flag says a frame.
    told["command"] = None
    assert dict(report) == told


def test_requests_and_steps_are_frames():
    report = rooflut.simulate(requests=30, keep_requests=True, keep_steps=True)
    for frame in (report.requests, report.steps):
        pandas, polars, arrow = frame.to_pandas(), frame.to_polars(), frame.to_arrow()
        assert list(pandas.columns) == polars.columns == arrow.column_names == list(frame)
        assert len(pandas) == len(polars) == len(arrow) == len(frame[next(iter(frame))])
    assert set(report.requests.to_pandas()["outcome"]) == {"completed"}
    assert __import__("pandas").DataFrame(report.steps).equals(report.steps.to_pandas())
    assert __import__("polars").DataFrame(report.steps).equals(report.steps.to_polars())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"arrival_ms": [float("nan")] * 80}, r"arrival_ms\[0\]: expected a finite number"),
        ({"arrival_ms": [1, 2]}, "prompt_tokens: expected 2 values, as many as arrival_ms, found 80"),
        ({"arrival_ms": [0.0] + [-1.0] * 79}, r"arrival_ms\[1\]: expected a finite number of at least 0, found -1"),
        ({"prompt_tokens": [2**40] * 80}, r"prompt_tokens\[0\]: .* from 0 to 4294967295, found 1099511627776"),
        ({"prefix_id": 2**40, "prefix_tokens": 2**40}, "prefix_tokens: .* to 4294967295, found 1099511627776"),
        ({"text": ["a"] * 80}, "unknown column \"text\"; drop it"),
        ({"output_tokens": [1.5] * 80}, "output_tokens: expected one dimension of whole numbers"),
    ],
)
def test_wrong_frames_are_errors_with_their_cause(columns, changed, message):
    with pytest.raises(rooflut.RooflutError, match=message):
        rooflut.simulate(trace={**columns, **changed})


@pytest.mark.filterwarnings("ignore:Determining the column names of a LazyFrame")
def test_a_frame_that_is_not_computed_yet_is_an_error(columns):
    with pytest.raises(rooflut.RooflutError, match="arrival_ms: the frame does not give it: .*LazyFrame"):
        rooflut.simulate(trace=frame_of("polars", columns).lazy())


def test_a_frame_without_a_column_is_an_error(columns):
    short = {name: column for name, column in columns.items() if name != "output_tokens"}
    with pytest.raises(rooflut.RooflutError, match="output_tokens"):
        rooflut.simulate(trace=short)
