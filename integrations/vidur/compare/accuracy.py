"""Prints measured loads beside Vidur alone, Vidur with rooflut, and rooflut's own simulator:

    python accuracy.py FOLDER [SECONDS]

FOLDER keeps Vidur's trained models. Of each stage of constant load the first SECONDS of arrivals are simulated, 120 by default.
"""

from __future__ import annotations

import logging
import os
import sys

os.environ["WANDB_MODE"] = "disabled"

import forest
import rooflut_vidur
from runs import VidurRun, of_rooflut
from loads import LATENCIES, Load, read

COLUMNS = ("measured", "Vidur, forest", "Vidur, rooflut", "rooflut")


def simulate(load: Load, folder: str) -> dict[str, dict[str, float]]:
    """Returns the mean latencies of a load by column."""
    # Vidur names its models after the dataset, which is the same for all replicas here.
    replica = "-".join([load.server["model"].split("/")[1], load.server["gpu"], load.server["tp"]])
    forest.register(os.path.join(folder, replica), load.sampler)
    alone = VidurRun(load).latencies()
    rooflut_vidur.register(engine=load.server["engine"], sampler=load.sampler)
    with_rooflut = VidurRun(load).latencies()
    return dict(zip(COLUMNS, (load.measured, alone, with_rooflut, of_rooflut(load))))


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    logging.disable(logging.ERROR)
    loads, left_out = read(float(sys.argv[2]) if len(sys.argv) > 2 else 120.0)
    errors: dict[tuple[str, str], list[float]] = {}
    compared = 0
    print("Mean TTFT, TPOT and E2E in ms:\n")
    print(f"| model, GPU, tp, requests/s, prompt tokens | {' | '.join(COLUMNS)} |")
    print("| --- |" + " ---: |" * len(COLUMNS))
    for load in loads:
        try:
            found = simulate(load, sys.argv[1])
        except AssertionError:
            cause = "Vidur ends with a failed assertion where it preempts requests"
            left_out[cause] = left_out.get(cause, 0) + len(load.arrivals)
            continue
        compared += 1
        cells = ["{ttft_ms:.0f}, {tpot_ms:.2f}, {e2e_ms:.0f}".format(**found[column]) for column in COLUMNS]
        print(f"| {load.name} | {' | '.join(cells)} |", flush=True)
        for column in COLUMNS[1:]:
            for latency in LATENCIES:
                error = abs(found[column][latency] / found["measured"][latency] - 1.0)
                errors.setdefault((column, latency), []).append(error)
    print(f"\n| mean absolute error of {compared} loads | TTFT | TPOT | E2E |\n| --- | ---: | ---: | ---: |")
    for column in COLUMNS[1:]:
        means = [sum(each) / len(each) for each in (errors[column, latency] for latency in LATENCIES)]
        print(f"| {column} | {' | '.join(f'{100 * mean:.1f} %' for mean in means)} |")
    print("\nLeft out of the measured stages and requests:")
    for cause, rows in sorted(left_out.items()):
        print(f"- {cause}: {rows} rows")


if __name__ == "__main__":
    main()
