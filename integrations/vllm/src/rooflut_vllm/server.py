"""A server of rooflut whose steps vLLM schedules."""

import importlib
import json

import rooflut

from .drafts import acceptance
from .engine import Engine
from .model import layers_of
from .report import Figures, request_columns, step_columns
from .requests import read
from .settings import Settings, Speculation
from .text import at_engine
from .version import Vllm, VllmError, load

#: A request for which rooflut resolves the settings of a server; it has all columns that settings are for.
PROBE = dict(
    arrival_ms=[0.0],
    prompt_tokens=[1],
    output_tokens=[1],
    priority=[0],
    prefix_id=[0],
    prefix_tokens=[0],
    session_id=[0],
)

#: Settings of vLLM that are keys of a server, under the same name or another.
SAME_KEYS = ("max_num_seqs", "max_num_batched_tokens", "max_model_len", "long_prefill_token_threshold", "policy")
SAME_KEYS += ("scheduler_cls", "scheduler_reserve_full_isl", "watermark", "block_size", "gpu_memory_utilization")
KEYS = {name: name for name in SAME_KEYS} | {
    "async_scheduling": "scheduling",
    "cache_dtype": "kv_dtype",
    "enable_prefix_caching": "prefix_caching",
    "num_gpu_blocks": "kv_blocks",
    "num_gpu_blocks_override": "kv_blocks",
}


