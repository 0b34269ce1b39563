"""The parts of a manifest that every cluster shares."""

from dataclasses import dataclass

from ..errors import UserError
from ..plan import Plan
from ..shard import format_indexes


@dataclass(frozen=True)
class ShardedRun:
    """A plan, split into shards."""

    plan: Plan
    #: The arguments of `rooflut-collect run`, without `--shard` and `--out`.
    arguments: tuple[str, ...]
    shards: int
    #: The shards to run: all, or those of `--indexes`.
    indexes: tuple[int, ...]
    out: str
    gpus: int
    parallelism: int

    def check(self) -> None:
        """Refuses what no job of this run can do."""
        if self.shards > len(self.plan.rows):
            raise UserError(
                f"--shards {self.shards}: the plan has {len(self.plan.rows)} rows, a shard has at least one"
            )
        ranks = self.plan.most_ranks()
        if ranks > max(self.gpus, 1) and self.gpus:
            raise UserError(
                f"the plan has all-reduces of up to {ranks} ranks, a job has {self.gpus} GPU(s): write one "
                f"manifest with --skip allreduce, and another with --only allreduce --gpus {ranks}; "
                "`rooflut-collect merge` joins both folders"
            )

    @property
    def whole(self) -> bool:
        """Whether all shards run."""
        return len(self.indexes) == self.shards

    def command(self, index: str) -> list[str]:
        """The command of a job; `index` is what the cluster replaces by its number."""
        some = [] if self.whole else ["--indexes", format_indexes(self.indexes)]
        return [
            "run",
            *self.arguments,
            "--shard",
            f"{index}/{self.shards}",
            *some,
            "--out",
            self.out,
        ]
