"""A fused mixture-of-experts layer on one rank: gate, up and down projections of the chosen experts.

Routing is uniform: each token visits `top_k` experts drawn at random. Choosing them (router and
top-k) is not part of the row.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from ..operations import Row
from .base import Backend, TorchBackend, random_as, random_bf16, version_of


@dataclass(frozen=True)
class Operands:
    """Tokens, gate-and-up weights (experts, 2 width, hidden), down weights (experts, hidden, width),
    the experts of each token and their shares."""

    x: torch.Tensor
    w1: torch.Tensor
    w2: torch.Tensor
    experts: torch.Tensor
    shares: torch.Tensor


def operands(row: Row, device: str) -> Operands:
    """Random operands."""
    tokens, experts, hidden, dtype = row["tokens"], row["experts"], row["hidden"], row["dtype"]
    width = row["intermediate"] // row["tp"]
    scores = torch.rand(tokens, experts, device=device)
    shares, chosen = scores.topk(row["top_k"], dim=-1)
    x = random_bf16((tokens, hidden), device)
    w1 = random_as(dtype, (experts, 2 * width, hidden), device)
    w2 = random_as(dtype, (experts, hidden, width), device)
    if dtype == "bf16":
        w1.mul_(hidden**-0.5)
        w2.mul_(width**-0.5)
    return Operands(x, w1, w2, chosen.to(torch.int32), shares / shares.sum(-1, keepdim=True))


def small(row: Row) -> Row:
    """The case of the self-check: the row's experts, small."""
    return row.replace(tokens=16, hidden=256, intermediate=256, tp=1)


def reference(row: Row, operands: Operands) -> torch.Tensor:
    """Expert by expert in 32 bits."""
    x = operands.x.float()
    out = torch.zeros_like(x)
    for expert in range(row["experts"]):
        token, place = (operands.experts == expert).nonzero(as_tuple=True)
        gate, up = (x[token] @ operands.w1[expert].float().T).chunk(2, dim=-1)
        down = (F.silu(gate) * up) @ operands.w2[expert].float().T
        out.index_add_(0, token, down * operands.shares[token, place].unsqueeze(1))
    return out


def _unfit(row: Row) -> str | None:
    """Why no library here measures these experts."""
    if row["ep"] != 1:
        return "no experts on several ranks"
    if row["matrices"] != 3:
        return "no experts without a gate"
    return None


class VllmFused(Backend):
    """vLLM's fused experts (Triton); fp8: a scale per tensor, activations quantized inside."""

    name = "vllm"
    dtypes = ("bf16", "fp8")

    def unfit(self, row: Row, device: str) -> str | None:
        return super().unfit(row, device) or _unfit(row)

    def load(self) -> str:
        from vllm.model_executor.layers.fused_moe import config
        from vllm.model_executor.layers.fused_moe.fused_moe import fused_experts

        self._config, self._experts = config, fused_experts
        return version_of("vllm")

    def tolerance(self, row: Row) -> float:
        return 0.02 if row["dtype"] == "bf16" else 0.1

    def prepare(self, row: Row, operands: Operands) -> Callable[[], torch.Tensor]:
        options = {}
        if row["dtype"] == "fp8":
            ones = torch.ones(row["experts"], dtype=torch.float32, device=operands.x.device)
            options["quant_config"] = self._config.fp8_w8a8_moe_quant_config(ones, ones)
        arguments = (operands.x, operands.w1, operands.w2, operands.shares, operands.experts)
        return lambda: self._experts(*arguments, **options)


class TorchGrouped(TorchBackend):
    """torch's grouped GEMMs: tokens sorted by expert, two grouped products, weighted sum."""

    def unfit(self, row: Row, device: str) -> str | None:
        return super().unfit(row, device) or _unfit(row)

    def prepare(self, row: Row, operands: Operands) -> Callable[[], torch.Tensor]:
        grouped_mm = getattr(F, "grouped_mm", None) or torch._grouped_mm
        tokens, top_k = operands.experts.shape
        all_experts = torch.arange(row["experts"], device=operands.x.device).unsqueeze(1)
        w1, w2 = operands.w1.transpose(-1, -2), operands.w2.transpose(-1, -2)

        def call() -> torch.Tensor:
            flat = operands.experts.flatten()
            order = flat.argsort()
            ends = (flat == all_experts).sum(1).cumsum(0).to(torch.int32)
            gate, up = grouped_mm(operands.x[order // top_k], w1, offs=ends).chunk(2, dim=-1)
            down = grouped_mm(F.silu(gate) * up, w2, offs=ends)
            down = down[order.argsort()].view(tokens, top_k, -1)
            return (down * operands.shares.unsqueeze(-1)).sum(1).to(operands.x.dtype)

        return call


BACKENDS: list[Backend] = [VllmFused(), TorchGrouped()]