class Server:
    """A model on GPUs, served by vLLM's scheduler at the speed that rooflut predicts.

    The keys are those of `rooflut.Deployment`: `model`, `gpu`, `tp`, `max_num_seqs`, `policy`, `prefix_caching` and so
    on. `scheduler_cls` is a subclass of vLLM's `Scheduler` or `AsyncScheduler`, or its qualified name, as in
    `--scheduler-cls`; it can read the time from `self.clock()`, in seconds. `vllm` is what `load` takes. `settings`
    has settings of vLLM that rooflut lacks: `{"scheduler_config.prefill_schedule_interval": 2}`.
    """

    def __init__(self, *, vllm=None, scheduler_cls=None, settings=None, **keys):
        self.vllm = vllm if isinstance(vllm, Vllm) else load(vllm)
        engine = f"vllm-{self.vllm.version}"
        if keys.setdefault("engine", engine) != engine:
            raise VllmError(f"engine: expected {engine}, whose scheduler is loaded, found {keys['engine']!r}")
        scheduler_cls = class_of(self.vllm, scheduler_cls)
        if scheduler_cls:
            is_ahead = issubclass(scheduler_cls, self.vllm.AsyncScheduler)
            keys.setdefault("scheduling", "async" if is_ahead else "sync")
        self.deployment = rooflut.Deployment(**keys)
        self._resolved = rooflut.simulate(trace=PROBE, **keys)
        check_supported(self.vllm, self._resolved)
        self._layers = layers_of(self._resolved["model"], keys.get("model", ""))
        if scheduler_cls and (self._resolved["scheduling"] == "async") != is_ahead:
            base = "Scheduler" if is_ahead else "AsyncScheduler"
            scheduling = self._resolved["scheduling"]
            raise VllmError(
                f"scheduler_cls: the server schedules {scheduling}; derive {scheduler_cls.__name__} from {base}"
            )
        self._settings = self._settings_of(scheduler_cls, settings or {})
        self._api_ns = api_times(engine)

    def serve(self, requests, max_steps=None):
        """Serves requests and returns a `rooflut.Report` with the frames `requests` and `steps`.

        `requests` is a dictionary of arrays, a table of pandas, polars or Arrow, or a list of dictionaries, with
        `prompt_tokens` and `output_tokens`, and optionally `arrival_ms` or `arrival_ns`, `priority`, `prefix_id` with
        `prefix_tokens`, `session_id`, or `prompt_token_ids` in place of `prompt_tokens`. The fields of the report are
        those of `rooflut.simulate`; sources and parts of step times are not counted and are None. A run of more than
        `max_steps` steps is an error.
        """
        if max_steps is not None and not (isinstance(max_steps, int) and max_steps > 0):
            raise VllmError(f"max_steps: expected a whole number from 1, found {max_steps!r}; leave it out for none")
        requests = read(requests)
        engine = Engine(self.vllm, self._settings, self._duration)
        api_server_ns, api_token_ns, api_output_ns = self._api_ns
        at_engine_ns = at_engine(requests.arrival_ns, requests.prompt_tokens, api_server_ns, api_token_ns)
        outputs = [
            self.vllm.admitted_tokens(*tokens, self._settings.max_model_len)
            for tokens in zip(requests.prompt_tokens, requests.output_tokens)
        ]
        order = sorted(range(len(requests)), key=at_engine_ns.__getitem__)
        arrivals = [
            (at_engine_ns[row], arrival(requests, row, outputs[row], at_engine_ns[row] / 1e9 + place * 1e-9))
            for place, row in enumerate(order)
            if outputs[row] is not None
        ]
        if not engine.serve(arrivals, max_steps):
            raise VllmError(unserved(engine, max_steps))
        rows = request_columns(engine, requests, outputs, at_engine_ns, api_output_ns)
        steps = step_columns(engine)
        truncated = sum(output is not None and output < given for output, given in zip(outputs, requests.output_tokens))
        fields = Figures(engine, rows, steps, truncated).report(self._resolved)
        return rooflut.Report(json.dumps(fields, indent=2) + "\n", rooflut.Frame(rows), rooflut.Frame(steps))

    def _settings_of(self, scheduler_cls, extra):
        resolved = self._resolved
        check_settings(self.vllm, extra)
        speculation, kinds = resolved["speculation"], self._layers.kinds
        if self.vllm.release < (0, 15):
            # It keeps the KV entries of chunks as those of full attention.
            kinds = [kind.replace("chunked", "full") for kind in kinds]
        return Settings(
            max_num_seqs=resolved["max_num_seqs"],
            max_num_batched_tokens=resolved["max_num_batched_tokens"],
            max_model_len=resolved["max_model_len"],
            kv_blocks=resolved["kv_blocks"],
            block_size=resolved["block_size"],
            long_prefill_token_threshold=resolved["long_prefill_token_threshold"] or 0,
            policy=resolved["policy"],
            prefix_caching=resolved["prefix_caching"] == "on",
            watermark=resolved["watermark"],
            reserve_full_isl=resolved["scheduler_reserve_full_isl"],
            asynchronous=resolved["scheduling"] == "async",
            speculation=speculation
            and Speculation(
                speculation["draft_tokens"],
                acceptance(speculation["draft_tokens"], speculation["acceptance"], speculation["seed"]),
            ),
            layers=kinds,
            window=self._layers.window,
            chunk=self._layers.chunk,
            scheduler_cls=scheduler_cls,
            extra=extra,
        )

    def _duration(self, _, step):
        """The time of a step in nanoseconds."""
        batch = {}
        if step.chunks:
            _, new, kv_len, is_last = zip(*step.chunks)
            batch.update(
                prefill_tokens=new,
                prefill_kv_len=kv_len,
                prefill_last=[int(last) for last in is_last],
                prefill_offsets=[0, len(new)],
            )
        if step.decodes:
            groups = {}  # by drafted tokens
            for _, new, kv_len in step.decodes:
                requests, kv_tokens, outside = groups.get(new - 1, (0, 0, 0))
                outside += self._layers.outside(kv_len - new)
                groups[new - 1] = (requests + 1, kv_tokens + kv_len, outside)
            requests, kv_tokens, outside = zip(*groups.values())
            batch.update(
                decode_requests=requests,
                decode_kv_tokens=kv_tokens,
                decode_drafted=list(groups),
                decode_outside_tokens=outside,
                decode_offsets=[0, len(groups)],
            )
        # A step takes at least a nanosecond, as in rooflut's server.
        return max(int(self.deployment.step_times_ns(**batch)[0]), 1)


