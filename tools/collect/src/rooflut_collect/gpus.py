"""Data sheets: what a GPU can do at most, and which one a device is.

`data/gpus.toml` is a copy of rooflut's `bench_data/gpus.toml`; the project's checks compare the two.
"""

import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path

from .errors import UserError, comma

#: What drivers call the GPUs of `gpus.toml`: only parts whose peaks and bandwidth are those.
_DEVICE_NAMES = {
    "NVIDIA A100-SXM4-80GB": "a100",
    "NVIDIA B200": "b200",
    "NVIDIA B300 SXM6 AC": "b300",
    "NVIDIA GB200": "gb200",
    "NVIDIA GB300": "gb300",
    "NVIDIA H100 80GB HBM3": "h100",
    "NVIDIA H200": "h200",
    "NVIDIA L40S": "l40s",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": "rtx-pro-6000",
}

_NUMBERS = ("bf16_tflops", "mem_bytes", "mem_bw_gb_per_s", "l2_bytes", "sms", "link_gb_per_s")
_PEAKS = ("fp8_tflops", "fp4_tflops")
_OTHERS = ("tdp_w", "compute_capability")
_TEXTS = ("description", "source")


@dataclass(frozen=True)
class Sheet:
    """A data sheet, in the units of `gpus.toml`."""

    name: str
    values: dict = field(hash=False)
    #: Whether `gpus.toml` has it, so that a set names it and repeats nothing.
    known: bool = False

    def peak(self, dtype: str) -> float | None:
        """FLOP/s of a number format, `None` where the GPU has none."""
        # GPUs without 4-bit math do not scale blocks of MXFP8.
        if dtype == "mxfp4_mxfp8" and "fp4_tflops" not in self.values:
            return None
        # Weights of mxfp4 and int4 are converted to 16 bits.
        keys = {"fp8": "fp8_tflops", "fp8_block": "fp8_tflops", "mxfp4_mxfp8": "fp8_tflops", "nvfp4": "fp4_tflops"}
        value = self.values.get(keys.get(dtype, "bf16_tflops"))
        return None if value is None else value * 1e12


@cache
def known() -> dict[str, Sheet]:
    """The GPUs that rooflut knows, by name."""
    text = resources.files(__package__).joinpath("data/gpus.toml").read_text()
    return {name: Sheet(name, values, True) for name, values in tomllib.loads(text).items()}


def of_device(device_name: str) -> Sheet | None:
    """The data sheet of a device by the name that its driver gives it."""
    name = _DEVICE_NAMES.get(device_name)
    return known()[name] if name else None


def read(path: Path) -> Sheet:
    """The data sheet in a TOML file: one table `[gpu]`, as in a `set.toml`."""
    try:
        values = tomllib.loads(path.read_text()).get("gpu")
    except OSError as error:
        raise UserError(f"--gpu-sheet {path}: cannot be read: {error.strerror}") from None
    except ValueError as error:  # Of UTF-8, or of TOML.
        raise UserError(f"{path}: expected TOML with a table [gpu], found other text: {error}") from None
    name = values.pop("name", None) if isinstance(values, dict) else None
    if not isinstance(name, str):
        what = "no table [gpu]" if not isinstance(values, dict) else "one without a name"
        raise UserError(f"{path}: expected a table [gpu] with a name, found {what}")
    missing = [key for key in (*_NUMBERS, *_TEXTS) if key not in values]
    unknown = [key for key in values if key not in (*_NUMBERS, *_PEAKS, *_OTHERS, *_TEXTS)]
    if missing or unknown:
        raise UserError(
            f"{path}: [gpu]: missing {comma(missing) or 'nothing'}, unknown {comma(unknown) or 'nothing'}"
        )
    for key in (*_NUMBERS, *_PEAKS, *_OTHERS):
        value = values.get(key, 1)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise UserError(f"{path}: gpu.{key}: expected a positive number, found {value!r}")
    return Sheet(name, values)


def of_cpu(memory_bytes: int, cores: int) -> Sheet:
    """Bounds for a set measured on a CPU: so wide that no machine breaks them."""
    return Sheet(
        "cpu",
        {
            "description": "a CPU, to try the collector; peaks and bandwidths of no machine",
            "bf16_tflops": 1000.0,
            "fp8_tflops": 2000.0,
            "mem_bytes": memory_bytes,
            "mem_bw_gb_per_s": 10000.0,
            "l2_bytes": 1 << 20,
            "sms": cores,
            "link_gb_per_s": 1000.0,
            "source": "nominal, far above any CPU",
        },
    )
