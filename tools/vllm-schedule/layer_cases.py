"""Cases of layers of several kinds."""

import random

from traffic import poisson, row
from workload import Layers, Workload

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
