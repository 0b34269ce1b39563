"""The cases: each is a function of a seed that yields workloads."""

import random
from dataclasses import replace

from workload import Layers, Workload

#: A model that drafts tokens of rooflut's default model.
DRAFT_MODEL = "llama-3.2-1b"


def row(arrival_ms, prompt, output, **more):
    """A row of a trace."""
    return dict(
        arrival_ms=round(float(arrival_ms), 6), prompt_tokens=int(prompt), output_tokens=int(output), **more
    )


def poisson(rng, n, rate):
    """Arrival times in milliseconds at `rate` requests per second."""
    now = 0.0
    for _ in range(n):
        now += rng.expovariate(rate) * 1000
        yield now


def at_once(rng, n):
    """Arrival times of `n` requests that arrive together."""
    return [0.0] * n


def short_requests(seed):
    """Short requests at several rates."""
    rng = random.Random(seed)
    for asynchronous in (False, True):
        for rate in (None, 40, 200):
            times = at_once(rng, 300) if rate is None else list(poisson(rng, 300, rate))
            rows = [row(t, rng.randint(1, 200), rng.randint(1, 80)) for t in times]
            yield Workload(rows, asynchronous=asynchronous, blocks=5000)


def chunked_prompts(seed):
    """Prompts that exceed the token budget of a step."""
    rng = random.Random(seed)
    for asynchronous in (False, True):
        for budget in (512, 2048, 8192):
            for rate in (None, 2):
                n = 40
                times = at_once(rng, n) if rate is None else list(poisson(rng, n, rate))
                rows = [
                    row(t, rng.choice([rng.randint(1, 400), rng.randint(2000, 20000)]), rng.randint(1, 120))
                    for t in times
                ]
                yield Workload(rows, asynchronous=asynchronous, budget=budget, blocks=40_000)


def partial_prompts(seed):
    """Several prompts that are cut by the threshold at the same time, and budgets that do not reach all of them."""
    rng = random.Random(seed)
    for asynchronous in (False, True):
        for threshold, budget in ((64, 2048), (200, 512), (500, 512), (3, 16)):
            for policy in ("fcfs", "priority"):
                for blocks in (5000, 250):
                    rows = [
                        row(
                            t,
                            rng.choice([rng.randint(1, 100), rng.randint(500, 3000)]),
                            rng.randint(1, 120),
                            priority=rng.randint(0, 2),
                        )
                        for t in poisson(rng, 30, rng.choice([5, 100]))
                    ]
                    yield Workload(
                        rows,
                        asynchronous=asynchronous,
                        threshold=threshold,
                        budget=budget,
                        blocks=blocks,
                        seqs=16,
                        policy=policy,
                        caching=rng.random() < 0.5,
                    )


def tight_kv_cache(seed):
    """KV caches that make requests preempt each other."""
    rng = random.Random(seed)
    for asynchronous in (False, True):
        for caching in (False, True):
            for rate in (None, 20):
                n = 80
                times = at_once(rng, n) if rate is None else list(poisson(rng, n, rate))
                rows = [row(t, rng.randint(10, 500), rng.randint(50, 400)) for t in times]
                yield Workload(
                    rows,
                    asynchronous=asynchronous,
                    blocks=rng.choice([120, 200, 300]),
                    caching=caching,
                    budget=rng.choice([512, 2048]),
                )


def pipeline_stages(seed):
    """Pipelines of two to four stages: many requests and few, cut prompts, shared prefixes, preemptions."""
    rng = random.Random(seed)
    for asynchronous in (False, True):
        for stages in (2, 3, 4):
            for rate, blocks, caching in ((None, 5000, False), (5, 5000, True), (60, 5000, True), (60, 220, False)):
                times = at_once(rng, 80) if rate is None else list(poisson(rng, 80, rate))
                long = 3000 if blocks > 1000 else 500
                rows = [
                    row(
                        t,
                        rng.choice([rng.randint(65, 200), rng.randint(200, long)]),
                        rng.randint(1, 120),
                        prefix_id=rng.randint(0, 2),
                        prefix_tokens=rng.choice([0, 64]),
                    )
                    for t in times
                ]
                seqs, budget = rng.choice([16, 128]), rng.choice([512, 2048])
                if blocks < 1000 and stages > 2 and not asynchronous:
                    continue  # vLLM samples the token in flight of a preempted request again
                yield Workload(
                    rows,
                    asynchronous=asynchronous,
                    stages=stages,
                    blocks=blocks,
                    caching=caching,
                    seqs=seqs,
                    budget=budget,
                )


def first_chunks(seed):
    """KV caches into which the first chunk of a prompt must fit, and not the whole of it."""
    rng = random.Random(seed)
    for workload in (*tight_kv_cache(seed), *shared_prefixes(seed)):
        yield replace(workload, reserve_full_isl=False, budget=rng.choice([128, 512]))


