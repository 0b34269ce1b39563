"""Lookups and steps of arrays equal those of single queries; wrong arrays are errors with their cause."""

import copy
import json
import pickle

import numpy as np
import pytest

import rooflut

KERNELS = [
    ("gemm", {"dtype": "bf16", "k": 4096, "n": 6144}, {"m": 9_000}),
    ("prefill", dict(dtype="bf16", kv_dtype="bf16", q_heads=32, kv_heads=8, head_dim=128, tp=1), {"batch": 8, "seq_len": 9_000}),
    ("decode", dict(dtype="bf16", kv_dtype="bf16", q_heads=32, kv_heads=8, head_dim=128, tp=1), {"batch": 300, "kv_tokens": 10_000_000}),
    ("allreduce", {"ranks": 4}, {"bytes": 2**33}),
    ("moe", dict(dtype="bf16", experts=8, top_k=2, hidden=4096, intermediate=14336, tp=1, ep=1, matrices=3), {"tokens": 5_000}),
]


@pytest.fixture(scope="module")
def h100():
    return rooflut.Tables("h100")


@pytest.fixture(scope="module")
def deployment():
    return rooflut.Deployment(model="llama-3.1-8b")


def kernel_of(tables, operation, shape):
    # The name of an operation as its tables have it.
    operation = next(name for name in tables.operations if name.replace("_", "") == operation)
    return tables.kernel(operation, **shape)


@pytest.mark.parametrize(("operation", "shape", "most"), KERNELS)
def test_times_equal_single_queries_to_the_bit(h100, operation, shape, most):
    kernel = kernel_of(h100, operation, shape)
    assert kernel.arguments == list(most)
    draw = np.random.default_rng(0)
    query = {name: draw.integers(1, largest, 500) for name, largest in most.items()}
    if "kv_tokens" in query:
        query["kv_tokens"] += query["batch"]
    singles = [kernel.at(**{name: int(column[row]) for name, column in query.items()}) for row in range(500)]
    assert kernel.times(**query).tolist() == [single.time_s for single in singles]
    assert all(0 <= single.mfu <= 1 and single.provenance for single in singles)


def test_a_lookup_is_that_of_the_command(h100, command):
    told = json.loads(command("lookup", "gemm", "--k", 4096, "--n", 6144, "--m", 100, "--json"))
    estimate = h100.kernel("gemm", dtype="bf16", k=4096, n=6144).at(m=100)
    assert rooflut.lookup("gemm", k=4096, n=6144, m=100) == told
    figures = [value for value in told.values() if isinstance(value, float)]
    assert any(abs(figure - estimate.time_s * 1e6) < 1e-9 * figure for figure in figures)


def test_measured_rows_are_answered_as_measured(h100):
    rows = h100.measured("gemm")
    assert set(rows) == {"dtype", "k", "n", "m", "latency_us"} and len({len(column) for column in rows.values()}) == 1
    for row in range(0, len(rows["m"]), 97):
        shape = {name: rows[name][row].item() for name in ("dtype", "k", "n")}
        estimate = h100.kernel("gemm", **shape).at(m=int(rows["m"][row]))
        assert "measured" in estimate.provenance
        assert estimate.time_s * 1e6 == pytest.approx(rows["latency_us"][row], rel=1e-6)


def test_every_operation_of_every_set_can_be_asked_where_it_was_measured():
    for name in rooflut.Tables.names():
        tables = rooflut.Tables(name)
        for operation in tables.operations:
            rows = tables.measured(operation)
            columns = list(rows)
            axes = columns[columns.index("latency_us") - 1 :]
            kernel = tables.kernel(operation, **{
                column: rows[column][0].item() for column in columns if column not in ("latency_us", *axes) and column not in ("batch", "seq_len", "kv_len", "m", "tokens", "bytes")
            })
            times = kernel.times(**{argument: np.array([4, 64]) * (1_000 if argument == "kv_tokens" else 1) for argument in kernel.arguments})
            assert (times > 0).all() and np.isfinite(times).all(), (name, operation)


