"""Stand-ins for the engines' libraries: their documented signatures and layouts, computed slowly.

They say nothing about the real kernels. They show that the collector calls what the libraries' own
sources declare (vLLM 0.33, FlashInfer 0.7, DeepGEMM of vLLM 0.33, FlashAttention 3), with operands
laid out as documented there.
"""

import sys
import types

import torch
import torch.nn.functional as F


def _attend(q, k, v, causal):
    """Attention of one sequence: (tokens, heads, head_dim), the mask aligned to the last token."""
    group = q.shape[1] // k.shape[1]
    q = q.float().transpose(0, 1)
    k, v = (t.float().repeat_interleave(group, 1).transpose(0, 1) for t in (k, v))
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    if causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril(k.shape[1] - q.shape[1])
        scores = scores.masked_fill(~seen, float("-inf"))
    return (scores.softmax(-1) @ v).transpose(0, 1).bfloat16()


def _paged(cache, pages, length):
    return torch.cat([cache[page].float() for page in pages])[:length]


def get_scheduler_metadata(
    batch_size, max_seqlen_q, max_seqlen_k, num_heads_q, num_heads_kv, headdim, cache_seqlens,
    qkv_dtype=torch.bfloat16, headdim_v=None, cu_seqlens_q=None, page_size=None, causal=False, num_splits=0,
):  # fmt: skip
    """FlashAttention 3's. Its numbers are for the kernel; these are what they were computed from."""
    assert headdim_v is None and max_seqlen_q == 1 and cache_seqlens.dtype == torch.int32
    assert cu_seqlens_q is None or cu_seqlens_q.tolist() == list(range(batch_size + 1))
    shape = (batch_size, max_seqlen_k, num_heads_q, num_heads_kv, headdim)
    return (*shape, cache_seqlens.tolist(), qkv_dtype, page_size, causal, num_splits)


def _check_schedule(metadata, q, k_cache, lengths, longest, causal, num_splits):
    """A paged call has metadata of just this call."""
    shape = (len(lengths), longest, q.shape[-2], k_cache.shape[2], q.shape[-1])
    assert metadata == (*shape, lengths.tolist(), q.dtype, k_cache.shape[1], causal, num_splits)
    assert num_splits == (32 if len(lengths) <= 512 else 0)


def flash_attn_varlen_func(
    q, k, v, max_seqlen_q, cu_seqlens_q, max_seqlen_k, cu_seqlens_k=None, seqused_k=None,
    causal=False, block_table=None, scheduler_metadata=None, num_splits=0, fa_version=2,
):  # fmt: skip
    """vLLM's; the package of its own has the same names and no `fa_version`."""
    assert fa_version == 3 and cu_seqlens_q.dtype == torch.int32
    assert (cu_seqlens_k is None) != (seqused_k is None)
    if block_table is not None:
        assert block_table.dtype == torch.int32
        _check_schedule(scheduler_metadata, q, k, seqused_k, max_seqlen_k, causal, num_splits)
    out = []
    for i in range(len(cu_seqlens_q) - 1):
        first, last = cu_seqlens_q[i : i + 2]
        assert last - first <= max_seqlen_q
        if block_table is None:
            keys = k[cu_seqlens_k[i] : cu_seqlens_k[i + 1]], v[cu_seqlens_k[i] : cu_seqlens_k[i + 1]]
        else:
            keys = tuple(_paged(cache, block_table[i], seqused_k[i]) for cache in (k, v))
        assert len(keys[0]) <= max_seqlen_k
        out.append(_attend(q[first:last], *keys, causal))
    return torch.cat(out)


def flash_attn_with_kvcache(
    q, k_cache, v_cache, cache_seqlens=None, page_table=None, causal=False,
    scheduler_metadata=None, num_splits=0,
):  # fmt: skip
    """FlashAttention 3's: queries are (batch, 1, heads, head_dim)."""
    longest = page_table.shape[1] * k_cache.shape[1]
    _check_schedule(scheduler_metadata, q, k_cache, cache_seqlens, longest, causal, num_splits)
    lines = zip(q, page_table, cache_seqlens, strict=True)
    return torch.stack(
        [_attend(each, _paged(k_cache, p, n), _paged(v_cache, p, n), causal) for each, p, n in lines]
    )


class BatchPrefillWithRaggedKVCacheWrapper:
    """FlashInfer's."""

    def __init__(
        self, workspace, kv_layout="NHD", use_cuda_graph=False, qo_indptr_buf=None, kv_indptr_buf=None
    ):
        assert kv_layout == "NHD" and use_cuda_graph and not workspace.any()
        assert qo_indptr_buf is not None and kv_indptr_buf is not None

    def plan(
        self, qo_indptr, kv_indptr, num_qo_heads, num_kv_heads, head_dim_qk, causal=False, q_data_type=None
    ):
        self.starts, self.heads, self.causal = qo_indptr, (num_qo_heads, num_kv_heads), causal
        assert q_data_type == torch.bfloat16

    def run(self, q, k, v):
        assert (q.shape[1], k.shape[1]) == self.heads
        lengths = self.starts.diff().tolist()
        return torch.cat(
            [_attend(*each, self.causal) for each in zip(*(t.split(lengths) for t in (q, k, v)), strict=True)]
        )


