"""The result of a load, as `vllm bench serve --save-result --save-detailed` writes it.

Latencies are those of requests that were answered, and of the attempt that was. Failed requests are in the
lists with their `errors`, without times. Texts of answers are not kept.
"""

import statistics
from collections.abc import Sequence

from .. import __version__
from .client import Answer
from .drive import Driven, Requests

#: Names of the client's endpoints.
BACKENDS = {"completions": "openai", "chat": "openai-chat"}
_PERCENTILES = (50, 90, 95, 99)
#: Prompts and answers that differ from what was asked by more are worth a note.
_EQUAL_TOKENS = 0.005
#: A request of an open loop that is sent later than this is another load.
_LATE_S = 0.05
#: Events per token; with fewer, gaps are not between tokens.
_TOKENS_SENT_ALONE = 0.9
#: Part of a CPU core, of which this client has one, from which answers wait to be read.
_BUSY = 0.8


def build(requests: Requests, driven: Driven, about: dict) -> dict:
    """The result. `about` goes into it: how requests were sent."""
    load = requests.load
    answers = sorted(driven.answers, key=lambda answer: answer.start_s)
    good = [answer for answer in answers if not answer.error]
    first_s = min((answer.start_s for answer in answers), default=0.0)
    duration_s = _duration_s(answers)
    model = load.model or requests.model
    prompt, output = (sum(getattr(a, name) for a in good) for name in ("prompt_tokens", "output_tokens"))
    kind = BACKENDS[requests.endpoint]

    def per_s(amount: int) -> float:
        return amount / duration_s if duration_s > 0.0 else 0.0

    return {
        "date": driven.began.strftime("%Y%m%d-%H%M%S"),
        "endpoint_type": kind,
        "backend": kind,
        "label": None,
        "model_id": model,
        "tokenizer_id": model,
        "num_prompts": load.requests,
        "request_rate": load.rate or "inf",
        "burstiness": 1.0,
        "max_concurrency": load.users,
        "duration": duration_s,
        "completed": len(good),
        "failed": len(driven.failed),
        "total_input_tokens": prompt,
        "total_output_tokens": output,
        "request_throughput": per_s(len(good)),
        "request_goodput": None,
        "output_throughput": per_s(output),
        "total_token_throughput": per_s(prompt + output),
        "max_concurrent_requests": driven.max_in_flight,
        "input_lens": [answer.prompt_tokens for answer in answers],
        "output_lens": [0 if answer.error else answer.output_tokens for answer in answers],
        "ttfts": [0.0 if answer.error else answer.ttft_s for answer in answers],
        "itls": [[] if answer.error else answer.gaps_s for answer in answers],
        "latencies": [0.0 if answer.error else answer.e2e_s for answer in answers],
        "start_times": [answer.start_s - first_s for answer in answers],
        "errors": [answer.error for answer in answers],
        **_figures("ttft", [answer.ttft_s for answer in good]),
        **_figures("tpot", [_tpot_s(answer) for answer in good if answer.output_tokens > 1]),
        **_figures("itl", [gap for answer in good for gap in answer.gaps_s]),
        **_figures("e2el", [answer.e2e_s for answer in good]),
        "rooflut_collect": {
            "version": __version__,
            "endpoint": requests.endpoint,
            "prompt_tokens_asked": load.prompt_tokens,
            "output_tokens_asked": load.output_tokens,
            "seed": requests.seed,
            **about,
            "retried_requests": sum(answer.retries > 0 for answer in answers),
            "retries_of_requests": [answer.retries for answer in answers],
            "times_are_of": "the last attempt of each request",
            "longest_delay_of_a_send_s": driven.late_s if load.rate else None,
            "client_cpu_s": driven.cpu_s,
            "notes": notes(requests, driven),
        },
    }


def notes(requests: Requests, driven: Driven) -> list[str]:
    """Remarks on what was other than asked."""
    load = requests.load
    good = [answer for answer in driven.answers if not answer.error]
    retried = sum(answer.retries > 0 for answer in driven.answers)
    found = []
    if driven.failed:
        found.append(
            f"{len(driven.failed)} of {len(driven.answers)} requests failed, and are in no latency; "
            f"first error: {driven.failed[0].error}"
        )
    if retried:
        found.append(
            f"{retried} requests were sent again after an error; times are those of the last attempt, and "
            "the server had less load than asked"
        )
    for name, asked, reason in (
        ("prompt", load.prompt_tokens, "the server may add a chat template; ask for another length"),
        ("output", load.output_tokens, "the server may not know ignore_eos, or have too small a context"),
    ):
        lengths = [getattr(answer, f"{name}_tokens") for answer in good]
        if lengths and abs(statistics.fmean(lengths) - asked) > _EQUAL_TOKENS * asked:
            found.append(
                f"expected {name}s of {asked} tokens, found {min(lengths)} to {max(lengths)}, "
                f"{statistics.fmean(lengths):.1f} in the mean: {reason}"
            )
    tokens = sum(answer.output_tokens for answer in good)
    events = sum(len(answer.times_s) for answer in good)
    if events < _TOKENS_SENT_ALONE * tokens:
        found.append(
            f"an event had {tokens / events:.2f} tokens in the mean: ITL is the time between events, TPOT "
            "that between tokens"
        )
    if load.rate and driven.late_s > _LATE_S and not load.users:
        found.append(
            f"a request was sent {driven.late_s:.2f} s late: this client did not keep up; "
            "run it on a machine with less to do"
        )
    duration_s = _duration_s(driven.answers)
    if driven.cpu_s > _BUSY * duration_s:
        found.append(
            f"this client used its CPU for {driven.cpu_s:.1f} of {duration_s:.1f} s: latencies may be "
            "its own; ask for fewer users or a lower rate"
        )
    return found


def _duration_s(answers: Sequence[Answer]) -> float:
    """From the first request to the end of the last answer."""
    ends = [answer.end_s for answer in answers]
    return max(ends) - min(answer.start_s for answer in answers) if ends else 0.0


def _tpot_s(answer: Answer) -> float:
    return (answer.e2e_s - answer.ttft_s) / (answer.output_tokens - 1)


def _figures(name: str, seconds: Sequence[float]) -> dict[str, float | None]:
    """`mean_ttft_ms` and the others; null where there is no time."""
    ordered = sorted(1e3 * each for each in seconds)
    figures = {
        "mean": statistics.fmean(ordered) if ordered else None,
        "median": statistics.median(ordered) if ordered else None,
        "std": statistics.pstdev(ordered) if ordered else None,
        "min": min(ordered, default=None),
        "max": max(ordered, default=None),
        **{f"p{part}": _percentile(ordered, part) for part in _PERCENTILES},
    }
    return {f"{figure}_{name}_ms": value for figure, value in figures.items()}


def _percentile(ordered: Sequence[float], part: int) -> float | None:
    """Linear between the two nearest, as NumPy's."""
    if not ordered:
        return None
    place = part / 100 * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
