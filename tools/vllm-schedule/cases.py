"""The cases: each is a function of a seed that yields workloads."""

import random
from dataclasses import replace

from draft_cases import cut_drafts, draft_model, drafts_and_prefixes, ngram_drafts
from layer_cases import hybrid, latent, mtp, sparse, states
from random_cases import random_fcfs, random_hybrid, random_priority, random_thresholds, short_random
from traffic import at_once, poisson, row
from workload import Workload


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
    """KV caches of which admission leaves a share free (from vLLM 0.24 on)."""
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
