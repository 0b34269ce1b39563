"""Fetches the Python sources of a version of vLLM: its wheel (340 to 510 MB) without the kernels."""

import pathlib
import subprocess
import sys
import tempfile
import zipfile


def fetch(version, folder):
    """Unpacks the sources into `folder`/vllm-`version` unless it is there; returns it, or `None` if pip fails."""
    target = pathlib.Path(folder) / f"vllm-{version}"
    if target.is_dir():
        return target
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as work:
        options = ["-q", "--no-deps", "--only-binary", ":all:", "-d", f"{work}/wheel"]
        command = [sys.executable, "-m", "pip", "download", *options, f"vllm=={version}"]
        if subprocess.run(command).returncode != 0:
            return None
        (wheel,) = pathlib.Path(work, "wheel").glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            # The scheduler is Python; the rest of the wheel is kernels.
            names = [name for name in archive.namelist() if name.endswith((".py", "/METADATA"))]
            archive.extractall(f"{work}/unpacked", names)
        # At once: a folder that exists is complete.
        try:
            pathlib.Path(work, "unpacked").rename(target)
        except OSError:
            # Another process may have been faster.
            if not target.is_dir():
                raise
    return target


if __name__ == "__main__":
    sys.exit(fetch(*sys.argv[1:]) is None)
