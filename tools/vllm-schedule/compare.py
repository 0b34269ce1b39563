"""Runs a workload on both sides and compares step by step and request by request."""

from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
from workload import Rooflut, api_times, ns

from rooflut_vllm.drafts import acceptance
from rooflut_vllm.engine import Engine
from rooflut_vllm.settings import Settings, Speculation
from rooflut_vllm.text import at_engine, text_of


def durations(rooflut):
    """The duration of a step: rooflut's of the same step or the same work, or else a fit over its steps."""
    same = {step.key: step.duration for step in rooflut.steps}

    def features(key):
        return [1.0, *key]

    x = np.array([features(step.key) for step in rooflut.steps])
    y = np.array([step.duration for step in rooflut.steps], dtype=float)
    fit = np.linalg.lstsq(x, y, rcond=None)[0] if len(y) else np.zeros(5)

    def duration(number, step):
        key = key_of(step)
        if number < len(rooflut.steps) and rooflut.steps[number].key == key:
            return rooflut.steps[number].duration
        if key in same:
            return same[key]
        return max(int(np.dot(fit, features(key))), 1_000_000)

    return duration


def key_of(step):
    """Chunks, prefill tokens, decodes and KV tokens of a step of vLLM."""
    return (step.prefill_chunks, step.prefill_tokens, step.decode_requests, step.kv_tokens)


def serve(vllm, workload, rooflut, at_engine_ns, limit=200_000):
    """Serves `workload`, whose requests the engine sees at these times, on vLLM's side; returns the engine and notes."""
    spec = None
    if workload.spec:
        spec = Speculation(
            tokens=workload.spec["tokens"],
            accepted=acceptance(**workload.spec),
            lookahead=workload.has_draft_model,
            mtp=workload.has_mtp,
        )
    layers = workload.layers
    settings = Settings(
        max_num_seqs=workload.seqs,
        max_num_batched_tokens=workload.budget,
        long_prefill_token_threshold=workload.threshold,
        max_model_len=workload.max_model_len,
        kv_blocks=workload.blocks,
        block_size=workload.block_size,
        policy=workload.policy,
        prefix_caching=workload.caching,
        watermark=workload.watermark,
        reserve_full_isl=workload.reserve_full_isl,
        asynchronous=workload.asynchronous,
        speculation=spec,
        stages=workload.stages,
        extra=workload.extra,
        **(dict(layers=layers.kinds, window=layers.window, chunk=layers.chunk) if layers else {}),
    )
    engine = Engine(vllm, settings, durations(rooflut), keeps_work=True)
    notes = dict(rejected=0, disagreed=0)
    arrivals = []
    for index, row in enumerate(workload.rows):
        output = vllm.admitted_tokens(row["prompt_tokens"], row["output_tokens"], workload.max_model_len)
        outcome = rooflut.requests[index]["outcome"]
        if outcome != "completed" or output is None:
            notes["rejected"] += 1
            # A request that exceeds the KV cache would run alone and preempt itself for ever.
            notes["disagreed"] += outcome != "too_many_kv_blocks" and (outcome == "completed") != (output is not None)
            continue
        at_ns = at_engine_ns[index]

        def add(engine, index=index, row=row, at_ns=at_ns, output=output):
            engine.add(
                f"{index:06d}",
                row["prompt_tokens"],
                output,
                text_of(index, row),
                int(row.get("priority", 0)),
                at_ns / 1e9 + index * 1e-6,
            )  # 0.11 cannot compare equal times

        arrivals.append((at_ns, index, add))
    arrivals.sort(key=lambda arrival: arrival[:2])
    notes["done"] = engine.serve([(at, add) for at, _, add in arrivals], limit)
    return engine, notes


