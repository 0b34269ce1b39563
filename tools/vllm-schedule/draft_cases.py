"""Cases of speculative decoding."""

import random

from traffic import DRAFT_MODEL, poisson, row
from workload import Workload


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
