"""Helpers that the attention libraries need beside their kernels."""

from functools import cache

import torch

_WORKSPACE_BYTES = 256 << 20


def first(answer) -> torch.Tensor:
    """The output of a FlashAttention call, of which some versions return more."""
    return answer[0] if isinstance(answer, tuple) else answer


@cache
def flashinfer_workspace() -> torch.Tensor:
    """One buffer for all calls: they run one after the other. Zero at first, as FlashInfer asks."""
    return torch.zeros(_WORKSPACE_BYTES, dtype=torch.uint8, device="cuda")