@dataclass
class Result:
    """Both schedules of a workload, and how many of their steps and requests differ."""

    rooflut: Rooflut
    engine: Engine
    done: bool  # whether vLLM served all requests
    steps: int = 0
    different: int = 0  # chunks, decodes, KV tokens, preemptions or start
    state: int = 0  # of the other steps: running, waiting or KV blocks
    requests: int = 0  # first token, end or preemptions
    rejected: int = 0
    first: int | None = None  # first step that differs

    @property
    def differs(self):
        """Whether anything differs."""
        return not self.done or bool(self.different or self.state or self.requests)


def compare(vllm, binary, workload, folder, version):
    """Runs `workload` on both sides."""
    rooflut = Rooflut(binary, workload, folder, version)
    api_server_ns, api_token_ns, api_output_ns = api_times(binary, version)
    arrivals = [ns(f"{float(row['arrival_ms']):.6f}") for row in workload.rows]
    prompts = [row["prompt_tokens"] for row in workload.rows]
    at_engine_ns = at_engine(arrivals, prompts, api_server_ns, api_token_ns)
    engine, notes = serve(vllm, workload, rooflut, at_engine_ns)
    result = Result(rooflut, engine, notes["done"], rejected=notes["rejected"], requests=notes["disagreed"])
    compare_steps(result)
    for index, row in enumerate(rooflut.requests):
        if row["outcome"] == "completed":
            sequence = engine.sequences.get(f"{index:06d}")
            result.requests += outcome(row) != outcome_of(sequence, api_output_ns)
    return result


def compare_steps(result):
    """Counts the steps that differ."""
    for number, (ours, real) in enumerate(zip_longest(result.rooflut.steps, result.engine.steps)):
        result.steps += 1
        if not (ours and real) or work(ours, ours.key) != work(real, key_of(real)):
            result.different += 1
        elif ours.state != real.state:
            result.state += 1
        else:
            continue
        if result.first is None:
            result.first = number


def work(step, key):
    """Work, start and preemptions of a step."""
    return (key, step.start, step.preempted)


def outcome(row):
    """First token and end in nanoseconds, and preemptions, of a row of rooflut's requests."""
    arrived = ns(row["arrival_ms"])
    return (arrived + ns(row["ttft_ms"]), arrived + ns(row["e2e_ms"]), int(row["preemptions"]))


def outcome_of(sequence, api_output_ns):
    """First token, end and preemptions of a request of vLLM; `None` if it has not completed."""
    if sequence is None or sequence.finished_ns is None:
        return None
    late_ns = sequence.late_ns(api_output_ns)
    return (sequence.first_ns + late_ns, sequence.finished_ns + late_ns, sequence.preemptions)


def shrink(vllm, binary, workload, folder, version, tries=150):
    """A smaller workload that still differs."""
    rows = workload.rows
    size = max(len(rows) // 2, 1)
    while size >= 1 and tries > 0:
        at = 0
        while at < len(rows) and len(rows) > 1 and tries > 0:
            fewer = rows[:at] + rows[at + size :]
            tries -= 1
            if fewer and compare(vllm, binary, workload.with_rows(fewer), folder, version).differs:
                rows = fewer
            else:
                at += size
        size //= 2
    return workload.with_rows(rows)


def show(result, around=2):
    """The steps around the first difference, as lines."""
    first = result.first or 0
    lines = [
        "  step  side     (chunks, tokens, decodes, KV tokens) preempted (running, waiting, blocks) start"
    ]
    ours, real = result.rooflut.steps, result.engine.steps
    for number in range(max(0, first - around), first + around + 1):
        if number < len(ours):
            step = ours[number]
            lines.append(f"  {number:5} rooflut  {step.key} {step.preempted} {step.state} {step.start}")
        if number < len(real):
            step = real[number]
            lines.append(f"  {number:5} vLLM     {key_of(step)} {step.preempted} {step.state} {step.start}")
            lines.append(f"        chunks {step.chunks[:6]}, decodes {[id for id, *_ in step.decodes[:12]]}")
    return "\n".join(lines)
