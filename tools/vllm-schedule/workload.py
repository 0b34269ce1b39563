"""A workload for both sides: rows of rooflut's own trace format, and the flags of the server."""

import csv
import json
import os
import subprocess
from dataclasses import dataclass, field
from functools import cache

COLUMNS = (
    "arrival_ms",
    "prompt_tokens",
    "output_tokens",
    "priority",
    "prefix_id",
    "prefix_tokens",
    "session_id",
)


@dataclass
class Layers:
    """Layers of a hybrid model, limited ones with a window, chunks or a state, or layers with latent attention,
    also with an indexer, which has a cache of its own."""

    full: int
    limited: int = 0
    window: int = 0
    chunk: int = 0
    limited_first: bool = True
    latent: bool = False
    indexer: bool = False

    @property
    def kinds(self):
        """The kind of each layer, in order."""
        full = ["latent_attention" if self.latent else "full_attention"] * self.full
        full += ["indexer"] * (self.full if self.indexer else 0)
        kind = "chunked_attention" if self.chunk else "sliding_attention" if self.window else "linear_attention"
        limited = [kind] * self.limited
        return limited + full if self.limited_first else full + limited

    @property
    def has_states(self):
        """Whether the limited layers keep a state."""
        return self.limited > 0 and not (self.chunk or self.window)

    def config(self):
        """A `config.json` with these layers."""
        if self.latent:
            indexer = dict(index_n_heads=64, index_head_dim=128, index_topk=2048) if self.indexer else {}
            return dict(
                model_type="deepseek_v32" if self.indexer else "deepseek_v3",
                hidden_size=7168,
                intermediate_size=18432,
                num_attention_heads=128,
                q_lora_rank=1536,
                kv_lora_rank=512,
                qk_nope_head_dim=128,
                qk_rope_head_dim=64,
                v_head_dim=128,
                n_routed_experts=256,
                num_experts_per_tok=8,
                first_k_dense_replace=self.full,
                num_hidden_layers=self.full,
                vocab_size=129280,
                max_position_embeddings=163840,
                **indexer,
                num_nextn_predict_layers=1,
            )
        limits = {"attention_chunk_size": self.chunk} if self.chunk else {"sliding_window": self.window}
        if self.has_states:
            # A state fits into a block of 16 tokens.
            limits = dict(
                linear_num_key_heads=1,
                linear_num_value_heads=1,
                linear_key_head_dim=128,
                linear_value_head_dim=128,
            )
        return dict(
            model_type="qwen3_5_text" if self.has_states else "mistral",
            hidden_size=4096,
            intermediate_size=14336,
            num_attention_heads=32,
            num_key_value_heads=16 if self.has_states else 8,
            head_dim=128,
            num_hidden_layers=len(self.kinds),
            vocab_size=32768,
            max_position_embeddings=131072,
            layer_types=self.kinds,
            num_nextn_predict_layers=1,
            **limits,
        )

    def blocks(self, groups, tokens, block_size, in_flight):
        """Blocks that a request of `tokens` holds at most, in groups of each kind."""
        full, limited = groups
        blocks = -(-tokens // block_size)
        if self.has_states:
            return full * blocks + limited
        most = -(-((self.chunk or self.window) + in_flight) // block_size) + 1
        return full * blocks + limited * min(blocks, most)


@dataclass
class Workload:
    """Requests and limits of a server."""

    rows: list  # dicts with some of COLUMNS
    seqs: int = 128
    budget: int = 2048
    threshold: int = 0  # long_prefill_token_threshold; 0 for none
    model_len: int = 131072
    blocks: int = 20_000
    block_size: int = 16
    policy: str = "fcfs"
    caching: bool = True
    watermark: float = 0.0
    reserve_full_isl: bool = True  # scheduler_reserve_full_isl; older versions do as if it were off
    asynchronous: bool = True
    extra: dict = field(default_factory=dict)  # vLLM settings that rooflut lacks
    spec: dict | None = None
    stages: int = 1  # pipeline_parallel_size
    layers: Layers | None = None

    @property
    def has_draft_model(self):
        """Whether a model or a layer of one drafts tokens."""
        return self.spec is not None and self.spec["model"] != "ngram"

    @property
    def has_mtp(self):
        """Whether a layer of the model drafts tokens."""
        return self.spec is not None and self.spec["model"] == "mtp"

    @property
    def max_model_len(self):
        """The longest request: one must fit into the KV cache."""
        return min(self.model_len, self.block_size * self.blocks)

    def with_rows(self, rows):
        """Returns the workload with other requests."""
        return Workload(**{**self.__dict__, "rows": rows})

    def plain(self):
        """Returns the workload on a server that every version has: synchronous, without drafts."""
        return Workload(**{**self.__dict__, "asynchronous": False, "spec": None})

    def describe(self):
        """The workload as JSON."""
        flags = {name: value for name, value in self.__dict__.items() if name != "rows"}
        return json.dumps({"rows": self.rows, **flags}, default=vars)


class Rooflut:
    """The result of rooflut for a workload."""

    def __init__(self, binary, workload, folder, engine=None):
        os.makedirs(folder, exist_ok=True)
        trace, steps, requests = (f"{folder}/{name}.csv" for name in ("trace", "steps", "requests"))
        with open(trace, "w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, restval="")
            writer.writeheader()
            for row in workload.rows:
                row = dict(row)
                row.setdefault("priority", 0)
                writer.writerow(row)
        command = [
            binary,
            "run",
            "--trace",
            trace,
            "--trace-format",
            "rooflut",
            "--steps-out",
            steps,
            "--requests-out",
            requests,
            "--json",
            "--max-num-seqs",
            workload.seqs,
            "--max-num-batched-tokens",
            workload.budget,
            "--max-model-len",
            # rooflut asks for a KV cache that holds the longest request, as vLLM 0.33 does.
            workload.max_model_len,
            "--kv-blocks",
            workload.blocks,
            "--block-size",
            workload.block_size,
            "--policy",
            workload.policy,
            "--prefix-caching",
            "on" if workload.caching else "off",
            "--watermark",
            workload.watermark,
            "--scheduling",
            # Batches of a pipeline wait for the tokens before them with either scheduler.
            "async" if workload.asynchronous and workload.stages == 1 else "sync",
            "--pp",
            workload.stages,
        ]
        if not workload.reserve_full_isl:
            command += ["--scheduler-reserve-full-isl=false"]
        if workload.layers:
            with open(f"{folder}/config.json", "w") as file:
                json.dump(workload.layers.config(), file)
            command += ["--model", f"{folder}/config.json"]
        if workload.threshold:
            command += ["--long-prefill-token-threshold", workload.threshold]
        if workload.spec:
            command += [
                "--draft-tokens",
                workload.spec["tokens"],
                "--acceptance",
                workload.spec["acceptance"],
                "--draft-model",
                workload.spec["model"],
            ]
        if engine:
            command += ["--engine", engine]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        with open(steps) as file:
            self.steps = [Step(row) for row in csv.DictReader(file)]
        with open(requests) as file:
            self.requests = list(csv.DictReader(file))


@cache
def api_times(binary, engine):
    """Nanoseconds of the API server per request, per token of a prompt, and per output of a step, of a stack of rooflut."""
    done = subprocess.run([binary, "engines", "--json"], capture_output=True, text=True, check=True)
    (stack,) = (stack for stack in json.loads(done.stdout)["engines"] if stack["name"] == engine)
    units = {"ms": 1e6, "us": 1e3}
    constants = {constant["name"]: constant for constant in stack["constants"]}
    times = (constants[name] for name in ("api_server", "api_token", "api_output"))
    return tuple(round(time["value"] * units[time["unit"]]) for time in times)


def ns(text):
    """Nanoseconds of a decimal number of milliseconds."""
    whole, _, part = text.partition(".")
    return int(whole) * 1_000_000 + int((part + "000000")[:6])


class Step:
    """A step of rooflut: a row of steps.csv."""

    def __init__(self, row):
        self.start = ns(row["start_ms"])
        self.duration = ns(row["duration_ms"])

        def get(name):
            return int(row[name])

        self.key = (get("prefill_chunks"), get("prefill_tokens"), get("decode_requests"), get("kv_tokens"))
        self.preempted = get("preempted")
        self.state = (get("running"), get("waiting"), get("kv_blocks_used"))
