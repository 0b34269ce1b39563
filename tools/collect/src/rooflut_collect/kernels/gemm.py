"""m x k activations times k x n weights; the output is 16-bit.

Activations are measured as they enter the GEMM: quantizing them is another kernel. Weights are stored
(n, k), as in checkpoints.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from ..operations import Row
from .base import Backend, TorchBackend, random_as, version_of

#: Side of the blocks that share a scale in fp8_block.
_BLOCK = 128


@dataclass(frozen=True)
class Operands:
    """Both matrices and, for fp8, their scales: one per tensor, or one per block."""

    a: torch.Tensor
    w: torch.Tensor
    a_scale: torch.Tensor | None
    w_scale: torch.Tensor | None


def operands(row: Row, device: str) -> Operands:
    """Random operands."""
    m, k, n, dtype = row["m"], row["k"], row["n"], row["dtype"]
    a, w = random_as(dtype, (m, k), device), random_as(dtype, (n, k), device)
    if dtype == "bf16":
        return Operands(a, w, None, None)
    one = {"dtype": torch.float32, "device": device}
    if dtype == "fp8":
        return Operands(a, w, torch.full((1,), 0.5, **one), torch.full((1,), 0.25, **one))
    rows, columns = -(-n // _BLOCK), -(-k // _BLOCK)
    return Operands(a, w, torch.rand(m, columns, **one) + 0.5, torch.rand(rows, columns, **one) + 0.5)


def small(row: Row) -> Row:
    """The case of the self-check."""
    return row.replace(m=64, k=256, n=512)


def reference(row: Row, operands: Operands) -> torch.Tensor:
    """The product in 32 bits."""
    a, w = operands.a.float(), operands.w.float()
    if row["dtype"] == "fp8":
        a, w = a * operands.a_scale, w * operands.w_scale
    elif row["dtype"] == "fp8_block":
        a = a * operands.a_scale.repeat_interleave(_BLOCK, 1)[:, : a.shape[1]]
        scale = operands.w_scale.repeat_interleave(_BLOCK, 0).repeat_interleave(_BLOCK, 1)
        w = w * scale[: w.shape[0], : w.shape[1]]
    return a @ w.T


class VllmScaled(Backend):
    """vLLM's CUTLASS kernel for fp8 with a scale per tensor."""

    name = "vllm"
    dtypes = ("fp8",)

    def load(self) -> str:
        from vllm import _custom_ops

        self._ops = _custom_ops
        return version_of("vllm")

    def prepare(self, row: Row, operands: Operands) -> Callable[[], torch.Tensor]:
        a, w = operands.a, operands.w.t()
        scales = {"scale_a": operands.a_scale, "scale_b": operands.w_scale}
        return lambda: self._ops.cutlass_scaled_mm(a, w, out_dtype=torch.bfloat16, **scales)


class DeepGemm(Backend):
    """DeepGEMM's fp8 kernel with block scales, on its own or as vLLM ships it."""

    name = "deepgemm"
    dtypes = ("fp8_block",)

    def load(self) -> str:
        try:
            import deep_gemm as library

            version = version_of("deep_gemm", "deep-gemm")
        except ImportError:
            from vllm.third_party import deep_gemm as library

            version = f"DeepGEMM of {version_of('vllm')}"
        self._library = library
        return version

    def prepare(self, row: Row, operands: Operands) -> Callable[[], torch.Tensor]:
        # The layout that the kernel reads, so that it does not convert the scales on each call.
        scale = self._library.get_mn_major_tma_aligned_tensor(operands.a_scale)
        out = torch.empty(row["m"], row["n"], dtype=torch.bfloat16, device=operands.a.device)

        def call() -> torch.Tensor:
            self._library.fp8_gemm_nt((operands.a, scale), (operands.w, operands.w_scale), out)
            return out

        return call


class TorchGemm(TorchBackend):
    """cuBLAS through torch: `linear` for bf16 (as engines call it), `_scaled_mm` for fp8."""

    dtypes = ("bf16", "fp8")

    def prepare(self, row: Row, operands: Operands) -> Callable[[], torch.Tensor]:
        a, w = operands.a, operands.w
        if row["dtype"] == "bf16":
            return lambda: F.linear(a, w)
        scales = {"scale_a": operands.a_scale, "scale_b": operands.w_scale}
        return lambda: torch._scaled_mm(a, w.t(), out_dtype=torch.bfloat16, **scales)


BACKENDS: list[Backend] = [DeepGemm(), VllmScaled(), TorchGemm()]
