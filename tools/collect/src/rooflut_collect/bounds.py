"""The least work of a row, and whether a measured time can be true.

The formulas are those of the crate `rooflut-roofline`, the rules those by which rooflut's code
generator refuses a row: a row that breaks one would have the whole set refused.
"""

from dataclasses import dataclass

from .gpus import Sheet
from .operations import Row

#: Bytes of a stored weight or KV entry, and of an activation that enters a GEMM, scales included.
_WEIGHT_BYTES = {
    "bf16": 2.0,
    "fp8": 1.0,
    "fp8_block": 1.0 + 4 / 128**2,
    "nvfp4": 0.5625,
    "mxfp4": 0.53125,
    "mxfp4_mxfp8": 0.53125,
    "int4": 0.5625,
}
_ACTIVATION_BYTES = {
    "bf16": 2.0,
    "fp8": 1.0,
    "fp8_block": 1.0 + 4 / 128,
    "nvfp4": 0.5625,
    "mxfp4": 2.0,
    "mxfp4_mxfp8": 1 + 1 / 32,
    "int4": 2.0,
}
#: Outputs, queries, keys and values as computed are 16-bit.
_WIDE = 2.0


@dataclass(frozen=True)
class Work:
    """Floating-point operations, bytes of memory, bytes over the link of one rank."""

    flops: float = 0.0
    bytes: float = 0.0
    link_bytes: float = 0.0


def work(row: Row) -> Work:
    """Minimum work of the row: every operand once, whatever the caches hold."""
    return _WORK[row.operation](row)


def bound_us(row: Row, sheet: Sheet) -> float:
    """Microseconds below which `row` cannot be done."""
    least, peak = work(row), sheet.peak(_dtype(row)) or float("inf")
    memory, link = sheet.values["mem_bw_gb_per_s"] * 1e9, sheet.values["link_gb_per_s"] * 1e9
    return 1e6 * max(least.flops / peak, least.bytes / memory, least.link_bytes / link)


def impossible(row: Row, latency_us: float, sheet: Sheet) -> str | None:
    """Why `row` cannot have taken `latency_us`, or `None`."""
    least, seconds, peak = work(row), latency_us * 1e-6, sheet.peak(_dtype(row))
    if peak is None:
        return f"{sheet.name} has no {_dtype(row)} peak in its data sheet"
    memory, link = sheet.values["mem_bw_gb_per_s"] * 1e9, sheet.values["link_gb_per_s"] * 1e9
    if least.flops / seconds > peak:
        return f"{least.flops / seconds * 1e-12:.1f} TFLOP/s, above the peak {peak * 1e-12:g}"
    if least.bytes > sheet.values["l2_bytes"] and least.bytes / seconds > memory:
        return f"{least.bytes / seconds * 1e-9:.0f} GB/s, above the bandwidth {memory * 1e-9:g}"
    if least.link_bytes / seconds > link:
        return f"{least.link_bytes / seconds * 1e-9:.0f} GB/s over the link of {link * 1e-9:g}"
    return None


def _dtype(row: Row) -> str:
    return "bf16" if row.operation == "allreduce" else str(row["dtype"])


def _gemm(row: Row) -> Work:
    m, k, n, dtype = row["m"], row["k"], row["n"], row["dtype"]
    moved = m * k * _ACTIVATION_BYTES[dtype] + k * n * _WEIGHT_BYTES[dtype] + m * n * _WIDE
    return Work(2.0 * m * k * n, moved)


def local_heads(row: Row) -> tuple[int, int]:
    """Query and KV heads of one rank."""
    return max(row["q_heads"] // row["tp"], 1), max(row["kv_heads"] // row["tp"], 1)


def _prefill(row: Row) -> Work:
    heads, kv_heads = local_heads(row)
    tokens = row["batch"] * row["seq_len"]
    width, kv_width = heads * row["head_dim"], 2 * kv_heads * row["head_dim"]
    moved = tokens * (2 * width * _WIDE + kv_width * _WIDE)
    return Work(2.0 * width * tokens * row["seq_len"], moved)


def _decode(row: Row) -> Work:
    heads, kv_heads = local_heads(row)
    cached = row["batch"] * row["kv_len"]
    width, kv_width = heads * row["head_dim"], 2 * kv_heads * row["head_dim"]
    moved = 2 * row["batch"] * width * _WIDE + cached * kv_width * _WEIGHT_BYTES[row["kv_dtype"]]
    return Work(4.0 * width * cached, moved)


def _moe(row: Row) -> Work:
    dtype, tokens = row["dtype"], row["tokens"]
    expert = row["matrices"] * row["hidden"] * row["intermediate"] / row["tp"]
    chosen = row["top_k"] / row["ep"]
    activations = tokens * row["hidden"] * (_ACTIVATION_BYTES[dtype] + _WIDE)
    moved = chosen * expert * _WEIGHT_BYTES[dtype] + activations
    return Work(2.0 * tokens * chosen * expert, moved)


def _allreduce(row: Row) -> Work:
    return Work(link_bytes=float(row["bytes"]))


_WORK = {
    "gemm": _gemm,
    "prefill": _prefill,
    "decode": _decode,
    "moe": _moe,
    "allreduce": _allreduce,
}