def test_steps_equal_the_command_and_single_steps(deployment, command):
    told = json.loads(command("step", "--decode", "64x1000", "--prefill", "512@1024", "--json"))
    step = deployment.step(prefill=[(512, 1536)], decode=[(64, 1000)])
    assert step["total_s"] * 1e3 == told["total_ms"]
    assert step["total_s"] == pytest.approx(sum(part["time_s"] for part in step["parts"]))
    assert rooflut.step(decode="64x1000", prefill="512@1024") == told
    times = deployment.step_times_ns(
        prefill_tokens=[512], prefill_kv_len=[1536], decode_requests=[64], decode_kv_tokens=[64_000]
    )
    assert times.dtype == np.uint64 and times.tolist() == [step["total_ns"]]


def test_many_steps_equal_single_ones(deployment):
    draw = np.random.default_rng(1)
    steps = 10_000
    requests = draw.integers(0, 100, steps)
    kv_len = draw.integers(1, 5_000, steps)
    tokens = draw.integers(1, 2_000, steps)
    times = deployment.step_times_ns(
        decode_requests=requests, decode_kv_tokens=requests * kv_len, prefill_tokens=tokens, prefill_kv_len=tokens
    )
    for row in range(0, steps, 199):
        decode = [(int(requests[row]), int(kv_len[row]))] if requests[row] else []
        assert deployment.step(prefill=[int(tokens[row])], decode=decode)["total_ns"] == times[row]


def test_layers_with_a_window_do_not_read_the_tokens_outside():
    deployment = rooflut.Deployment(model="gpt-oss-20b", gpu="h100")
    groups = dict(decode_requests=[64] * 3, decode_kv_tokens=64 * 500)
    # At least what lies outside a window of 128 tokens at equal lengths; half of the requests have 10 tokens.
    even, uneven = 64 * (500 - 128), 32 * (990 - 128)
    times = deployment.step_times_ns(decode_outside_tokens=[0, even, uneven], **groups)
    assert times[0] == times[1] == deployment.step(decode=[(64, 500)])["total_ns"]
    assert times[2] < times[1]


def test_offsets_give_steps_several_chunks_and_groups(deployment):
    times = deployment.step_times_ns(
        prefill_tokens=[100, 200, 300],
        prefill_kv_len=[100, 700, 300],
        prefill_offsets=[0, 2, 2, 3],
        decode_requests=[4, 5],
        decode_kv_tokens=[400, 5_000],
        decode_offsets=[0, 0, 2, 2],
    )
    singles = [
        deployment.step(prefill=[100, (200, 700)]),
        deployment.step(decode=[(4, 100), (5, 1_000)]),
        deployment.step(prefill=[300]),
    ]
    assert times.tolist() == [single["total_ns"] for single in singles]


def test_a_chunk_that_does_not_end_its_prompt_samples_nothing(deployment):
    chunk = {"prefill_tokens": 512, "prefill_kv_len": [512, 512]}
    partial, last = (deployment.step(prefill=[(512, 512, is_last)])["total_ns"] for is_last in (False, True))
    assert partial < last
    for ends in ([False, True], [0, 1], np.array([False, True])):
        assert deployment.step_times_ns(prefill_last=ends, **chunk).tolist() == [partial, last]


def test_chunks_and_groups_are_tuples_lists_or_rows(deployment):
    batch = {"prefill": [(512, 1024)], "decode": [(64, 1000), (8, 200)]}
    step = deployment.step(**batch)
    for kind in (list, np.array):
        assert deployment.step(**{name: [kind(item) for item in items] for name, items in batch.items()}) == step
    assert deployment.step(**{name: np.array(items) for name, items in batch.items()}) == step


def test_a_deployment_has_the_limits_of_its_engine_and_gpu():
    def limits(**keys):
        deployment = rooflut.Deployment(model="llama-3.1-8b", **keys)
        return (
            deployment.max_num_seqs,
            deployment.max_num_batched_tokens,
            deployment.gpu_memory_utilization,
            deployment.cuda_graph_max_tokens,
        )

    assert limits() == (1024, 8192, 0.92, 512)
    assert limits(gpu="a100") == (256, 2048, 0.92, 512)
    assert limits(gpu="b200", engine="vllm-0.33.0") == (1024, 16384, 0.92, 1024)
    assert limits(max_num_seqs=7, max_num_batched_tokens=512) == (7, 512, 0.92, 8)


