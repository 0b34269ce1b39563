"""The rows that a model asks for, as rooflut's step model looks them up."""

from collections.abc import Iterator
from dataclasses import dataclass

from .models import Model
from .operations import Row

#: Points of the axes: dense where kernels change their tiles; at most 32, as rooflut's tables have.
_M = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768)
_M += (1024, 1536, 2048, 3072, 4096, 6144, 8192, 16384)
_PROMPTS = (1, 4, 16)
_SEQ_LEN = (16, 64, 128, 256, 512, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384)
_BATCH = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
_KV_LEN = (128, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072)
_TOKENS = (1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096, 8192, 16384)
_MESSAGES = tuple(2**power for power in range(8, 29))

#: Larger prefills and KV caches are left out: they take long, fit few GPUs, and scale.
_MOST_PROMPT_TOKENS = 65536
_MOST_KV_BYTES = 16 << 30

_BYTES = {"bf16": 2, "fp8": 1}


@dataclass(frozen=True)
class Formats:
    """The number formats that are measured."""

    dtypes: tuple[str, ...] = ("bf16", "fp8")
    kv_dtypes: tuple[str, ...] = ("bf16", "fp8")


def of_model(model: Model, tp: int, formats: Formats) -> Iterator[Row]:
    """All rows of `model` over `tp` GPUs; shapes are those of one rank.

    As `src/step/kernels.rs`: heads and widths divide by tp, KV heads are copied where there are
    fewer than ranks, lm_head and router are 16-bit, the vocabulary is rounded up. A MoE layer keeps
    its whole intermediate size with its tp. Attention is measured without windows.
    """
    model.check(tp)
    for group in model.groups:
        yield from _layer(model, group, tp, formats)
    yield from _gemm("bf16", model.hidden, -(-model.vocab // tp))
    if tp > 1:
        yield from (Row.of("allreduce", ranks=tp, bytes=size) for size in _MESSAGES)


def _layer(model: Model, group: dict, tp: int, formats: Formats) -> Iterator[Row]:
    heads = group["attention"]["q_heads"] // tp
    kv_heads = max(group["attention"]["kv_heads"] // tp, 1)
    head_dim = group["attention"]["head_dim"]
    q_width, kv_width = heads * head_dim, kv_heads * head_dim
    for dtype in formats.dtypes:
        yield from _gemm(dtype, model.hidden, q_width + 2 * kv_width)
        yield from _gemm(dtype, q_width, model.hidden)
        yield from _ffn(model, group["ffn"], tp, dtype)
    attention = {"q_heads": heads, "kv_heads": kv_heads, "head_dim": head_dim, "tp": 1}
    yield from _prefill(attention, model.max_model_len)
    for kv_dtype in formats.kv_dtypes:
        yield from _decode(attention, kv_dtype, model.max_model_len)


def _ffn(model: Model, ffn: dict, tp: int, dtype: str) -> Iterator[Row]:
    if ffn["kind"] == "dense":
        yield from _gated(dtype, model.hidden, ffn["intermediate"] // tp)
        return
    yield from _gemm("bf16", model.hidden, ffn["experts"])
    if ffn["shared_intermediate"]:
        yield from _gated(dtype, model.hidden, ffn["shared_intermediate"] // tp)
    layer = {name: ffn[name] for name in ("experts", "top_k", "intermediate")}
    for tokens in _TOKENS:
        yield Row.of("moe", dtype=dtype, hidden=model.hidden, tp=tp, tokens=tokens, **layer)


def _gated(dtype: str, hidden: int, intermediate: int) -> Iterator[Row]:
    """Fused gate and up projection, and down projection."""
    yield from _gemm(dtype, hidden, 2 * intermediate)
    yield from _gemm(dtype, intermediate, hidden)


def _gemm(dtype: str, k: int, n: int) -> Iterator[Row]:
    return (Row.of("gemm", dtype=dtype, k=k, n=n, m=m) for m in _M)


def _prefill(attention: dict, longest: int) -> Iterator[Row]:
    for batch in _PROMPTS:
        for seq_len in _SEQ_LEN:
            if seq_len <= longest and batch * seq_len <= _MOST_PROMPT_TOKENS:
                axes = {"batch": batch, "seq_len": seq_len}
                yield Row.of("prefill", dtype="bf16", kv_dtype="bf16", **attention, **axes)


def _decode(attention: dict, kv_dtype: str, longest: int) -> Iterator[Row]:
    token = 2 * attention["kv_heads"] * attention["head_dim"] * _BYTES[kv_dtype]
    for batch in _BATCH:
        for kv_len in _KV_LEN:
            if kv_len <= longest and batch * kv_len * token <= _MOST_KV_BYTES:
                axes = {"batch": batch, "kv_len": kv_len}
                yield Row.of("decode", dtype="bf16", kv_dtype=kv_dtype, **attention, **axes)


def tiny(formats: Formats) -> Iterator[Row]:
    """A few small rows of every operation, for a try on any machine."""
    for dtype in formats.dtypes:
        yield from (Row.of("gemm", dtype=dtype, k=256, n=512, m=m) for m in (1, 16, 64))
    heads = {"q_heads": 4, "kv_heads": 2, "head_dim": 64, "tp": 1}
    for batch, seq_len in ((1, 32), (1, 128), (2, 64)):
        axes = {"batch": batch, "seq_len": seq_len}
        yield Row.of("prefill", dtype="bf16", kv_dtype="bf16", **heads, **axes)
    for kv_dtype in formats.kv_dtypes:
        for batch, kv_len in ((1, 64), (1, 200), (4, 64)):
            axes = {"batch": batch, "kv_len": kv_len}
            yield Row.of("decode", dtype="bf16", kv_dtype=kv_dtype, **heads, **axes)
    layer = {"experts": 4, "top_k": 2, "hidden": 128, "intermediate": 256, "tp": 1}
    yield from (Row.of("moe", dtype="bf16", tokens=tokens, **layer) for tokens in (1, 16))
    yield from (Row.of("allreduce", ranks=2, bytes=size) for size in (1024, 65536))
