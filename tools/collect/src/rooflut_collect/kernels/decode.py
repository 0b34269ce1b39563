"""One new token per request over a paged KV cache; all requests have one length.

Pages of 16 tokens lie in the cache in random order, as after some time of serving. `kv_len` counts
the new token, whose key and value are in the cache already.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from ..bounds import local_heads
from ..operations import Row
from .base import FP8, Backend, TorchBackend, random_as, random_bf16, version_of
from .flash import first, flashinfer_workspace

PAGE = 16

#: How many parts vLLM lets FlashAttention 3 split a request's keys into, where a CUDA graph holds the
#: step: up to this batch. Above it, as many as the library thinks best (0).
_SPLITS, _LARGEST_GRAPH = 32, 512


@dataclass(frozen=True)
class Operands:
    """Queries (batch, heads, head_dim), caches (pages, 16, kv_heads, head_dim), pages of each request."""

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    pages: torch.Tensor
    lengths: torch.Tensor


def operands(row: Row, device: str) -> Operands:
    """Random operands."""
    heads, kv_heads = local_heads(row)
    batch, head_dim = row["batch"], row["head_dim"]
    pages = -(-row["kv_len"] // PAGE)
    cache = (batch * pages, PAGE, kv_heads, head_dim)
    k, v = (random_as(row["kv_dtype"], cache, device) for _ in range(2))
    order = torch.randperm(batch * pages, device=device).to(torch.int32)
    lengths = torch.full((batch,), row["kv_len"], dtype=torch.int32, device=device)
    q = random_bf16((batch, heads, head_dim), device)
    return Operands(q, k, v, order.view(batch, pages), lengths)


def small(row: Row) -> Row:
    """The case of the self-check: the row's heads, a last page that is not full."""
    return row.replace(batch=3, kv_len=100)


def _gathered(row: Row, cache: torch.Tensor, pages: torch.Tensor) -> torch.Tensor:
    """A cache as (batch, kv_heads, kv_len, head_dim)."""
    if cache.dtype == FP8:  # Indexing moves bytes, whatever they mean.
        lines = cache.view(torch.uint8).index_select(0, pages.flatten()).view(FP8)
    else:
        lines = cache.index_select(0, pages.flatten())
    lines = lines.view(row["batch"], -1, *cache.shape[2:])
    return lines[:, : row["kv_len"]].transpose(1, 2)


def reference(row: Row, operands: Operands) -> torch.Tensor:
    """Attention in 32 bits, written out."""
    q = operands.q.float().unsqueeze(2)
    k, v = (_gathered(row, cache, operands.pages).float() for cache in (operands.k, operands.v))
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = q @ k.transpose(-1, -2) * row["head_dim"] ** -0.5
    return (scores.softmax(-1) @ v).squeeze(2)


class _Paged(Backend):
    """A kernel that reads pages."""

    dtypes = ("bf16", "fp8")
    dtype_column = "kv_dtype"

    def tolerance(self, row: Row) -> float:
        # With an fp8 cache, FlashAttention 3 multiplies queries and probabilities in fp8 too.
        return 0.02 if row["kv_dtype"] == "bf16" else 0.1


def _query(row: Row, operands: Operands) -> torch.Tensor:
    """The query as FlashAttention 3 takes it: of the cache's format."""
    return operands.q if row["kv_dtype"] == "bf16" else operands.q.to(FP8)


def _schedule(get_metadata: Callable, row: Row, operands: Operands, longest: int, **more) -> dict:
    """How the work is spread over the GPU: computed once per step, for all layers, so not timed."""
    heads, kv_heads = local_heads(row)
    splits = _SPLITS if row["batch"] <= _LARGEST_GRAPH else 0
    metadata = get_metadata(
        batch_size=row["batch"],
        max_seqlen_q=1,
        max_seqlen_k=longest,
        num_heads_q=heads,
        num_heads_kv=kv_heads,
        headdim=row["head_dim"],
        cache_seqlens=operands.lengths,
        qkv_dtype=operands.k.dtype,
        page_size=PAGE,
        causal=True,
        num_splits=splits,
        **more,
    )
    return {"scheduler_metadata": metadata, "num_splits": splits, "causal": True}


