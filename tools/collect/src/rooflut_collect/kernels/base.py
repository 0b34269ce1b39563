"""The interface of a kernel library, and helpers that all kernels share."""

from collections.abc import Callable
from dataclasses import fields, replace
from importlib import metadata

import torch

from ..operations import Row

FP8 = torch.float8_e4m3fn
TORCH_DTYPES = {"bf16": torch.bfloat16, "fp8": FP8, "fp8_block": FP8}


class Backend:
    """A library's kernel for one operation."""

    #: How logs, sets and `--kernels` call it.
    name: str
    #: Devices that it runs on, as torch calls them.
    devices: tuple[str, ...] = ("cuda",)
    #: Values of `dtype` (for decode: of `kv_dtype`) that it has.
    dtypes: tuple[str, ...] = ("bf16",)
    dtype_column = "dtype"

    def unfit(self, row: Row, device: str) -> str | None:
        """Why it cannot measure rows like this one, whether installed or not."""
        if device not in self.devices:
            return f"not for {device}"
        if row[self.dtype_column] not in self.dtypes:
            return f"no {row[self.dtype_column]}"
        return None

    def load(self) -> str:
        """Imports the library; its version."""
        raise NotImplementedError

    def prepare(self, row: Row, operands) -> Callable[[], torch.Tensor]:
        """The call that is timed; all else is done here, once."""
        raise NotImplementedError

    def tolerance(self, row: Row) -> float:
        """Largest relative error of the self-check: some units of the last of bf16's 8 bits, or of
        fp8's 4 bits where products or probabilities are rounded to fp8 on the way."""
        return 0.02


class TorchBackend(Backend):
    """torch's own kernel."""

    name = "torch"
    devices = ("cuda", "cpu")

    def load(self) -> str:
        return f"torch {torch.__version__}"


def version_of(*distributions: str) -> str:
    """`vllm 0.24.0`, from the first of these distributions that is installed."""
    for name in distributions:
        try:
            return f"{name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            continue
    return f"{distributions[0]} (version unknown)"


def random_bf16(shape: tuple[int, ...], device: str, scale: float = 1.0) -> torch.Tensor:
    """Normally distributed numbers: not zeros, on which GPUs draw less power and clock higher."""
    return torch.randn(shape, dtype=torch.bfloat16, device=device).mul_(scale)


#: Bit patterns of e4m3 from 2^-4 (exponent 3 of bias 7) to below 1 (exponent 6).
_FP8_FIRST, _FP8_LAST = 3 << 3, 6 << 3 | 7


def random_fp8(shape: tuple[int, ...], device: str) -> torch.Tensor:
    """e4m3 numbers of both signs with magnitudes from 1/16 to 1, without a wider copy on the way."""
    bits = torch.randint(_FP8_FIRST, _FP8_LAST + 1, shape, dtype=torch.uint8, device=device)
    sign = torch.randint(0, 2, shape, dtype=torch.uint8, device=device).mul_(128)
    return bits.add_(sign).view(FP8)


def random_as(dtype: str, shape: tuple[int, ...], device: str) -> torch.Tensor:
    """Random numbers of a format of the tables."""
    if dtype == "bf16":
        return random_bf16(shape, device)
    return random_fp8(shape, device)


def bytes_of(operands) -> int:
    """Bytes of all tensors of a dataclass of operands."""
    values = (getattr(operands, field.name) for field in fields(operands))
    return sum(value.nbytes for value in values if isinstance(value, torch.Tensor))


def copy_of(operands):
    """Copies of the operands, each in memory of its own."""
    values = {field.name: getattr(operands, field.name) for field in fields(operands)}
    tensors = {name: value.clone() for name, value in values.items() if isinstance(value, torch.Tensor)}
    return replace(operands, **tensors)


def relative_error(found: torch.Tensor, expected: torch.Tensor) -> float:
    """The norm of the difference over the norm of what was expected."""
    difference = found.float().reshape(expected.shape) - expected
    return (difference.norm() / expected.norm()).item()
