"""An array job: the task's number is the shard."""

import re
import shlex
from dataclasses import dataclass

from ..errors import UserError
from ..shard import format_indexes
from .job import ShardedRun


@dataclass(frozen=True)
class Cluster:
    """Settings of the Slurm cluster."""

    name: str
    partition: str | None
    account: str | None
    time: str | None
    cpus: int
    memory: str | None
    #: Further options, as `--sbatch` gives them: `constraint=h200`.
    options: tuple[str, ...]
    #: Lines before the command: modules, an environment.
    setup: tuple[str, ...]


def script(run: ShardedRun, cluster: Cluster) -> str:
    """The script for `sbatch`."""
    run.check()
    for option in ("job-name", "partition", "account", "time", "memory"):
        value = getattr(cluster, option.removeprefix("job-"))
        if value is not None and not re.fullmatch(r"[\w.,:%/=+@-]+", value):
            raise UserError(
                f"--{option} {value}: expected a word as sbatch takes it, without spaces or quotes"
            )
    wanted = {
        "job-name": cluster.name,
        # Some shards are chosen here, or by `sbatch --array=…`, which wins over this line.
        "array": f"{format_indexes(run.indexes)}%{run.parallelism}",
        "output": f"{cluster.name}-%A_%a.log",
        "open-mode": "append",
        "requeue": None,
        "nodes": "1",
        "ntasks": "1",
        "cpus-per-task": str(cluster.cpus),
        "gres": f"gpu:{run.gpus}" if run.gpus else "",
        "partition": cluster.partition or "",
        "account": cluster.account or "",
        "time": cluster.time or "",
        "mem": cluster.memory or "",
    }
    lines = [
        f"#SBATCH --{key}" + (f"={value}" if value else "") for key, value in wanted.items() if value != ""
    ]
    for option in cluster.options:
        if not re.fullmatch(r"[a-z][-a-z]*(=\S+)?", option):
            raise UserError(f"--sbatch {option}: expected an option of sbatch without dashes, like qos=high")
        lines.append(f"#SBATCH --{option}")
    # All numbers of the array are shards: --indexes has no part in it.
    whole = ShardedRun(**{**vars(run), "indexes": tuple(range(run.shards))})
    command = shlex.join(["rooflut-collect", *whole.command("@INDEX@")])
    command = command.replace("@INDEX@", '"$SLURM_ARRAY_TASK_ID"')
    head = f"# rooflut-collect: {run.shards} shards, {len(run.plan.rows)} rows. A task started again goes on."
    return "\n".join(
        [
            "#!/bin/bash",
            head,
            *lines,
            "set -euo pipefail",
            *cluster.setup,
            f"exec srun {command}",
            "",
        ]
    )