def test_copies_of_a_deployment_answer_as_it_does():
    deployment = rooflut.Deployment(model="llama-3.1-8b", tp=2, server={"max_num_seqs": 7})
    for copied in (copy.copy(deployment), copy.deepcopy(deployment), pickle.loads(pickle.dumps(deployment))):
        assert copied.max_num_seqs == 7 and copied.step(prefill=[512]) == deployment.step(prefill=[512])


@pytest.mark.parametrize(
    "kind",
    [
        lambda array: array.astype("u4"),
        lambda array: array.astype(">i8"),
        lambda array: np.repeat(array, 3)[::3],
        lambda array: array[::-1][::-1],
        lambda array: np.frombuffer(b"x" + array.astype("i8").tobytes(), dtype=np.uint8)[1:].view("i8"),
        lambda array: array.tolist(),
        lambda array: __import__("pandas").Series(array),
        lambda array: __import__("polars").Series(array),
        lambda array: __import__("pyarrow").chunked_array([array[:10], array[10:]]),
    ],
)
def test_arrays_of_all_kinds_and_strides_are_read(h100, kind):
    kernel = h100.kernel("gemm", dtype="bf16", k=4096, n=6144)
    array = np.arange(1, 101)
    assert np.array_equal(kernel.times(m=kind(array)), kernel.times(m=array))


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([1.0, np.nan]), "m: expected one dimension of whole numbers, found float64 of shape"),
        (np.ones((2, 2), dtype=int), r"found int64 of shape \(2, 2\)"),
        (np.array([1, -2]), r"m\[1\]: expected a whole number from 1 to 4294967295, found -2"),
        (np.array([1, 0]), r"m\[1\]: .* found 0"),
        (np.array([2**32]), r"m\[0\]: .* found 4294967296"),
        (np.array([2**63], dtype=np.uint64), r"found 9223372036854775808"),
        (np.array(["a"]), "found <U1"),
        (np.array([1, None]), "found object"),
        (np.array([True]), "found bool"),
        (np.ma.masked_array([1, 2], [0, 1]), "without a mask"),
        ([[1], [1, 2]], "m: expected whole numbers: "),
        (np.datetime64("2026-01-01"), "m: expected whole numbers, found datetime64"),
        (object(), "found object"),
        (1.5, "m: expected whole numbers, found 1.5"),
        (2**80, "m: expected a whole number from 1 to 4294967295, found 1208925819614629174706176"),
    ],
)
def test_wrong_arrays_are_errors_with_their_cause(h100, array, message):
    with pytest.raises(rooflut.RooflutError, match=message):
        h100.kernel("gemm", dtype="bf16", k=4096, n=6144).times(m=array)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "expected prefill_tokens and prefill_kv_len, or"),
        ({"decode_requests": [1]}, "expected both decode_requests and decode_kv_tokens"),
        ({"decode_outside_tokens": [1]}, "decode_outside_tokens: expected decode_requests and"),
        (
            {"decode_requests": [1, 1], "decode_kv_tokens": [5, 5], "decode_outside_tokens": [1]},
            "decode_outside_tokens: expected 2 values, as many as",
        ),
        (
            {"decode_requests": [1], "decode_kv_tokens": [5], "decode_outside_tokens": [5]},
            "step 0: outside_tokens: expected at most the 4 KV tokens",
        ),
        ({"decode_requests": [1, 2], "decode_kv_tokens": [5]}, "decode_kv_tokens: expected 2 values, as many as"),
        ({"decode_requests": [1, 9], "decode_kv_tokens": [5, 5]}, "step 1: kv_tokens: expected at least 9"),
        ({"prefill_tokens": [9], "prefill_kv_len": [8]}, "step 0: kv_len: expected at least 9"),
        ({"decode_requests": [1], "decode_kv_tokens": [5], "decode_offsets": [0, 2]}, "expected offsets from 0 to 1"),
        ({"decode_requests": [1], "decode_kv_tokens": [5], "decode_offsets": np.array([0, 2**63], "u8")}, "expected offsets from 0 to 1"),
        ({"decode_requests": [1], "decode_kv_tokens": [5], "decode_offsets": []}, "expected offsets from 0 to 1"),
        ({"decode_requests": [1], "decode_kv_tokens": [5], "decode_offsets": [0, 1, 0, 1]}, r"offsets\[2\]: expected at least 1"),
        ({"decode_requests": 1, "decode_kv_tokens": 5, "decode_offsets": [0, 1]}, "beside single numbers"),
        (
            {"prefill_tokens": [9, 9], "prefill_kv_len": 9, "prefill_last": [1, 2]},
            r"prefill_last\[1\]: expected booleans, or 0 and 1, found 2",
        ),
        (
            {"decode_requests": [1, 1], "decode_kv_tokens": 5, "prefill_tokens": [1], "prefill_kv_len": [1]},
            "decode: expected 1 values, as many as prefill",
        ),
    ],
)
def test_wrong_steps_are_errors_with_their_cause(deployment, arguments, message):
    with pytest.raises(rooflut.RooflutError, match=message):
        deployment.step_times_ns(**arguments)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rooflut.Tables("h900"), "name: expected one of .*h100"),
        (lambda: rooflut.Tables.load("/nonexistent"), "nonexistent"),
        (lambda: rooflut.Tables("h100").kernel("softmax"), "operation: expected one of gemm"),
        (lambda: rooflut.Tables("h100").kernel("gemm", k=1, n=1), "dtype: missing; gemm has the columns dtype, k, n"),
        (lambda: rooflut.Tables("h100").kernel("gemm", dtype="fp7", k=1, n=1), "dtype: .*fp7"),
        (lambda: rooflut.Tables("h100").kernel("gemm", dtype="bf16", k=0, n=1), "k: expected a whole number from 1"),
        (lambda: rooflut.Tables("h100").kernel("gemm", dtype="bf16", k=[1], n=1), "k: expected one number"),
        (lambda: rooflut.Tables("h100").kernel("gemm", dtype="bf16", k=1, n=1, m=1), "m: gemm has no such column"),
        (lambda: rooflut.Tables("h100").kernel("gemm", dtype="bf16", k=64, n=64).at(n=1), "n: unknown argument; give m"),
        (lambda: rooflut.Tables("h100").kernel("gemm", dtype="bf16", k=64, n=64).at(), "m: missing"),
        (lambda: rooflut.Tables("h100").kernel("gemm", dtype="bf16", k=64, n=64).at(m=[1]), "use times"),
        (lambda: rooflut.Deployment(rate=3), "rate has no effect on the deployment of one server"),
        (lambda: rooflut.Deployment(replicas=3), "replicas has no effect"),
        (lambda: rooflut.Deployment(server={"replicas": 3}), "replicas has no effect"),
        (lambda: rooflut.Deployment(tp=3), "tp"),
        (lambda: rooflut.Deployment().step(decode=[(0, 1)]), r"decode\[0\]: requests"),
        (lambda: rooflut.Deployment().step(decode=[(1, 2, 3)]), r"decode\[0\]: kv_tokens"),
        (lambda: rooflut.Deployment().step(decode=(1, 2)), r"decode\[0\]: expected .requests, kv_len.*, found 1"),
        (lambda: rooflut.Deployment().step(decode=[(2**32, 2)]), r"decode\[0\]: requests: .* to 4294967295, found 4294967296"),
        (lambda: rooflut.Deployment().step(prefill=512), "prefill: expected a list, found 512"),
        (lambda: rooflut.Deployment().step(prefill="512"), "prefill: expected a list, found '512'"),
        (lambda: rooflut.Deployment().step(prefill=[-1]), r"prefill\[0\]: new_tokens: .* found -1"),
        (lambda: rooflut.Deployment().step(prefill=[(1, 2, 3)]), r"prefill\[0\]: is_last: expected True or False, found 3"),
        (lambda: rooflut.Deployment().step(prefill=[float("nan")]), r"prefill\[0\]: new_tokens: .* found nan"),
    ],
)
def test_wrong_arguments_are_errors_with_their_cause(call, message):
    with pytest.raises(rooflut.RooflutError, match=message):
        call()
