"""An Indexed Job: the completion index is the shard."""

import posixpath
import re
import zlib
from dataclasses import dataclass

from ..errors import UserError
from .job import ShardedRun
from .yaml import dump

#: Where the volume is mounted; `--out` of the jobs is a folder in it.
MOUNT = "/results"
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_NAME = r"[a-z0-9]([-a-z0-9]{0,45}[a-z0-9])?"


@dataclass(frozen=True)
class Cluster:
    """Settings of the Kubernetes cluster."""

    name: str
    #: What tells this job from others of that name, see [`suffix`]; empty for the first of them.
    suffix: str
    image: str
    claim: str
    namespace: str | None
    gpu_resource: str
    node_selector: tuple[str, ...]
    tolerations: tuple[str, ...]
    backoff: int
    cpus: str
    memory: str
    openshift: bool


def out_in_volume(folder: str) -> str:
    """Where a folder of the results is in a pod."""
    path = posixpath.normpath(folder)
    if path.startswith(("/", "..")):
        raise UserError(f"--out {folder}: expected a folder in the volume, like h200")
    return posixpath.join(MOUNT, path)


def suffix(run: ShardedRun) -> str:
    """Equal for equal commands and different for others, because a Job cannot be changed later."""
    return f"-{zlib.crc32(repr(run.command('')).encode()) & 0xFFFFFF:06x}"


def manifest(run: ShardedRun, cluster: Cluster) -> str:
    """The YAML of the Job."""
    run.check()
    if not re.fullmatch(_NAME, cluster.name):
        raise UserError(
            f"--job-name {cluster.name}: expected lower-case letters, digits and hyphens, at most 47"
        )
    metadata = {"name": cluster.name + cluster.suffix, "labels": {"app": "rooflut-collect"}}
    if cluster.namespace:
        metadata["namespace"] = cluster.namespace
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {
            "completionMode": "Indexed",
            "completions": len(run.indexes),
            "parallelism": min(run.parallelism, len(run.indexes)),
            "backoffLimitPerIndex": cluster.backoff,
            "maxFailedIndexes": len(run.indexes),
            # A pod that is evicted or whose node goes away has not failed: it does not count.
            "podFailurePolicy": {
                "rules": [
                    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
                ]
            },
            "template": {
                "metadata": {"labels": {"app": "rooflut-collect"}},
                "spec": _pod(run, cluster),
            },
        },
    }
    count = f"{len(run.indexes)} of {run.shards} shards, {len(run.plan.rows)} rows in all"
    return f"# rooflut-collect: {count}. A pod that is started again goes on where it stopped.\n{dump(job)}\n"


def _pod(run: ShardedRun, cluster: Cluster) -> dict:
    pod: dict = {"restartPolicy": "Never", "automountServiceAccountToken": False}
    pod["securityContext"] = {"seccompProfile": {"type": "RuntimeDefault"}}
    if cluster.openshift:
        # User and group come from the project's range.
        pod["securityContext"]["runAsNonRoot"] = True
    if cluster.node_selector:
        pod["nodeSelector"] = dict(_pair("--node-selector", text) for text in cluster.node_selector)
    if cluster.tolerations:
        pod["tolerations"] = [_toleration(text) for text in cluster.tolerations]
    pod["containers"] = [_container(run, cluster)]
    pod["volumes"] = [
        {"name": "results", "persistentVolumeClaim": {"claimName": cluster.claim}},
        {"name": "scratch", "emptyDir": {}},
        # NCCL's processes share memory; the default of 64 MiB is too little.
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "2Gi"}},
    ]
    return pod


def _container(run: ShardedRun, cluster: Cluster) -> dict:
    resources = {"cpu": cluster.cpus, "memory": cluster.memory}
    limits = {"memory": cluster.memory}
    if run.gpus:
        limits[cluster.gpu_resource] = run.gpus
    security: dict = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    return {
        "name": "collect",
        "image": cluster.image,
        "command": ["rooflut-collect"],
        "args": run.command("$(JOB_COMPLETION_INDEX)"),
        # Libraries compile kernels into their caches; the user of a pod may have no home.
        "env": [
            {"name": "HOME", "value": "/scratch"},
            {"name": "TRITON_CACHE_DIR", "value": "/scratch/triton"},
        ],
        "resources": {"requests": resources, "limits": limits},
        "securityContext": security,
        "volumeMounts": [
            {"name": "results", "mountPath": MOUNT},
            {"name": "scratch", "mountPath": "/scratch"},
            {"name": "shm", "mountPath": "/dev/shm"},
        ],
    }


def _pair(option: str, text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise UserError(f"{option} {text}: expected KEY=VALUE")
    return key, value


def _toleration(text: str) -> dict:
    """`KEY=VALUE:EFFECT`, `KEY:EFFECT`, `KEY=VALUE` or `KEY`."""
    pair, _, effect = text.partition(":")
    key, equals, value = pair.partition("=")
    if not key or (effect and effect not in _EFFECTS) or text.endswith(":"):
        raise UserError(
            f"--toleration {text}: expected KEY=VALUE:EFFECT or KEY:EFFECT, with an effect of "
            f"{', '.join(_EFFECTS)}"
        )
    toleration = {"key": key, "operator": "Equal" if equals else "Exists"}
    if equals:
        toleration["value"] = value
    if effect:
        toleration["effect"] = effect
    return toleration
