"""Prints measured load stages beside Vidur alone, Vidur with rooflut, and rooflut's own simulator:

    python accuracy.py FOLDER [SECONDS]

FOLDER keeps Vidur's trained models. Of each stage the first SECONDS of arrivals are simulated, 120 by default.
"""

from __future__ import annotations

import logging
import os
import sys

os.environ["WANDB_MODE"] = "disabled"

import forest
import rooflut_vidur
from runs import VidurRun, of_rooflut
from stages import LATENCIES, Stage, read

COLUMNS = ("measured", "Vidur, forest", "Vidur, rooflut", "rooflut")


def simulate(stage: Stage, folder: str) -> dict[str, dict[str, float]]:
    """Returns the mean latencies of a stage by column."""
    # Vidur names its models after the dataset, which is the same for all replicas here.
    replica = "-".join([stage.row["model"].split("/")[1], stage.row["gpu"], stage.row["tp"]])
    forest.register(os.path.join(folder, replica), stage.sampler)
    alone = VidurRun(stage).latencies(stage)
    rooflut_vidur.register(engine=stage.row["engine"], sampler=stage.sampler)
    with_rooflut = VidurRun(stage).latencies(stage)
    return dict(zip(COLUMNS, (stage.measured, alone, with_rooflut, of_rooflut(stage))))


def main() -> None:
    logging.disable(logging.ERROR)
    stages, left_out = read(float(sys.argv[2]) if len(sys.argv) > 2 else 120.0)
    errors: dict[tuple[str, str], list[float]] = {}
    print("Mean TTFT, TPOT and E2E in ms:\n")
    print(f"| model, GPU, tp, requests/s, prompt tokens | {' | '.join(COLUMNS)} |")
    print("| --- |" + " ---: |" * len(COLUMNS))
    for stage in stages:
        found = simulate(stage, sys.argv[1])
        cells = ["{ttft_ms:.0f}, {tpot_ms:.2f}, {e2e_ms:.0f}".format(**found[column]) for column in COLUMNS]
        print(f"| {stage.name} | {' | '.join(cells)} |", flush=True)
        for column in COLUMNS[1:]:
            for latency in LATENCIES:
                error = abs(found[column][latency] / found["measured"][latency] - 1.0)
                errors.setdefault((column, latency), []).append(error)
    print(f"\n| mean absolute error of {len(stages)} stages | TTFT | TPOT | E2E |\n| --- | ---: | ---: | ---: |")
    for column in COLUMNS[1:]:
        means = [sum(each) / len(each) for each in (errors[column, latency] for latency in LATENCIES)]
        print(f"| {column} | {' | '.join(f'{100 * mean:.1f} %' for mean in means)} |")
    print("\nLeft out of experiments.csv:")
    for cause, rows in sorted(left_out.items()):
        print(f"- {cause}: {rows} rows")


if __name__ == "__main__":
    main()
