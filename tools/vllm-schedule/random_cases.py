"""Random servers and workloads."""

import random
from dataclasses import replace

from traffic import DRAFT_MODEL, at_once, poisson, row
from workload import Layers, Workload


def random_workload(rng, policy="fcfs", thresholds=(0,)):
    """A random server and workload."""
    n = rng.randint(2, 60)
    rate = rng.choice([None, 2, 10, 50, 300])
    times = at_once(rng, n) if rate is None else list(poisson(rng, n, rate))
    longest = rng.choice([40, 300, 3000])
    out = rng.choice([1, 10, 60, 300])
    groups = [(f"p{g}", rng.randint(1, longest)) for g in range(rng.randint(1, 4))]
    share = rng.choice([0, 0, 0.5, 1])
    rows = []
    for t in times:
        more = {}
        prompt = rng.randint(1, longest)
        if rng.random() < share:
            prefix, tokens = rng.choice(groups)
            prompt = tokens + rng.choice([0, rng.randint(1, longest)])
            more = dict(prefix_id=prefix, prefix_tokens=tokens)
        if policy == "priority":
            more["priority"] = rng.randint(0, 3)
        rows.append(row(t, prompt, rng.randint(1, out), **more))
    size = rng.choice([16, 16, 32, 64, 128])
    asynchronous = rng.random() < 0.5
    seqs = rng.choice([1, 3, 16, 128])
    budget = max(seqs, rng.choice([16, 64, 512, 2048]))
    spec, room = None, 0
    if rng.random() < 0.3:
        model = rng.choice(["ngram", DRAFT_MODEL])
        tokens = rng.choice([1, 2, 5])
        spec = dict(model=model, acceptance=rng.choice([0, 0.3, 0.8, 1]), tokens=tokens)
        budget = max(budget, seqs * (1 + tokens + (model == DRAFT_MODEL)))
        room = 3 * tokens  # drafts in flight, of the step, and slots of the draft model
    need = max((r["prompt_tokens"] + r["output_tokens"] - 1 + room) // size + 1 for r in rows)
    more = rng.choice([0, rng.randint(0, 10), rng.randint(0, need * 3), 5000])
    longest = max(r["prompt_tokens"] + r["output_tokens"] for r in rows)
    return Workload(
        rows,
        asynchronous=asynchronous,
        blocks=need + more,
        block_size=size,
        seqs=seqs,
        budget=budget,
        threshold=rng.choice(thresholds),
        model_len=rng.choice([longest, 131072]),
        reserve_full_isl=rng.random() < 0.8,
        caching=rng.random() < 0.6,
        policy=policy,
        spec=spec,
    )


def random_fcfs(seed, count=300):
    """Random servers and workloads, first come first served."""
    rng = random.Random(seed)
    for _ in range(count):
        yield random_workload(rng)


def random_priority(seed, count=300):
    """Random servers and workloads with the priority policy."""
    rng = random.Random(seed + 1)
    for _ in range(count):
        yield random_workload(rng, "priority")


def random_thresholds(seed, count=300):
    """Random servers that cut long prompts, and workloads with both policies."""
    rng = random.Random(seed + 2)
    for _ in range(count):
        yield random_workload(rng, rng.choice(["fcfs", "priority"]), (3, 16, 40, 300))


def random_hybrid(seed, count=300):
    """Random servers of hybrid models, and workloads."""
    rng = random.Random(seed + 3)
    for _ in range(count):
        size = rng.choice([16, 32])
        # Versions differ in the groups of kinds with similar numbers of layers.
        full, limited = rng.choice([(1, 1), (2, 2), (1, 3), (2, 10), (3, 1), (4, 2), (2, 3)])
        layers = Layers(
            full,
            limited,
            limited_first=rng.random() < 0.7,
            **(dict(chunk=size * rng.randint(1, 20)) if rng.random() < 0.2 else dict(window=rng.randint(20, 400))),
        )
        workload = random_workload(rng, rng.choice(["fcfs", "fcfs", "priority"]))
        groups = groups_of(layers)
        tokens = max(r["prompt_tokens"] + r["output_tokens"] for r in workload.rows) + 2 * size
        need = layers.blocks(groups, tokens, size, 2 * workload.budget)
        more = rng.choice([0, rng.randint(0, 10), rng.randint(0, need * 3), 5000])
        yield replace(workload, layers=layers, block_size=size, blocks=need + more, model_len=tokens, spec=None)


def groups_of(layers):
    """Full and other groups of layers."""
    few, most = sorted((layers.full, layers.limited))
    size = most if most < 1.25 * few else few
    return -(-layers.full // size), -(-layers.limited // size)


def short_random(seed):
    """The first random workloads, first come first served."""
    return random_fcfs(seed, 60)
