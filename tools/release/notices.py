"""Writes the licences of third-party code and an SBOM: notices.py VERSION COMMIT OUT, in the repository's folder.

``THIRD-PARTY.txt`` has each crate that is linked into the command, the C library or the Python module, with its licence
texts; ``rooflut-VERSION.cdx.json`` is a CycloneDX document of the same crates. Macros and build scripts are not linked.
"""

import json
import os
import sys
import tomllib
import uuid
from datetime import UTC, datetime
from pathlib import Path

from licences import metadata, name_of, notices

TARGET = "x86_64-unknown-linux-gnu"
# The released packages, by manifest.
RELEASED = {"Cargo.toml": ["rooflut-cli", "rooflut-c"], "bindings/python/Cargo.toml": ["rooflut-python"]}


def linked(manifest: str, roots: list[str]) -> tuple[dict[str, dict], dict[str, list[str]]]:
    """The packages that are linked into ``roots``, and on which each depends, by their ids."""
    workspace = metadata(TARGET, manifest)
    packages = {package["id"]: package for package in workspace["packages"]}
    nodes = {node["id"]: node for node in workspace["resolve"]["nodes"]}

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


def main() -> None:
    version, commit, out = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    crates, edges, checksums = {}, {}, {}
    for manifest, roots in RELEASED.items():
        packages, depends = linked(manifest, roots)
        names = {key: name_of(package) for key, package in packages.items()}
        crates |= {names[key]: package for key, package in packages.items()}
        for key, others in depends.items():
            edges.setdefault(names[key], set()).update(names[other] for other in others)
        lock = tomllib.loads(Path(manifest).with_name("Cargo.lock").read_text(encoding="utf-8"))
        checksums |= {f"{it['name']} {it['version']}": it.get("checksum") for it in lock["package"]}
    what = "rooflut's command, C library and Python module"
    (out / "THIRD-PARTY.txt").write_text(notices(what, crates.values()), encoding="utf-8")

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
