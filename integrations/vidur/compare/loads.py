"""Measured loads that Vidur and rooflut can both represent."""

from __future__ import annotations

import csv
import pathlib
from dataclasses import dataclass

import rooflut

MEASURED = pathlib.Path(__file__).parents[3] / "laboratory" / "validation"

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
class Arrival:
    """A request."""

    at_s: float
    prompt_tokens: int
    cached_prompt_tokens: int
    output_tokens: int


@dataclass(frozen=True)
class Load:
    """Requests to a server, and their mean latencies: measured at the client, or in the server."""

    name: str
    # A row of the file, which describes the server.
    server: dict[str, str]
    sampler: str
    arrivals: list[Arrival]
    measured: dict[str, float]
    at_client: bool

    @property
    def kv_blocks(self) -> int:
        """KV blocks that vLLM reported, or that rooflut plans where none were published."""
        if self.server["kv_blocks"]:
            return self.number("kv_blocks")
        return rooflut.Deployment(
            model=self.server["model"],
            gpu=self.server["gpu"],
            tp=self.number("tp"),
            engine=self.server["engine"],
            max_model_len=self.number("max_model_len"),
            max_num_batched_tokens=self.number("max_num_batched_tokens"),
            gpu_memory_utilization=float(self.server["gpu_memory_utilization"]),
        ).kv_blocks

    def number(self, column: str) -> int:
        return int(self.server[column])


def read(seconds: float) -> tuple[list[Load], dict[str, int]]:
    """Returns the stages, cut to their first seconds, and the replays; and how many rows are left out, by cause."""
    loads: list[Load] = []
    left_out: dict[str, int] = {}
    samplers = {name: model["sampler"] for model in rooflut.models() for name in (model["name"], *model["aliases"])}
    for row in _rows("experiments.csv"):
        if row["gpu"] not in DEVICES:
            cause = f"Vidur has no GPU {row['gpu']}"
        elif row["model"] not in MODELS:
            cause = f"Vidur has no model {row['model']}"
        else:
            loads.append(_stage(row, samplers[row["model"]], seconds))
            continue
        left_out[cause] = left_out.get(cause, 0) + 1
    replays: dict[str, list[dict[str, str]]] = {}
    for row in _rows("requests.csv"):
        replays.setdefault(row["experiment"], []).append(row)
    return loads + [_replay(rows) for rows in replays.values()], left_out


def _rows(file: str) -> list[dict[str, str]]:
    with open(MEASURED / file) as lines:
        return list(csv.DictReader(lines))


def _stage(row: dict[str, str], sampler: str, seconds: float) -> Load:
    """A stage of requests that arrive at a constant rate; vLLM samples as the ``generation_config.json`` says."""
    rate = float(row["rate_rps"])
    lengths = [int(row[column]) for column in ("prompt_tokens", "cached_prompt_tokens", "output_tokens")]
    count = round(rate * min(seconds, float(row["duration_s"])))
    return Load(
        name=f"{_server(row)}, {row['rate_rps']}/s, {row['prompt_tokens']}",
        server=row,
        sampler=sampler,
        arrivals=[Arrival(number / rate, *lengths) for number in range(count)],
        measured={latency: float(row[latency.replace("_ms", "_mean_ms")]) for latency in LATENCIES},
        at_client=True,
    )


def _replay(rows: list[dict[str, str]]) -> Load:
    """A run whose requests are known one by one."""

    def mean(latency: str) -> float:
        # A request of one token has no time per output token.
        known = [float(row[latency]) for row in rows if row[latency]]
        return sum(known) / len(known)

    return Load(
        name=f"{_server(rows[0])}, {len(rows)} requests replayed",
        server=rows[0],
        sampler=rows[0]["sampler"],
        arrivals=[
            Arrival(float(row["arrival_ms"]) / 1e3, int(row["prompt_tokens"]), 0, int(row["output_tokens"]))
            for row in rows
        ],
        measured={latency: mean(latency) for latency in LATENCIES},
        at_client=False,
    )


def _server(row: dict[str, str]) -> str:
    model = row["model"].split("/")[1].removesuffix("-hf").removesuffix("-Instruct")
    return f"{model}, {row['gpu']}, tp {row['tp']}"