def arrival(requests, row, output_tokens, arrival_s):
    """Returns a function that adds a request to an engine."""

    def add(engine):
        text, priority = requests.texts[row], requests.priority[row]
        engine.add(str(row), requests.prompt_tokens[row], output_tokens, text, priority, arrival_s)

    return add


def class_of(vllm, scheduler_cls):
    """The class of a scheduler that is given by its qualified name, or itself."""
    if isinstance(scheduler_cls, str):
        module, _, name = scheduler_cls.rpartition(".")
        try:
            scheduler_cls = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise VllmError(f"scheduler_cls: cannot import {scheduler_cls!r}: {error}; give MODULE.CLASS") from error
    is_scheduler = isinstance(scheduler_cls, type) and issubclass(scheduler_cls, vllm.Scheduler)
    if scheduler_cls is not None and not is_scheduler:
        raise VllmError(
            f"scheduler_cls: expected a subclass of the Scheduler of vLLM {vllm.version}, found {scheduler_cls!r}"
        )
    return scheduler_cls


def check_supported(vllm, resolved):
    """Refuses servers whose step times rooflut's package does not give one by one, and settings that vLLM lacks."""
    for key in ("pp", "dp"):
        if resolved[key] > 1:
            raise VllmError(f"{key}: expected 1, found {resolved[key]}; use rooflut.simulate(), or tp for more GPUs")
    if resolved["max_waiting"] is not None:
        raise VllmError("max_waiting: vLLM's scheduler has no such limit; leave it out")
    if resolved["policy"] not in ("fcfs", "priority"):
        raise VllmError(f"policy: expected fcfs or priority, found {resolved['policy']}; give others as scheduler_cls")
    for key in ("watermark", "scheduler_reserve_full_isl"):
        if resolved[key] and key not in vllm.settings("scheduler_config"):
            raise VllmError(f"{key}: the scheduler of vLLM {vllm.version} has none; leave it out, or load a newer one")
    speculation = resolved["speculation"]
    if speculation and speculation["draft_model"] != "ngram":
        raise VllmError(f"draft_model: expected ngram, found {speculation['draft_model']}; use rooflut.simulate()")


def check_settings(vllm, settings):
    """Refuses settings that vLLM lacks, or that are a key of rooflut."""
    for setting in settings:
        where, _, name = setting.partition(".")
        if where not in ("scheduler_config", "cache_config"):
            raise VllmError(f"settings: expected scheduler_config.NAME or cache_config.NAME, found {setting!r}")
        if name in KEYS:
            raise VllmError(f"settings: {setting} is the server's key {KEYS[name]}; give that instead")
        names = vllm.settings(where)
        if name not in names:
            raise VllmError(f"settings: vLLM {vllm.version} has no {setting}; its names are {', '.join(names)}")


def api_times(engine):
    """Nanoseconds of the API server per request, per token of a prompt, and per output of a step."""
    (stack,) = (stack for stack in rooflut.engines() if stack["name"] == engine)
    units = {"ms": 1e6, "us": 1e3}
    constants = {constant["name"]: constant for constant in stack["constants"]}
    times = (constants[name] for name in ("api_server", "api_token", "api_output"))
    return tuple(round(time["value"] * units[time["unit"]]) for time in times)


def unserved(engine, max_steps):
    """Why an engine stopped."""
    if max_steps is not None and len(engine.steps) > max_steps:
        return f"max_steps: the requests need more than {max_steps} steps; raise it"
    left = [(id, engine.sequences[id]) for id in engine.scheduler.requests]
    longest, sequence = max(left, key=lambda of: of[1].prompt + of[1].output)
    return (
        f"the scheduler schedules none of {len(left)} requests at {engine.now} ns; request {longest}, the longest, has "
        f"{sequence.prompt + sequence.output} tokens, the KV cache {engine.settings.kv_blocks} blocks of "
        f"{engine.settings.block_size}; shorten requests, raise kv_blocks, or correct the scheduler"
    )
