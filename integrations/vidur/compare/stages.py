"""Measured load stages that Vidur and rooflut can both represent."""

from __future__ import annotations

import csv
import pathlib
from dataclasses import dataclass

import rooflut

MEASURED = pathlib.Path(__file__).parents[3] / "crates" / "validation" / "experiments.csv"

# Names of Vidur; Llama 3 and 3.1 have the same layers.
MODELS = {
    "meta-llama/Llama-2-7b-hf": "meta-llama/Llama-2-7b-hf",
    "meta-llama/Llama-2-70b-hf": "meta-llama/Llama-2-70b-hf",
    "meta-llama/Llama-3.1-8B-Instruct": "meta-llama/Llama-3-8B",
    "meta-llama/Llama-3.1-70B-Instruct": "meta-llama/Llama-3-70B",
    "codellama/CodeLlama-34b-Instruct-hf": "codellama/CodeLlama-34b-Instruct-hf",
}
DEVICES = ("a100", "h100")
LATENCIES = ("ttft_ms", "tpot_ms", "e2e_ms")


@dataclass(frozen=True)
class Stage:
    """A stage of requests that arrive at a constant rate."""

    row: dict[str, str]
    seconds: float

    @property
    def name(self) -> str:
        model = self.row["model"].split("/")[1].removesuffix("-hf").removesuffix("-Instruct")
        return f"{model}, {self.row['gpu']}, tp {self.row['tp']}, {self.row['rate_rps']}/s, {self.row['prompt_tokens']}"

    @property
    def arrivals_s(self) -> list[float]:
        rate = float(self.row["rate_rps"])
        return [number / rate for number in range(round(rate * self.seconds))]

    @property
    def measured(self) -> dict[str, float]:
        return {latency: float(self.row[latency.replace("_ms", "_mean_ms")]) for latency in LATENCIES}

    @property
    def sampler(self) -> str:
        """How vLLM samples by default, from the model's ``generation_config.json``."""
        names = {name: model for model in rooflut.models() for name in (model["name"], *model["aliases"])}
        return str(names[self.row["model"]]["sampler"])

    @property
    def kv_blocks(self) -> int:
        """Those that vLLM reported, or those that rooflut plans where none were published."""
        if self.row["kv_blocks"]:
            return self.number("kv_blocks")
        return rooflut.Deployment(
            model=self.row["model"],
            gpu=self.row["gpu"],
            tp=self.number("tp"),
            engine=self.row["engine"],
            max_model_len=self.number("max_model_len"),
            max_num_batched_tokens=self.number("max_num_batched_tokens"),
            gpu_memory_utilization=float(self.row["gpu_memory_utilization"]),
        ).kv_blocks

    def number(self, column: str) -> int:
        return int(self.row[column])


def read(seconds: float) -> tuple[list[Stage], dict[str, int]]:
    """Returns the stages, cut to their first seconds, and how many rows are left out, by cause."""
    stages: list[Stage] = []
    left_out: dict[str, int] = {}
    with open(MEASURED) as file:
        for row in csv.DictReader(file):
            if row["gpu"] not in DEVICES:
                cause = f"Vidur has no GPU {row['gpu']}"
            elif row["model"] not in MODELS:
                cause = f"Vidur has no model {row['model']}"
            else:
                stages.append(Stage(row, min(seconds, float(row["duration_s"]))))
                continue
            left_out[cause] = left_out.get(cause, 0) + 1
    return stages, left_out
