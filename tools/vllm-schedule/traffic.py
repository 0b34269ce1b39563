"""Rows of traces and their arrival times."""

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
