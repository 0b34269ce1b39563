"""Loads and servers, some of which preempt, cut prompts, share prefixes or reject."""

import random


def requests(seed, count=120, rate=15.0, prompt=(1, 900), output=(1, 200)):
    """A frame of requests with prefixes and priorities."""
    rng = random.Random(seed)
    now, rows = 0.0, []
    for _ in range(count):
        now += rng.expovariate(rate) * 1e3
        prefix = 16 * rng.randint(1, 20)
        rows.append(
            dict(
                arrival_ms=now,
                prompt_tokens=prefix + rng.randint(*prompt),
                output_tokens=rng.randint(*output),
                priority=rng.randint(0, 2),
                prefix_id=rng.randint(0, 3) * 100 + prefix,
                prefix_tokens=prefix,
            )
        )
    return {name: [row[name] for row in rows] for name in rows[0]}


def sessions(seed):
    """Conversations whose turns have those before in their prompts."""
    rng = random.Random(seed)
    rows = []
    for session in range(15):
        said, at_ms = rng.randint(20, 300), 200.0 * session
        for _ in range(4):
            output = rng.randint(5, 80)
            rows.append(dict(arrival_ms=round(at_ms, 3), prompt_tokens=said, output_tokens=output, session_id=session))
            said += output + rng.randint(1, 100)
            at_ms += rng.uniform(500, 2500)
    rows.sort(key=lambda row: row["arrival_ms"])
    return {name: [row[name] for row in rows] for name in rows[0]}


AT_ONCE = dict(arrival_ms=[0.0] * 60, prompt_tokens=[400] * 60, output_tokens=[100] * 60)
DRAFTS = dict(draft_model="ngram", draft_tokens=3, acceptance=0.6)

#: Requests and the keys of a server, by name.
WORKLOADS = {
    "poisson": (requests(1), {}),
    "at_once": (AT_ONCE, dict(max_num_seqs=32)),
    "synchronous": (requests(2), dict(scheduling="sync")),
    "preemptions": (requests(3), dict(kv_blocks=250, max_num_batched_tokens=512)),
    "priorities": (requests(4, rate=40), dict(policy="priority", max_num_seqs=16, kv_blocks=300)),
    "chunks": (requests(5, 40, 4, (1, 9000)), dict(max_num_batched_tokens=512, long_prefill_token_threshold=300)),
    "no_prefix_caching": (requests(6), dict(prefix_caching="off", block_size=32)),
    "sessions": (sessions(7), {}),
    "beyond_max_model_len": (requests(8), dict(max_model_len=900)),
    "drafts": (requests(9), DRAFTS),
    "drafts_and_preemptions": (requests(10, rate=40), DRAFTS | dict(kv_blocks=300)),
    "tensor_parallel": (requests(11), dict(model="llama-3.1-70b", tp=4)),
    "experts": (requests(12), dict(model="qwen3-30b-a3b", tp=2)),
    "windows": (requests(14), dict(model="gpt-oss-20b")),
    "windows_and_preemptions": (
        requests(15, rate=40, prompt=(1, 3000)),
        dict(model="gemma-3-4b", kv_blocks=1200, max_num_batched_tokens=512),
    ),
    "windows_alone": (requests(16, 40, 4, (1, 9000)), dict(model="mistral-7b-v0.1")),
    "windows_and_drafts": (requests(17), dict(model="gpt-oss-20b") | DRAFTS),
    "chunked_attention": (
        requests(18, 40, 4, (1, 20_000)),
        dict(model="llama-4-scout-17b-16e-instruct", tp=8),
    ),
    "latent_attention": (requests(13, 60), dict(model="deepseek-v3", gpu="h200", tp=8)),
}