class VllmFlash(_Paged):
    """FlashAttention 3 as vLLM ships it."""

    name = "vllm-fa3"

    def load(self) -> str:
        from vllm.vllm_flash_attn import flash_attn_varlen_func, get_scheduler_metadata

        self._attention, self._metadata = flash_attn_varlen_func, get_scheduler_metadata
        return f"FlashAttention-3 of {version_of('vllm')}"

    def prepare(self, row: Row, operands: Operands) -> Callable[[], torch.Tensor]:
        q = _query(row, operands)
        starts = torch.arange(row["batch"] + 1, dtype=torch.int32, device=q.device)
        options = {
            "max_seqlen_q": 1,
            "cu_seqlens_q": starts,
            "max_seqlen_k": row["kv_len"],
            "seqused_k": operands.lengths,
            "block_table": operands.pages,
            "fa_version": 3,
            **_schedule(self._metadata, row, operands, row["kv_len"], cu_seqlens_q=starts),
        }
        return lambda: first(self._attention(q, operands.k, operands.v, **options))


class Flash(_Paged):
    """FlashAttention 3 of its own package."""

    name = "fa3"

    def load(self) -> str:
        from flash_attn_interface import flash_attn_with_kvcache, get_scheduler_metadata

        self._attention, self._metadata = flash_attn_with_kvcache, get_scheduler_metadata
        return version_of("flash-attn-3", "flash_attn_3", "flash-attn")

    def prepare(self, row: Row, operands: Operands) -> Callable[[], torch.Tensor]:
        q = _query(row, operands).unsqueeze(1)
        # Without a longest length of its own, the call takes that of whole pages.
        options = {
            "cache_seqlens": operands.lengths,
            "page_table": operands.pages,
            **_schedule(self._metadata, row, operands, operands.pages.shape[1] * PAGE),
        }
        return lambda: first(self._attention(q, operands.k, operands.v, **options))


class FlashInfer(_Paged):
    """FlashInfer's batch decode."""

    name = "flashinfer"

    def load(self) -> str:
        import flashinfer

        self._wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper
        return version_of("flashinfer-python", "flashinfer")

    def prepare(self, row: Row, operands: Operands) -> Callable[[], torch.Tensor]:
        heads, kv_heads = local_heads(row)
        batch, pages = operands.pages.shape
        on_device = {"dtype": torch.int32, "device": operands.q.device}
        starts = torch.arange(0, batch * pages + 1, pages, **on_device)
        last = torch.full((batch,), row["kv_len"] - (pages - 1) * PAGE, **on_device)
        indices = operands.pages.flatten()
        wrapper = self._wrapper(
            flashinfer_workspace(),
            "NHD",
            use_cuda_graph=True,
            use_tensor_cores=heads // kv_heads >= 4,
            paged_kv_indptr_buffer=starts.clone(),
            paged_kv_indices_buffer=indices.clone(),
            paged_kv_last_page_len_buffer=last.clone(),
        )
        formats = {"q_data_type": torch.bfloat16, "kv_data_type": operands.k.dtype}
        wrapper.plan(starts, indices, last, heads, kv_heads, row["head_dim"], PAGE, **formats)
        return lambda: wrapper.run(operands.q, (operands.k, operands.v))


class TorchGathered(TorchBackend):
    """torch has no paged attention: pages are gathered (and widened, if fp8), then attended to.

    All of it is timed: a set measured with it says what torch can do, not what an engine does.
    """

    dtypes = ("bf16", "fp8")
    dtype_column = "kv_dtype"

    def prepare(self, row: Row, operands: Operands) -> Callable[[], torch.Tensor]:
        q = operands.q.unsqueeze(2)
        gqa = operands.q.shape[1] != operands.k.shape[2]

        def call() -> torch.Tensor:
            k, v = (_gathered(row, c, operands.pages).to(q.dtype) for c in (operands.k, operands.v))
            return F.scaled_dot_product_attention(q, k, v, enable_gqa=gqa).squeeze(2)

        return call


BACKENDS: list[Backend] = [VllmFlash(), Flash(), FlashInfer(), TorchGathered()]
