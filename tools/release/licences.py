"""Writes the licences of third-party code in a package: licences.py TARGET MANIFEST PACKAGE OUT

The file OUT has each crate that is linked into PACKAGE for TARGET, with its licence texts. Macros and build scripts are
not linked.
"""

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

# Licences that allow what we do when their texts go with it. One of those that a crate offers suffices.
ACCEPTED = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "ISC",
    "MIT",
    "MPL-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
}
TEXTS = ("license", "licence", "copying", "copyright", "notice", "unlicense")


def metadata(target: str, manifest: str) -> dict:
    """Cargo's metadata of a workspace for ``target``."""
    command = ["cargo", "metadata", "--locked", "--format-version=1", "--filter-platform", target]
    output = subprocess.run([*command, "--manifest-path", manifest], check=True, capture_output=True).stdout
    return json.loads(output)


def accepted(expression: str) -> bool:
    """Whether a licence expression offers licences of ``ACCEPTED``: alternatives (``OR`` or ``/``), joined by ``AND``."""
    parts = (part.strip("() ").replace("/", " OR ").split(" OR ") for part in expression.split(" AND "))
    return all(any(name.strip() in ACCEPTED for name in part) for part in parts)


def texts(package: dict) -> list[str]:
    """The licence texts that a crate has."""
    folder = Path(package["manifest_path"]).parent
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name.lower().startswith(TEXTS))
    return [file.read_text(encoding="utf-8", errors="replace").strip() for file in files]


def name_of(package: dict) -> str:
    """Name and version of a crate."""
    return f"{package['name']} {package['version']}"


def notices(what: str, crates: Iterable[dict]) -> str:
    """The licences of the third-party crates among ``crates``, which are linked into ``what``."""
    third_party = {name_of(it): it for it in sorted(crates, key=name_of) if it["source"]}
    refused = [f"{name}: {it['license']}" for name, it in third_party.items() if not accepted(it["license"] or "")]
    if refused:
        sys.exit("licences that are not accepted (ACCEPTED in licences.py): " + "; ".join(refused))

    lines = [f"Third-party code in {what}, with its licences.", ""]
    lines += [f"{name}: {it['license']}, {it['repository'] or it['homepage']}" for name, it in third_party.items()]
    lines += ["The standard library of Rust: MIT OR Apache-2.0, https://github.com/rust-lang/rust", ""]
    users: dict[str, list[str]] = {}
    for name, package in third_party.items():
        # A crate without a text of its own is licensed under the texts of its licence, which others have.
        for text in texts(package):
            users.setdefault(text, []).append(name)
    for text, names in sorted(users.items(), key=lambda pair: pair[1]):
        lines += ["-" * 80, ", ".join(names), "-" * 80, "", text, ""]
    return "\n".join(lines)


def linked(target: str, manifest: str, package: str) -> list[dict]:
    """The crates that are linked into ``package``."""
    command = ["cargo", "tree", "--locked", "--edges=normal,no-proc-macro", "--prefix=none", "--target", target]
    command += ["--manifest-path", manifest, "--package", package]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    # A line is such as "csv v1.4.0 (*)".
    names = {" ".join(line.split()[:2]).replace(" v", " ") for line in lines}
    return [crate for crate in metadata(target, manifest)["packages"] if name_of(crate) in names]


def main() -> None:
    target, manifest, package, out = sys.argv[1:]
    Path(out).write_text(notices(f"the package {package}", linked(target, manifest, package)), encoding="utf-8")


if __name__ == "__main__":
    main()
