"""Causal attention of whole prompts, all of one length, in one launch."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from ..bounds import local_heads
from ..operations import Row
from .base import Backend, TorchBackend, random_bf16, version_of
from .flash import first, flashinfer_workspace


@dataclass(frozen=True)
class Operands:
    """Queries, keys and values of all prompts, (tokens, heads, head_dim), and where prompts begin."""

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    starts: torch.Tensor


def operands(row: Row, device: str) -> Operands:
    """Random operands."""
    heads, kv_heads = local_heads(row)
    batch, seq_len, head_dim = row["batch"], row["seq_len"], row["head_dim"]
    tokens = batch * seq_len
    starts = torch.arange(0, tokens + 1, seq_len, dtype=torch.int32, device=device)
    q = random_bf16((tokens, heads, head_dim), device)
    k, v = (random_bf16((tokens, kv_heads, head_dim), device) for _ in range(2))
    return Operands(q, k, v, starts)


def small(row: Row) -> Row:
    """The case of the self-check: the row's heads, short prompts."""
    return row.replace(batch=2, seq_len=96)


def reference(row: Row, operands: Operands) -> torch.Tensor:
    """Attention in 32 bits, written out."""
    q, k, v = (_by_head(row, tensor).float() for tensor in (operands.q, operands.k, operands.v))
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = q @ k.transpose(-1, -2) * row["head_dim"] ** -0.5
    seen = torch.ones(row["seq_len"], row["seq_len"], dtype=torch.bool, device=q.device).tril()
    out = scores.masked_fill(~seen, float("-inf")).softmax(-1) @ v
    return out.transpose(1, 2).reshape(operands.q.shape)


def _by_head(row: Row, tensor: torch.Tensor) -> torch.Tensor:
    """(tokens, heads, head_dim) as (batch, heads, seq_len, head_dim)."""
    return tensor.view(row["batch"], row["seq_len"], *tensor.shape[1:]).transpose(1, 2)


class VllmFlash(Backend):
    """FlashAttention 3 as vLLM ships it."""

    name = "vllm-fa3"

    def load(self) -> str:
        from vllm.vllm_flash_attn import flash_attn_varlen_func

        self._attention = flash_attn_varlen_func
        return f"FlashAttention-3 of {version_of('vllm')}"

    def prepare(self, row: Row, operands: Operands) -> Callable[[], torch.Tensor]:
        lengths = {"max_seqlen_q": row["seq_len"], "max_seqlen_k": row["seq_len"]}
        starts = {"cu_seqlens_q": operands.starts, "cu_seqlens_k": operands.starts}
        options = {**lengths, **starts, "causal": True, "fa_version": 3}
        return lambda: first(self._attention(operands.q, operands.k, operands.v, **options))


class Flash(Backend):
    """FlashAttention 3 of its own package."""

    name = "fa3"

    def load(self) -> str:
        from flash_attn_interface import flash_attn_varlen_func

        self._attention = flash_attn_varlen_func
        return version_of("flash-attn-3", "flash_attn_3", "flash-attn")

    def prepare(self, row: Row, operands: Operands) -> Callable[[], torch.Tensor]:
        lengths = {"max_seqlen_q": row["seq_len"], "max_seqlen_k": row["seq_len"]}
        starts = {"cu_seqlens_q": operands.starts, "cu_seqlens_k": operands.starts}
        options = {**lengths, **starts, "causal": True}
        return lambda: first(self._attention(operands.q, operands.k, operands.v, **options))


class FlashInfer(Backend):
    """FlashInfer's prefill over ragged keys and values."""

    name = "flashinfer"

    def load(self) -> str:
        import flashinfer

        self._wrapper = flashinfer.BatchPrefillWithRaggedKVCacheWrapper
        return version_of("flashinfer-python", "flashinfer")

    def prepare(self, row: Row, operands: Operands) -> Callable[[], torch.Tensor]:
        heads, kv_heads = local_heads(row)
        wrapper = self._wrapper(
            flashinfer_workspace(),
            "NHD",
            use_cuda_graph=True,
            qo_indptr_buf=operands.starts.clone(),
            kv_indptr_buf=operands.starts.clone(),
        )
        starts, head_dim = operands.starts, row["head_dim"]
        options = {"causal": True, "q_data_type": torch.bfloat16}
        wrapper.plan(starts, starts, heads, kv_heads, head_dim, **options)
        return lambda: wrapper.run(operands.q, operands.k, operands.v)


class TorchAttention(TorchBackend):
    """torch's scaled_dot_product_attention."""

    def prepare(self, row: Row, operands: Operands) -> Callable[[], torch.Tensor]:
        q, k, v = (_by_head(row, tensor) for tensor in (operands.q, operands.k, operands.v))
        options = {"is_causal": True, "enable_gqa": q.shape[1] != k.shape[1]}
        return lambda: F.scaled_dot_product_attention(q, k, v, **options).transpose(1, 2)


BACKENDS: list[Backend] = [VllmFlash(), Flash(), FlashInfer(), TorchAttention()]