def watermark(seed):
    """KV caches of which admission leaves a share free (vLLM 0.33)."""
    rng = random.Random(seed)
    for workload in (*tight_kv_cache(seed), *shared_prefixes(seed)):
        yield replace(workload, watermark=rng.choice([0.01, 0.05, 0.2]))


def shared_prefixes(seed):
    """Prefixes shared by many requests, and sessions whose turns follow each other."""
    rng = random.Random(seed)
    for asynchronous in (False, True):
        for caching in (False, True):
            for blocks in (4000, 250):
                for aligned in (False, True):
                    rows = []
                    groups = [
                        (f"p{g}", rng.randint(4, 60) * 16 + (0 if aligned else rng.randint(1, 15)))
                        for g in range(4)
                    ]
                    for t in poisson(rng, 100, 15):
                        prefix, tokens = rng.choice(groups)
                        own = rng.choice([0, rng.randint(1, 200), 16 * rng.randint(1, 6)])
                        rows.append(
                            row(t, tokens + own, rng.randint(1, 150), prefix_id=prefix, prefix_tokens=tokens)
                        )
                    yield Workload(rows, asynchronous=asynchronous, blocks=blocks, caching=caching)
            # Turns of sessions: each prompt has the one before and its answer.
            rows, now = [], 0.0
            for session in range(15):
                said, start = rng.randint(1, 100), now
                now += rng.expovariate(1 / 400)
                for _ in range(5):
                    output = rng.randint(1, 100)
                    rows.append(row(start, said, output, session_id=f"s{session}"))
                    said += output + rng.randint(1, 100)
                    start += 8000 + rng.uniform(500, 3000)  # after the answer
            rows.sort(key=lambda r: r["arrival_ms"])
            yield Workload(rows, asynchronous=asynchronous, blocks=rng.choice([300, 4000]), caching=caching)


def full_prefix_hits(seed):
    """Equal prompts, of whole blocks and one more or less: all but the last token is found."""
    for asynchronous in (False, True):
        for blocks in (2000, 60):
            rows = []
            for k, prompt in enumerate([16, 32, 512, 511, 513, 15, 17, 1, 480]):
                for repeat in range(4):
                    rows.append(
                        row(120 * k + 900 * repeat, prompt, 20, prefix_id=f"p{prompt}", prefix_tokens=prompt)
                    )
            rows.sort(key=lambda r: r["arrival_ms"])
            yield Workload(rows, asynchronous=asynchronous, blocks=blocks)
            # All at the same time.
            yield Workload([dict(r, arrival_ms=0.0) for r in rows], asynchronous=asynchronous, blocks=blocks)


def few_slots(seed):
    """Fewer sequence slots than requests."""
    rng = random.Random(seed)
    for asynchronous in (False, True):
        for seqs in (1, 2, 8):
            for rate in (None, 10):
                n = 60
                times = at_once(rng, n) if rate is None else list(poisson(rng, n, rate))
                rows = [row(t, rng.randint(1, 1500), rng.randint(1, 60)) for t in times]
                yield Workload(
                    rows, asynchronous=asynchronous, seqs=seqs, budget=rng.choice([64, 512]), blocks=3000
                )


def longest_requests(seed):
    """The longest that fit: the model's length, the whole cache."""
    for asynchronous in (False, True):
        rows = [row(0, 1000, 24), row(0, 1, 1023), row(5, 1023, 1), row(5, 500, 524)]
        yield Workload(rows, asynchronous=asynchronous, model_len=1024, blocks=300)
        rows = [row(0, 1000, 24), row(0, 1, 1023), row(5, 1023, 1)]
        yield Workload(rows, asynchronous=asynchronous, model_len=4096, blocks=64)
        rows = [row(0, 900, 124), row(3, 100, 900), row(3, 17, 50)]
        yield Workload(rows, asynchronous=asynchronous, model_len=4096, blocks=64, caching=False)


def beyond_max_model_len(seed):
    """Requests that exceed the model's length by some tokens, or with their prompt alone."""
    for asynchronous in (False, True):
        rows = [row(5 * k, *tokens) for k, tokens in enumerate([(1000, 24), (1000, 25), (1023, 2), (1024, 1)])]
        rows += [row(40, 1025, 1), row(45, 500, 2000), row(50, 20, 1005)]
        yield Workload(rows, asynchronous=asynchronous, model_len=1024, blocks=300)


