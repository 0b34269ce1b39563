"""Prints the time of a predictor's call and of a run, before and after:

    python speed.py FOLDER

FOLDER keeps Vidur's trained models; an empty one shows the time of training.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from typing import Any, Callable

os.environ["WANDB_MODE"] = "disabled"

import forest
import rooflut_vidur
from runs import VidurRun
from loads import read
from vidur.entities import Batch, Request
from vidur.types import ReplicaId

# Llama-3.1-8B on H100, 20 requests per second.
LOAD = "16-llama-3-1-8b-tp1-general-1"
CALLS = 1000
ROUNDS = 7


def batches(decoding: int, prompt: int) -> list[Batch]:
    """Makes batches anew, because Vidur's predictor remembers what it found out about one."""
    return [_batch(decoding, prompt) for _ in range(CALLS)]


def _batch(decoding: int, prompt: int) -> Batch:
    requests = [Request(0.0, 500 + place, 200) for place in range(decoding)]
    for request in requests:
        request._num_processed_tokens = request.num_prefill_tokens + 1
        request._is_prefill_complete = True
    new = [1] * decoding
    if prompt:
        requests.append(Request(0.0, prompt, 200))
        new.append(prompt)
    kv_tokens = [request.num_processed_tokens + tokens for request, tokens in zip(requests, new)]
    return Batch(ReplicaId(0), requests, new, kv_tokens)


def call_us(predict: Callable[[Batch, int], Any], decoding: int, prompt: int) -> float:
    """Returns the shortest mean time of a call over some rounds."""
    times = []
    for _ in range(ROUNDS):
        made = batches(decoding, prompt)
        start = time.perf_counter()
        for batch in made:
            predict(batch, 0)
        times.append(time.perf_counter() - start)
    return min(times) / CALLS * 1e6


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    logging.disable(logging.ERROR)
    loads, _ = read(60.0)
    (load,) = [load for load in loads if load.server.get("id") == LOAD and load.server["stage"] == "1"]
    forest.register(sys.argv[1], load.sampler)
    before = VidurRun(load)
    rooflut_vidur.register(engine=load.server["engine"], sampler=load.sampler)
    after = VidurRun(load)
    native = before.predictor
    native._native_execution_time_predictor = native._init_native_execution_time_predictor()
    shapes = [(8, 0), (64, 0), (16, 512)]
    print("| | forest | forest in C++ | rooflut |\n| --- | ---: | ---: | ---: |")
    print(f"| start, s | {before.setup_s:.2f} | | {after.setup_s:.3f} |")
    print(f"| {len(load.arrivals)} requests, s | {before.run_s:.2f} | | {after.run_s:.2f} |")
    for decoding, prompt in shapes:
        calls = (
            before.predictor.get_execution_time,
            native.get_execution_time_native,
            after.predictor.get_execution_time,
        )
        cells = [f"{call_us(call, decoding, prompt):.1f}" for call in calls]
        chunk = f" and {prompt} prompt tokens" if prompt else ""
        print(f"| call, {decoding} decoding requests{chunk}, us | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
