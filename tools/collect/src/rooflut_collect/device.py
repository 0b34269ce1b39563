"""The device that measures: its name, its versions, its data sheet."""

import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from . import gpus
from .errors import UserError


@dataclass(frozen=True)
class Device:
    """A device that is there."""

    #: `cuda` or `cpu`, as torch says.
    kind: str
    name: str
    sheet: gpus.Sheet
    #: How `nvidia-smi` knows it; empty on a CPU.
    uuid: str
    #: Driver, torch and CUDA, as recorded in the set.
    versions: dict[str, str]
    l2_bytes: int

    def record(self) -> dict:
        """The part that the log keeps."""
        return {"name": self.name, "uuid": self.uuid, **self.versions}


def open_device(kind: str, sheet_file: Path | None) -> Device:
    """The device to measure on.

    Fails where there is no torch, no CUDA device, or no data sheet for it.
    """
    try:
        import torch
    except ImportError as error:
        raise UserError(f"torch cannot be imported ({error}): pip install torch") from None
    versions = {"torch": torch.__version__}
    if kind == "cpu":
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        sheet = gpus.of_cpu(memory, os.cpu_count() or 1)
        sheet = gpus.read(sheet_file) if sheet_file else sheet
        return Device(kind, _processor(), sheet, "", versions, sheet.values["l2_bytes"])
    if not torch.cuda.is_available():
        built = torch.version.cuda
        why = f"this torch is built for CUDA {built}" if built else "this torch is built without CUDA"
        smi = "nvidia-smi is there" if shutil.which("nvidia-smi") else "there is no nvidia-smi"
        raise UserError(
            f"no CUDA device: {why}, {smi}. Run where a GPU is, install a torch that fits the driver, "
            "or try the collector with --device cpu"
        )
    properties = torch.cuda.get_device_properties(0)
    name = properties.name
    sheet = gpus.read(sheet_file) if sheet_file else gpus.of_device(name)
    if sheet is None:
        raise UserError(
            f"no data sheet for {name!r}: give one with --gpu-sheet FILE, a TOML file with a table "
            "[gpu] as in a set.toml (rooflut's bench_data/README.md shows one)"
        )
    uuid = str(getattr(properties, "uuid", ""))
    uuid = uuid if not uuid or uuid.startswith("GPU-") else f"GPU-{uuid}"
    versions |= {"cuda": str(torch.version.cuda), "driver": _driver(uuid)}
    l2_bytes = int(getattr(properties, "L2_cache_size", 0)) or sheet.values["l2_bytes"]
    return Device(kind, name, sheet, uuid, versions, l2_bytes)


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _driver(uuid: str) -> str:
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    command += ["-i", uuid] if uuid else []
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
        return done.stdout.strip().splitlines()[0]
    except (OSError, subprocess.SubprocessError, IndexError):
        return "unknown"