def priority(seed):
    """Three priorities, in KV caches from roomy to tight."""
    rng = random.Random(seed)
    for asynchronous in (False, True):
        for blocks, caching in ((5000, True), (200, True), (200, False), (120, False)):
            for rate in (None, 20):
                n = 80
                times = at_once(rng, n) if rate is None else list(poisson(rng, n, rate))
                rows = [
                    row(t, rng.randint(10, 400), rng.randint(20, 300), priority=rng.randint(0, 2))
                    for t in times
                ]
                yield Workload(
                    rows,
                    asynchronous=asynchronous,
                    blocks=blocks,
                    caching=caching,
                    policy="priority",
                    seqs=rng.choice([16, 128]),
                )


def overlapping_turns(seed):
    """A session's next turn arrives before its answer is complete: what is computed of it can be found."""
    rng = random.Random(seed)
    for asynchronous in (False, True):
        rows = []
        for session in range(20):
            said, start = rng.randint(50, 200), 300.0 * session
            for _ in range(3):
                output = rng.randint(50, 100)
                rows.append(row(start, said, output, session_id=f"s{session}"))
                said += output + rng.randint(1, 100)
                start += rng.uniform(100, 700)
        rows.sort(key=lambda r: r["arrival_ms"])
        yield Workload(rows, asynchronous=asynchronous, blocks=4000)


def drafts(seed, model, kinds):
    """Drafts that are all accepted, some or none."""
    rng = random.Random(seed)
    for asynchronous in kinds:
        for acceptance in (0, 0.6, 1):
            for tokens in (1, 3):
                for blocks in (5000, 150):
                    rows = [
                        row(t, rng.randint(10, 300), rng.randint(1, 150)) for t in poisson(rng, 40, 20)
                    ]
                    yield Workload(
                        rows,
                        asynchronous=asynchronous,
                        blocks=blocks,
                        caching=rng.random() < 0.5,
                        spec=dict(model=model, acceptance=acceptance, tokens=tokens),
                    )


def ngram_drafts(seed):
    """Drafts from n-grams."""
    return drafts(seed, "ngram", (False, True))


def draft_model(seed):
    """Drafts of a model, which reserves slots of its own."""
    return drafts(seed, DRAFT_MODEL, (False, True))


def cut_drafts(seed):
    """Drafts that max_model_len, the threshold or the budget cuts, and prompts of several chunks."""
    rng = random.Random(seed)
    for asynchronous in (False, True):
        for model in ("ngram", DRAFT_MODEL):
            for tokens, threshold in ((1, 0), (5, 0), (3, 2), (5, 40), (5, 6)):
                for blocks in (5000, 60):
                    rows = []
                    for t in poisson(rng, 30, rng.choice([10, 100])):
                        output = rng.randint(1, 100)
                        prompt = rng.choice([400 - output, rng.randint(1, 300)])
                        rows.append(row(t, prompt, output, priority=rng.randint(0, 2)))
                    yield Workload(
                        rows,
                        asynchronous=asynchronous,
                        model_len=400,
                        blocks=blocks,
                        seqs=8,
                        budget=64,
                        threshold=threshold,
                        policy=rng.choice(["fcfs", "priority"]),
                        caching=rng.random() < 0.5,
                        spec=dict(model=model, acceptance=rng.choice([0, 0.7, 1]), tokens=tokens),
                    )


def drafts_and_prefixes(seed):
    """Drafts in sessions whose turns follow each other at once, or overlap."""
    rng = random.Random(seed)
    for asynchronous in (False, True):
        for blocks in (4000, 120):
            for tokens in (1, 4):
                rows, now = [], 0.0
                for session in range(15):
                    said, start = rng.randint(1, 100), now
                    now += rng.expovariate(1 / 200)
                    for _ in range(4):
                        output = rng.randint(1, 100)
                        rows.append(row(start, said, output, session_id=f"s{session}"))
                        said += output + rng.randint(1, 100)
                        start += rng.uniform(100, 2000)
                rows.sort(key=lambda r: r["arrival_ms"])
                yield Workload(
                    rows,
                    asynchronous=asynchronous,
                    blocks=blocks,
                    spec=dict(model=DRAFT_MODEL, acceptance=0.7, tokens=tokens),
                )


def block_sizes(seed):
    """Blocks of other sizes, in roomy and tight KV caches."""
    rng = random.Random(seed)
    for asynchronous in (False, True):
        for size in (32, 64, 128, 256):
            for tokens in (100_000, 6_000):
                rows = []
                for t in poisson(rng, 60, 20):
                    prefix = rng.randint(0, 3)
                    own = rng.choice([0, size, rng.randint(1, 300)])
                    rows.append(
                        row(
                            t,
                            100 * (prefix + 1) + own,
                            rng.randint(1, 300),
                            prefix_id=f"p{prefix}",
                            prefix_tokens=100 * (prefix + 1),
                        )
                    )
                yield Workload(
                    rows,
                    asynchronous=asynchronous,
                    block_size=size,
                    blocks=tokens // size,
                    caching=rng.random() < 0.7,
                )


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


