"""`rooflut-collect manifest`: what a cluster needs to run all shards."""

import argparse

from .. import plan, shard
from ..manifest import kubernetes, slurm
from ..manifest.job import ShardedRun
from . import options


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments."""
    systems = parser.add_subparsers(dest="system", required=True, metavar="SYSTEM")
    job = systems.add_parser("kubernetes", help="an Indexed Job (for OpenShift too)")
    _add_common(job)
    job.add_argument(
        "--image",
        required=True,
        help="container image with rooflut-collect and the engine's kernels",
    )
    job.add_argument(
        "--claim",
        required=True,
        metavar="PVC",
        help="persistent volume claim for the results, shared by all pods",
    )
    job.add_argument("--namespace")
    job.add_argument("--gpu-resource", default="nvidia.com/gpu", help="default: nvidia.com/gpu")
    job.add_argument("--node-selector", action="append", default=[], metavar="KEY=VALUE")
    job.add_argument("--toleration", action="append", default=[], metavar="KEY[=VALUE][:EFFECT]")
    job.add_argument(
        "--backoff",
        type=options.natural,
        default=3,
        help="times that a shard is started again (default: 3)",
    )
    job.add_argument("--cpus", default="4", help="CPUs of a pod (default: 4)")
    job.add_argument("--memory", default="32Gi", help="memory of a pod (default: 32Gi)")
    job.add_argument(
        "--openshift", action="store_true", help="with the security context that OpenShift asks for"
    )
    array = systems.add_parser("slurm", help="an array job")
    _add_common(array)
    array.add_argument("--partition")
    array.add_argument("--account")
    array.add_argument("--time", help="longest time of a shard, as sbatch takes it")
    array.add_argument("--cpus", type=options.count, default=4, help="CPUs of a task (default: 4)")
    array.add_argument("--memory", help="memory of a task, as sbatch takes it")
    array.add_argument(
        "--sbatch",
        action="append",
        default=[],
        metavar="OPTION",
        help="another option of sbatch, without dashes: constraint=h200",
    )
    array.add_argument(
        "--setup",
        action="append",
        default=[],
        metavar="LINE",
        help="a line of the script before the command: module load cuda",
    )


def _add_common(parser: argparse.ArgumentParser) -> None:
    options.add_plan(parser)
    parser.add_argument(
        "--shards",
        type=options.count,
        required=True,
        metavar="N",
        help="jobs that the plan is split into",
    )
    parser.add_argument("--indexes", metavar="LIST", help="only these shards: 3,7,9-12")
    parser.add_argument("--parallelism", type=options.count, metavar="P", help="jobs at once (default: all)")
    parser.add_argument(
        "--gpus", type=options.natural, metavar="G", help="GPUs of a job (default: 1; 0 with --device cpu)"
    )
    parser.add_argument(
        "--job-name",
        default="rooflut-collect",
        help="kubernetes: with --indexes, --only, --skip or --run a few letters are added "
        "(default: rooflut-collect)",
    )
    parser.add_argument(
        "--out",
        default="collected",
        metavar="FOLDER",
        help="folder of the results; kubernetes: in the volume (default: collected)",
    )
    parser.add_argument(
        "--run",
        action="append",
        default=[],
        metavar="ARGUMENT",
        help="another argument of `rooflut-collect run`: --run=--retry",
    )


def execute(arguments: argparse.Namespace) -> int:
    """Prints the manifest."""
    spec = options.plan_spec(arguments)
    gpus = arguments.gpus
    if gpus is None:
        gpus = 0 if arguments.device == "cpu" else 1
    words = [*spec.arguments(), "--device", arguments.device, *arguments.run]
    count = arguments.shards
    indexes = shard.parse_indexes(arguments.indexes, count) if arguments.indexes else range(count)
    is_kubernetes = arguments.system == "kubernetes"
    run = ShardedRun(
        plan=plan.build(spec),
        arguments=tuple(words),
        shards=count,
        indexes=tuple(indexes),
        out=kubernetes.out_in_volume(arguments.out) if is_kubernetes else arguments.out,
        gpus=gpus,
        parallelism=arguments.parallelism or count,
    )
    print(_kubernetes(arguments, run) if is_kubernetes else _slurm(arguments, run), end="")
    return 0


def _kubernetes(arguments: argparse.Namespace, run: ShardedRun) -> str:
    part = arguments.indexes or arguments.only or arguments.skip or arguments.run
    cluster = kubernetes.Cluster(
        name=arguments.job_name,
        suffix=kubernetes.suffix(run) if part else "",
        image=arguments.image,
        claim=arguments.claim,
        namespace=arguments.namespace,
        gpu_resource=arguments.gpu_resource,
        node_selector=tuple(arguments.node_selector),
        tolerations=tuple(arguments.toleration),
        backoff=arguments.backoff,
        cpus=arguments.cpus,
        memory=arguments.memory,
        openshift=arguments.openshift,
    )
    return kubernetes.manifest(run, cluster)


def _slurm(arguments: argparse.Namespace, run: ShardedRun) -> str:
    cluster = slurm.Cluster(
        name=arguments.job_name,
        partition=arguments.partition,
        account=arguments.account,
        time=arguments.time,
        cpus=arguments.cpus,
        memory=arguments.memory,
        options=tuple(arguments.sbatch),
        setup=tuple(arguments.setup),
    )
    return slurm.script(run, cluster)
