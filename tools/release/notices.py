"""Writes the licences of third-party code and an SBOM: notices.py VERSION COMMIT OUT, in the repository's folder.

``THIRD-PARTY.txt`` has each crate that is linked into the command, the C library or the Python module, with its licence
texts; ``rooflut-VERSION.cdx.json`` is a CycloneDX document of the same crates. Macros and build scripts are not linked.
"""

import json
import os
import subprocess
import sys
import tomllib
import uuid
from datetime import UTC, datetime
from pathlib import Path

TARGET = "x86_64-unknown-linux-gnu"
# The released packages, by manifest.
RELEASED = {"Cargo.toml": ["rooflut-cli", "rooflut-c"], "bindings/python/Cargo.toml": ["rooflut-python"]}
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


def linked(manifest: str, roots: list[str]) -> tuple[dict[str, dict], dict[str, list[str]]]:
    """The packages that are linked into ``roots``, and on which each depends, by their ids."""
    command = ["cargo", "metadata", "--locked", "--format-version=1", "--filter-platform", TARGET]
    output = subprocess.run([*command, "--manifest-path", manifest], check=True, capture_output=True).stdout
    metadata = json.loads(output)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}

    def is_macro(package: dict) -> bool:
        return any("proc-macro" in target["kind"] for target in package["targets"])

    found, edges = {}, {}
    waiting = [key for key, package in packages.items() if package["name"] in roots]
    while waiting:
        key = waiting.pop()
        if key in found:
            continue
        found[key] = packages[key]
        normal = (
            dependency["pkg"]
            for dependency in nodes[key]["deps"]
            if any(kind["kind"] is None for kind in dependency["dep_kinds"])
        )
        edges[key] = [other for other in normal if not is_macro(packages[other])]
        waiting.extend(edges[key])
    return found, edges


def accepted(expression: str) -> bool:
    """Whether a licence expression offers licences of ``ACCEPTED``: alternatives (``OR`` or ``/``), joined by ``AND``."""
    parts = (part.strip("() ").replace("/", " OR ").split(" OR ") for part in expression.split(" AND "))
    return all(any(name.strip() in ACCEPTED for name in part) for part in parts)


def texts(package: dict) -> list[str]:
    """The licence texts that a crate has."""
    folder = Path(package["manifest_path"]).parent
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name.lower().startswith(TEXTS))
    return [file.read_text(encoding="utf-8", errors="replace").strip() for file in files]


def main() -> None:
    version, commit, out = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    crates, edges, checksums = {}, {}, {}
    for manifest, roots in RELEASED.items():
        packages, depends = linked(manifest, roots)
        name_of = {key: f"{package['name']} {package['version']}" for key, package in packages.items()}
        crates |= {name_of[key]: package for key, package in packages.items()}
        for key, others in depends.items():
            edges.setdefault(name_of[key], set()).update(name_of[other] for other in others)
        lock = tomllib.loads(Path(manifest).with_name("Cargo.lock").read_text(encoding="utf-8"))
        checksums |= {f"{it['name']} {it['version']}": it.get("checksum") for it in lock["package"]}
    third_party = {name: crates[name] for name in sorted(crates) if crates[name]["source"]}
    refused = [f"{name}: {it['license']}" for name, it in third_party.items() if not accepted(it["license"] or "")]
    if refused:
        sys.exit("licences that are not accepted (ACCEPTED in notices.py): " + "; ".join(refused))

    lines = ["Third-party code in rooflut's command, C library and Python module, with its licences.", ""]
    lines += [f"{name}: {it['license']}, {it['repository'] or it['homepage']}" for name, it in third_party.items()]
    lines += ["The standard library of Rust: MIT OR Apache-2.0, https://github.com/rust-lang/rust", ""]
    users: dict[str, list[str]] = {}
    for name, package in third_party.items():
        # A crate without a text of its own is licensed under the texts of its licence, which others have.
        for text in texts(package):
            users.setdefault(text, []).append(name)
    for text, names in sorted(users.items(), key=lambda pair: pair[1]):
        lines += ["-" * 80, ", ".join(names), "-" * 80, "", text, ""]
    (out / "THIRD-PARTY.txt").write_text("\n".join(lines), encoding="utf-8")

    def reference(name: str) -> str:
        return "pkg:cargo/" + name.replace(" ", "@")

    components = []
    for name in sorted(crates):
        package = crates[name]
        component = {
            "type": "library",
            "bom-ref": reference(name),
            "name": package["name"],
            "version": package["version"],
            "licenses": [{"expression": package["license"].replace("/", " OR ")}],
            "purl": reference(name),
        }
        if checksums.get(name):
            component["hashes"] = [{"alg": "SHA-256", "content": checksums[name]}]
        components.append(component)
    released = {"type": "application", "bom-ref": "rooflut", "name": "rooflut", "version": version}
    time = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), UTC)
    roots = [name for names in RELEASED.values() for name in names]
    top = sorted(reference(name) for name, package in crates.items() if package["name"] in roots)
    depends = {reference(name): sorted(map(reference, others)) for name, others in edges.items()}
    bom = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": uuid.uuid5(uuid.NAMESPACE_URL, commit).urn,
        "version": 1,
        "metadata": {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": released},
        "components": components,
        "dependencies": [{"ref": "rooflut", "dependsOn": top}]
        + [{"ref": name, "dependsOn": others} for name, others in sorted(depends.items())],
    }
    (out / f"rooflut-{version}.cdx.json").write_text(json.dumps(bom, indent=1) + "\n", encoding="utf-8")


main()