#: Layers of hybrid models: gpt-oss, Gemma 3 (both smaller), more full layers than others, one kind, chunks.
HYBRID = (
    Layers(4, 4, window=128),
    Layers(2, 10, window=64),
    Layers(6, 2, window=40, limited_first=False),
    Layers(3, 9, window=300),
    Layers(0, 4, window=100),
    Layers(1, 3, chunk=256),
)


def hybrid(seed):
    """Layers in several KV cache groups."""
    return of_layers(seed, HYBRID, (20_000, 900, 500))


def latent(seed):
    """Latent attention."""
    return of_layers(seed, [Layers(4, latent=True)], (20_000, 300, 120))


def sparse(seed):
    """Latent attention with an indexer."""
    return of_layers(seed, [Layers(4, latent=True, indexer=True)], (20_000, 300, 120))


def of_layers(seed, models, sizes):
    """Prompts of several chunks and longer than windows, in KV caches from roomy to tight, with and without prefixes."""
    rng = random.Random(seed)
    for asynchronous in (False, True):
        for layers in models:
            for blocks in sizes:
                rows = []
                for t in poisson(rng, 60, 20):
                    prefix = rng.randint(0, 5)
                    more = dict(prefix_id=f"p{prefix}", prefix_tokens=100 * prefix) if rng.random() < 0.5 else {}
                    prompt = 100 * prefix + rng.choice([0, rng.randint(1, 300), rng.randint(1, 900)]) + 1
                    rows.append(row(t, prompt, rng.randint(1, 300), **more))
                yield Workload(
                    rows,
                    asynchronous=asynchronous,
                    layers=layers,
                    model_len=1800,
                    blocks=blocks,
                    budget=rng.choice([256, 512]),
                    caching=rng.random() < 0.7,
                )


#: Layers that keep a state: Qwen3.5 (smaller), as many as others, fewer.
STATES = (Layers(4, 12), Layers(3, 3), Layers(6, 2))


def states(seed):
    """Layers that keep a state, in KV caches from roomy to tight."""
    rng = random.Random(seed)
    for asynchronous in (False, True):
        for layers in STATES:
            for blocks in (20_000, 500, 360):
                rows = [
                    row(t, rng.choice([rng.randint(1, 300), rng.randint(300, 1400)]), rng.randint(1, 300))
                    for t in poisson(rng, 60, 20)
                ]
                yield Workload(
                    rows,
                    asynchronous=asynchronous,
                    layers=layers,
                    model_len=1700,
                    blocks=blocks,
                    budget=rng.choice([256, 512]),
                    caching=False,
                )


def mtp(seed):
    """Drafts of a layer of the model, with shared prefixes, turns and preemptions, and with layers that keep a state."""
    rng = random.Random(seed)
    for asynchronous in (False, True):
        for layers in (Layers(4), Layers(4, latent=True), Layers(4, 12)):
            for tokens in (1, 3):
                for blocks in (20_000, 200):
                    rows = []
                    for number, t in enumerate(poisson(rng, 60, 20)):
                        prefix = rng.randint(0, 5)
                        length = rng.choice([96, 100, 160]) * prefix
                        shared = [dict(prefix_id=f"p{prefix}", prefix_tokens=length), dict(session_id=f"s{number // 4}"), {}]
                        more = {} if layers.has_states else rng.choice(shared)
                        prompt = length + rng.choice([rng.randint(1, 300), 16 * rng.randint(1, 30)])
                        rows.append(row(t, prompt, rng.randint(1, 150), **more))
                    yield Workload(
                        rows,
                        asynchronous=asynchronous,
                        layers=layers,
                        model_len=1600,
                        blocks=blocks * (4 if layers.has_states else 1),
                        budget=rng.choice([256, 512]),
                        seqs=32,
                        caching=not layers.has_states,
                        spec=dict(model="mtp", acceptance=rng.choice([0, 0.6, 0.9, 1]), tokens=tokens),
                    )


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


#: Cases of both forms.
COMMON = (
    tight_kv_cache,
    pipeline_stages,
    watermark,
    shared_prefixes,
    full_prefix_hits,
    few_slots,
    longest_requests,
    beyond_max_model_len,
    overlapping_turns,
    ngram_drafts,
    draft_model,
    cut_drafts,
    drafts_and_prefixes,
    block_sizes,
    hybrid,
    latent,
    sparse,
    states,
    mtp,
)
#: Cases of the short form.
SHORT = (*COMMON, short_random)
#: Cases of the full form.
FULL = (
    short_requests,
    chunked_prompts,
    partial_prompts,
    first_chunks,
    *COMMON,
    random_fcfs,
    priority,
    random_priority,
    random_thresholds,
    random_hybrid,
)
CASES = {case.__name__: case for case in (*FULL, short_random)}