class BatchDecodeWithPagedKVCacheWrapper:
    """FlashInfer's."""

    def __init__(
        self, workspace, kv_layout="NHD", use_cuda_graph=False, use_tensor_cores=False,
        paged_kv_indptr_buffer=None, paged_kv_indices_buffer=None, paged_kv_last_page_len_buffer=None,
    ):  # fmt: skip
        assert kv_layout == "NHD" and use_cuda_graph
        self.buffers = (paged_kv_indptr_buffer, paged_kv_indices_buffer, paged_kv_last_page_len_buffer)

    def plan(
        self, indptr, indices, last_page_len, num_qo_heads, num_kv_heads, head_dim, page_size,
        q_data_type=None, kv_data_type=None,
    ):  # fmt: skip
        assert all(t.dtype == torch.int32 for t in (indptr, indices, last_page_len))
        assert [len(t) for t in self.buffers] == [len(indptr), len(indices), len(last_page_len)]
        self.indptr, self.indices, self.last, self.page = indptr, indices, last_page_len, page_size
        self.kv_data_type = kv_data_type

    def run(self, q, paged_kv_cache):
        assert paged_kv_cache[0].dtype == self.kv_data_type
        out = []
        for i, query in enumerate(q):
            pages = self.indices[self.indptr[i] : self.indptr[i + 1]]
            length = (len(pages) - 1) * self.page + self.last[i]
            out.append(_attend(query[None], *(_paged(c, pages, length) for c in paged_kv_cache), False))
        return torch.cat(out)


def cutlass_scaled_mm(a, b, scale_a, scale_b, out_dtype, bias=None):
    """vLLM's: b is (k, n), column-major."""
    assert b.stride(0) == 1
    return ((a.float() * scale_a) @ (b.float() * scale_b)).to(out_dtype)


def get_mn_major_tma_aligned_tensor(scale):
    """DeepGEMM's: the same numbers, stored by columns."""
    return scale.t().contiguous().t()


def fp8_gemm_nt(a, b, d):
    """DeepGEMM's: (m, k) times (n, k), scales per 1 x 128 and per 128 x 128."""
    (a, a_scale), (b, b_scale) = a, b
    assert a_scale.shape == (a.shape[0], a.shape[1] // 128) and a_scale.stride(0) == 1
    assert b_scale.shape == (b.shape[0] // 128, b.shape[1] // 128)
    wide = b_scale.repeat_interleave(128, 0).repeat_interleave(128, 1)
    d.copy_((a.float() * a_scale.repeat_interleave(128, 1)) @ (b.float() * wide).t())


def fp8_w8a8_moe_quant_config(w1_scale, w2_scale):
    """vLLM's."""
    return (w1_scale, w2_scale)


def fused_experts(hidden_states, w1, w2, topk_weights, topk_ids, quant_config=None):
    """vLLM's: w1 is (experts, 2 width, hidden), w2 (experts, hidden, width)."""
    assert topk_ids.dtype == torch.int32 and topk_weights.dtype == torch.float32
    assert (quant_config is None) == (w1.dtype == torch.bfloat16)
    out = torch.zeros_like(hidden_states, dtype=torch.float32)
    for token, (shares, ids) in enumerate(zip(topk_weights, topk_ids, strict=True)):
        for share, expert in zip(shares, ids, strict=True):
            gate, up = (w1[expert].float() @ hidden_states[token].float()).chunk(2)
            out[token] += share * (w2[expert].float() @ (F.silu(gate) * up))
    return out.bfloat16()


def install(monkeypatch, names):
    """Makes some of the libraries importable."""
    own_flash = {
        "flash_attn_varlen_func": lambda *a, **k: flash_attn_varlen_func(*a, **k, fa_version=3),
        "flash_attn_with_kvcache": flash_attn_with_kvcache,
        "get_scheduler_metadata": get_scheduler_metadata,
    }
    deep_gemm = {
        "fp8_gemm_nt": fp8_gemm_nt,
        "get_mn_major_tma_aligned_tensor": get_mn_major_tma_aligned_tensor,
    }
    moe = "vllm.model_executor.layers.fused_moe"
    libraries = {
        "vllm": {
            "vllm": {},
            "vllm._custom_ops": {"cutlass_scaled_mm": cutlass_scaled_mm},
            "vllm.vllm_flash_attn": {
                "flash_attn_varlen_func": flash_attn_varlen_func,
                "get_scheduler_metadata": get_scheduler_metadata,
            },
            "vllm.third_party": {},
            "vllm.third_party.deep_gemm": deep_gemm,
            "vllm.model_executor": {},
            "vllm.model_executor.layers": {},
            moe: {},
            f"{moe}.config": {"fp8_w8a8_moe_quant_config": fp8_w8a8_moe_quant_config},
            f"{moe}.fused_moe": {"fused_experts": fused_experts},
        },
        "fa3": {"flash_attn_interface": own_flash},
        "flashinfer": {
            "flashinfer": {
                "BatchPrefillWithRaggedKVCacheWrapper": BatchPrefillWithRaggedKVCacheWrapper,
                "BatchDecodeWithPagedKVCacheWrapper": BatchDecodeWithPagedKVCacheWrapper,
            }
        },
        "deep_gemm": {"deep_gemm": deep_gemm},
    }
    for name in names:
        for path, contents in libraries[name].items():
            module = types.ModuleType(path)
            vars(module).update(contents)
            monkeypatch.setitem(sys.modules, path, module)
            parent, _, child = path.rpartition(".")
            if parent:
                setattr(sys.modules[parent], child, module)
