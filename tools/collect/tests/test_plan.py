from pathlib import Path

import pytest

from rooflut_collect import models, plan, shapes
from rooflut_collect.errors import UserError
from rooflut_collect.operations import OPERATIONS, Row, read_rows, row_of_key
from rooflut_collect.plan import PlanSpec

BENCH_DATA = Path(__file__).parents[3] / "bench_data"


def rows(*sources, **options):
    return plan.build(PlanSpec(sources, **options)).rows


def values(found, operation, *columns):
    return {tuple(row[column] for column in columns) for row in found if row.operation == operation}


def test_a_dense_model_asks_for_the_gemms_of_one_rank():
    found = rows("models:llama-3.1-8b@tp2", formats=shapes.Formats(dtypes=("bf16",)))
    assert values(found, "gemm", "k", "n") == {
        (4096, 3072),  # qkv: (32 + 2 * 8) heads of 128, halved
        (2048, 4096),  # o_proj
        (4096, 14336),  # gate and up
        (7168, 4096),  # down
        (4096, 64128),  # lm_head
    }
    assert values(found, "decode", "q_heads", "kv_heads", "head_dim", "tp") == {(16, 4, 128, 1)}
    assert values(found, "allreduce", "ranks") == {(2,)}
    assert not values(found, "moe", "experts")


def test_fewer_kv_heads_than_ranks_are_copied():
    found = rows("models:qwen3-30b-a3b@tp8")
    assert values(found, "prefill", "q_heads", "kv_heads") == {(4, 1)}
    assert (2048, 4 * 128 + 2 * 128) in values(found, "gemm", "k", "n")


def test_a_moe_model_asks_for_its_experts_and_a_16_bit_router():
    found = rows("models:mixtral-8x7b@tp2")
    layer = ("dtype", "experts", "top_k", "hidden", "intermediate", "tp")
    assert values(found, "moe", *layer) == {(d, 8, 2, 4096, 14336, 2) for d in ("bf16", "fp8")}
    assert {d for d, k, n in values(found, "gemm", "dtype", "k", "n") if (k, n) == (4096, 8)} == {"bf16"}
    assert not {(k, n) for k, n in values(found, "gemm", "k", "n") if n == 2 * 14336 // 2}


def test_a_shared_expert_is_a_dense_ffn():
    found = rows("models:llama-4-scout@tp1")
    assert {(5120, 16384), (8192, 5120)} <= values(found, "gemm", "k", "n")


def test_one_gpu_has_nothing_to_reduce():
    assert not values(rows("models:llama-3.1-8b"), "allreduce", "ranks")


def test_no_prompt_or_cache_is_longer_than_the_model_takes():
    found = rows("models:llama-2-7b")
    assert max(values(found, "prefill", "seq_len")) == (4096,)
    assert max(values(found, "decode", "kv_len")) == (4096,)


def test_what_models_share_is_measured_once():
    both = rows("models:llama-2-70b,llama-3.1-70b@tp8")
    assert len(both) == len(set(both))
    separate = rows("models:llama-2-70b@tp8") + rows("models:llama-3.1-70b@tp8")
    assert len(both) < len(separate)


def test_every_model_of_the_catalogue_makes_a_plan():
    for name, model in models.catalogue().items():
        if name != model.name or any(group["attention"]["kind"] != "gqa" for group in model.groups):
            continue
        found = rows(f"models:{name}@tp1")
        assert {row.operation for row in found} >= {"gemm", "prefill", "decode"}


def test_attention_that_is_not_collected_is_refused():
    with pytest.raises(UserError, match="deepseek-v3: only attention with key and value heads is collected"):
        rows("models:deepseek-v3@tp8")


def test_a_hugging_face_id_is_a_name_in_any_case():
    assert models.find("Meta-Llama/Llama-3.1-8B-instruct").name == "llama-3.1-8b"


def test_a_plan_of_a_set_has_its_rows():
    folder = BENCH_DATA / "h100"
    found = rows(f"set:{folder}")
    lines = sum(len((folder / op.file).read_text().splitlines()) - 1 for op in OPERATIONS.values())
    assert len(found) == lines > 1000
    assert Row.of("gemm", dtype="bf16", k=512, n=512, m=1) in found


def test_experts_on_several_ranks_or_without_a_gate_take_a_kernel_of_their_own():
    layer = {"experts": 8, "top_k": 2, "hidden": 128, "intermediate": 256, "tokens": 1}
    assert Row.of("moe", dtype="bf16", **layer).variant == "moe bf16"
    unusual = Row.of("moe", dtype="bf16", ep=4, matrices=2, **layer)
    assert unusual.variant == "moe bf16 ep=4 matrices=2"
    assert row_of_key(unusual.key) == unusual


def test_a_key_leads_back_to_its_row():
    for row in rows("tiny"):
        assert row_of_key(row.key) == row


def test_only_and_order_of_operations():
    found = rows("tiny", operations=("gemm", "moe"))
    assert [row.operation for row in found] == ["gemm"] * 6 + ["moe"] * 2


def test_another_plan_has_another_digest():
    one, other = (plan.build(PlanSpec(("tiny",), operations=(name,))) for name in ("gemm", "moe"))
    assert one.digest != other.digest
    assert one.digest == plan.build(PlanSpec(("tiny",), operations=("gemm",))).digest


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("models:lama-3.1-8b", "did you mean llama-3.1-8b"),
        ("models:zzz", "expected one of llama-2-7b"),
        (
            "models:qwen2.5-7b@tp8",
            "query heads, 28, does not divide over 8 GPUs; tp can be 1, 2, 4",
        ),
        ("models:llama-3.1-8b@8", "expected @tp1,2,4 after the models, found @8"),
        ("models:llama-3.1-8b@tp0", "found @tp0"),
        ("models:llama-3.1-8b,,@tp1", "a model's name between commas"),
        ("models:", "expected models:NAME"),
        ("grid", "--plan grid: expected models:NAME"),
        ("set:/nowhere", "expected a table set"),
    ],
)
def test_a_bad_plan_is_refused_with_what_to_write(source, message):
    with pytest.raises(UserError, match=message.replace("|", r"\|")):
        rows(source)


def test_an_axis_with_more_points_than_a_table_holds_is_refused(tmp_path):
    lines = [f"bf16,64,64,{m}" for m in range(1, 34)]
    (tmp_path / "gemm.csv").write_text("\n".join(["dtype,k,n,m", *lines]))
    with pytest.raises(UserError, match="33 values of m for gemm bf16 64 64, a table holds 32"):
        rows(f"set:{tmp_path}")


def test_a_set_that_cannot_be_read_is_refused_with_its_line(tmp_path):
    (tmp_path / "gemm.csv").write_text("dtype,k,n,m\nbf16,64,64,1\nbf16,64,x,1\n")
    with pytest.raises(UserError, match=r"gemm.csv:3: expected the columns dtype, k, n, m"):
        read_rows(tmp_path)
