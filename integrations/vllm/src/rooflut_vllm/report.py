"""Figures of a run: the fields of rooflut's reports."""

from bisect import bisect_left
from fractions import Fraction
from itertools import accumulate

import numpy as np

#: Fields of rooflut's reports that are not counted: sources and parts of step times, limits that bind, and prefix hits.
UNCOUNTED = (
    "limited_by",
    "by_priority",
    "windows",
    "quantiles",
    "prefix_cache_hit_rate",
    "class",
    "extent",
    "time_share_by_source",
    "time_share_outside",
    "time_share_by_part",
    "time_share_by_binding",
    "flagged_rows",
)
#: Percentiles of batch sizes, and those of latencies in thousandths.
PERCENTILES = (50, 90, 95, 99)
PER_MILLE = dict(p50=500, p90=900, p95=950, p99=990, p99_9=999)
#: Requests that are expected beyond a percentile that is known.
MIN_BEYOND = 5


def request_columns(engine, requests, outputs, at_engine_ns, api_output_ns):
    """The columns of `rooflut.Report.requests`."""
    admitted = [engine.sequences.get(str(row)) for row in range(len(requests))]
    outcomes = [outcome(sequence) for sequence in admitted]
    sequences = [sequence if outcome == "completed" else None for sequence, outcome in zip(admitted, outcomes)]
    arrival_ns = np.array(requests.arrival_ns, dtype=np.uint64)
    output_tokens = [given if output is None else output for given, output in zip(requests.output_tokens, outputs)]
    # Seconds first: the quotients have the same bits as rooflut's.
    late = [sequence and sequence.late_ns(api_output_ns) for sequence in sequences]

    def times(of):
        ns = [np.nan if sequence is None else of(row, sequence) for row, sequence in enumerate(sequences)]
        return np.array(ns, dtype=np.float64) / 1e9

    gaps = np.array([output - 1 if output > 1 else np.nan for output in output_tokens])
    seconds = dict(
        queue_ms=times(lambda row, of: of.scheduled_ns - at_engine_ns[row]),
        ttft_ms=times(lambda row, of: of.first_ns + late[row] - requests.arrival_ns[row]),
        tpot_ms=times(lambda row, of: of.finished_ns - of.first_ns) / gaps,
        e2e_ms=times(lambda row, of: of.finished_ns + late[row] - requests.arrival_ns[row]),
    )
    none = np.full(len(requests), -1, dtype=np.int64)

    def points(of):
        return np.array([-1 if sequence is None else of(sequence) for sequence in sequences], dtype=np.int64)

    return dict(
        request=np.arange(len(requests), dtype=np.uint64),
        arrival_ns=arrival_ns,
        prompt_tokens=np.array(requests.prompt_tokens, dtype=np.uint32),
        output_tokens=np.array(output_tokens, dtype=np.uint32),
        cached_prompt_tokens=np.zeros(len(requests), dtype=np.uint32),
        priority=np.array(requests.priority, dtype=np.uint32),
        outcome=np.array(outcomes, dtype=str),
        **{name: values * 1e3 for name, values in seconds.items()},
        preemptions=np.array([sequence.preemptions if sequence else 0 for sequence in admitted], dtype=np.uint32),
        replica=points(lambda of: 0),
        first_token_ns=points(lambda of: of.first_ns),
        finish_ns=points(lambda of: of.finished_ns),
        prefill_replica=none,
        prefilled_ns=none.copy(),
        delivered_ns=none.copy(),
        decode_scheduled_ns=none.copy(),
    )


def outcome(sequence):
    """`completed`, or why a request was rejected: `other` if the scheduler dropped it."""
    if sequence is None:
        return "too_long"
    return "completed" if sequence.finished_ns is not None else "other"


def step_columns(engine):
    """The columns of `rooflut.Report.steps`."""
    steps = engine.steps

    def column(of, dtype=np.uint32):
        return np.array([of(step) for step in steps], dtype=dtype)

    return dict(
        replica=np.zeros(len(steps), dtype=np.uint32),
        start_ns=column(lambda step: step.start, np.uint64),
        duration_ns=column(lambda step: step.duration, np.uint64),
        prefill_chunks=column(lambda step: step.prefill_chunks),
        prefill_tokens=column(lambda step: step.prefill_tokens),
        decode_requests=column(lambda step: step.decode_requests),
        late_decodes=column(lambda step: step.late),
        kv_tokens=column(lambda step: step.kv_tokens, np.uint64),
        overrun_requests=column(lambda step: step.overrun),
        drafted_tokens=column(lambda step: step.drafted),
        accepted_tokens=column(lambda step: step.accepted),
        yielded_tokens=column(lambda step: step.yielded),
        running=column(lambda step: step.state[0]),
        waiting=column(lambda step: step.state[1]),
        kv_blocks_used=column(lambda step: step.state[2]),
        preempted=column(lambda step: step.preempted),
    )


class Figures:
    """Figures of a run, computed as rooflut does."""

    def __init__(self, engine, requests, steps, truncated):
        self.engine, self.requests, self.steps, self.truncated = engine, requests, steps, truncated
        self.served = requests["outcome"] == "completed"
        self.completed = int(self.served.sum())
        self.busy_ns = int(steps["duration_ns"].sum())
        arrivals, e2e_ms = (requests[name][self.served] for name in ("arrival_ns", "e2e_ms"))
        # The last answer has left the API server.
        ends = arrivals + np.rint(e2e_ms * 1e6).astype(np.uint64)
        self.makespan_s = (int(ends.max()) - int(arrivals.min())) / 1e9 if self.completed else 0.0

    def report(self, resolved):
        """The fields of a report; settings are those of `resolved`, the report of a server."""
        reasons = {name: int((self.requests["outcome"] == name).sum()) for name in resolved["rejected_by_reason"]}
        figures = dict(
            **{name: self.latency(self.of_requests(name)) for name in ("ttft_ms", "tpot_ms", "e2e_ms", "queue_ms")},
            itl_ms=self.latency(self.of_gaps()),
            percentile_error=0.0,
            itl_percentile_error=0.0,
            **self.queue_growth(),
            throughput=self.throughput(),
            **self.shared_rates(resolved),
            cost=self.cost(resolved),
            energy_bound=self.energy_bound(resolved),
            requests=len(self.served),
            completed=self.completed,
            rejected=len(self.served) - self.completed,
            rejected_by_reason=reasons,
            truncated=self.truncated,
            preemptions=int(self.requests["preemptions"].sum()),
            steps=len(self.engine.steps),
            mean_step_ms=self.busy_ns / 1e6 / len(self.engine.steps) if self.engine.steps else None,
            makespan_s=self.makespan_s,
            busy_share=self.per_second(self.busy_ns / 1e9),
            running_mean=self.over_time("running"),
            batch_size=self.batch_size(),
            kv_blocks_peak=self.engine.peak_blocks,
            kv_blocks_mean=self.over_time("kv_blocks_used"),
            speculation=self.speculation(resolved["speculation"]),
            **dict.fromkeys(UNCOUNTED),
        )
        return {name: figures.get(name, value) for name, value in resolved.items()}

    def of_requests(self, name):
        """Mean and percentiles of a time of the requests, milliseconds; `None` without requests that have it."""
        values = self.requests[name][~np.isnan(self.requests[name])]
        if len(values) == 0:
            return None
        return stats(np.sort(values), np.ones(len(values), dtype=np.int64))

    def of_gaps(self):
        """Mean and percentiles of the gaps between tokens, milliseconds; `None` without gaps."""
        gaps = self.engine.gaps
        if not gaps:
            return None
        ns = np.array(sorted(gaps), dtype=np.int64)
        return stats(ns / 1e6, np.array([gaps[gap] for gap in ns.tolist()]))

    def latency(self, figures):
        """Figures, without the percentiles that chance would decide."""
        figures = figures or {}
        known = {name for name, of in PER_MILLE.items() if self.completed * (1000 - of) >= 1000 * MIN_BEYOND}
        percentiles = {name: figures.get(name) if name in known else None for name in PER_MILLE}
        return {"mean": figures.get("mean"), **percentiles}

    def queue_growth(self):
        """Mean queue times of the first and the last quarter, and whether they grow as under overload."""
        order = np.argsort(self.requests["arrival_ns"][self.served], kind="stable")
        queue = self.requests["queue_ms"][self.served][order]
        quarter = len(queue) // 4
        if quarter == 0:
            return dict(queue_growth=None, overloaded=False)
        first, last = (float(part.mean()) for part in (queue[:quarter], queue[-quarter:]))
        step_ms = self.busy_ns / 1e6 / len(self.engine.steps)
        growth = dict(first_quarter_ms=first, last_quarter_ms=last)
        overloaded = last > 2 * first + 10 * step_ms and not self.is_burst()
        return dict(queue_growth=growth, overloaded=overloaded)

    def is_burst(self):
        """Whether all requests arrive within five mean times in service."""
        arrivals, finish = self.requests["arrival_ns"], self.requests["finish_ns"][self.served]
        span_ns = min(int(arrivals.max()), int(finish.max())) - int(arrivals.min())
        in_service_ms = self.requests["e2e_ms"][self.served] - self.requests["queue_ms"][self.served]
        return span_ns < 5e6 * float(in_service_ms.mean())

    def cost(self, resolved):
        """The cost of the GPUs; `None` where their price is not known."""
        of = resolved["cost"]
        if of is None:
            return None
        hours = self.gpu_hours(resolved)
        usd = hours * of["usd_per_gpu_hour"]
        return of | dict(gpu_hours=hours, usd=usd, usd_per=self.per_work(usd))

    def energy_bound(self, resolved):
        """An upper bound of the energy of the GPUs; `None` where their thermal design power is not known."""
        of = resolved["energy_bound"]
        if of is None:
            return None
        hours = self.gpu_hours(resolved) * self.per_second(self.busy_ns / 1e9)
        wh = hours * of["tdp_w"]
        return of | dict(busy_gpu_hours=hours, wh=wh, wh_per=self.per_work(wh))

    def gpu_hours(self, resolved):
        """GPUs times hours of the makespan."""
        return resolved["gpus"] * self.makespan_s / 3600

    def per_work(self, amount):
        """An amount per work that was served."""
        output, total = self.tokens()
        works = dict(million_output_tokens=output / 1e6, million_tokens=total / 1e6, request=self.completed)
        return {name: amount / work if work else None for name, work in works.items()}

    def tokens(self):
        """Output tokens, and tokens of prompts and outputs, of the requests that were served."""
        prompts, outputs = (int(self.requests[name][self.served].sum()) for name in ("prompt_tokens", "output_tokens"))
        return outputs, prompts + outputs

    def throughput(self):
        """Work per second."""
        output, total = self.tokens()
        amounts = dict(requests_per_s=self.completed, output_tokens_per_s=output, total_tokens_per_s=total)
        return {name: self.per_second(amount) for name, amount in amounts.items()}

    def shared_rates(self, resolved):
        """Tokens per second of a user, 1 over the mean time per output token, and of a GPU."""
        tpot_ms = self.requests["tpot_ms"][~np.isnan(self.requests["tpot_ms"])]
        mean_ms = float(tpot_ms.mean()) if len(tpot_ms) else 0.0
        rates, gpus = self.throughput(), resolved["gpus"]
        per_gpu = {f"{name}_per_gpu": rates[name] / gpus for name in ("output_tokens_per_s", "total_tokens_per_s")}
        return dict(tokens_per_s_per_user=1e3 / mean_ms if mean_ms > 0 else None, **per_gpu)

    def batch_size(self):
        """Mean and percentiles of the requests of a step, weighted by its time."""
        sizes = self.steps["prefill_chunks"] + self.steps["decode_requests"]
        ns = np.bincount(sizes, weights=self.steps["duration_ns"]).astype(np.int64).tolist()
        if not ns:
            return None
        passed = list(accumulate(ns))
        mean = sum(size * of for size, of in enumerate(ns)) / self.busy_ns
        within = {percent: bisect_left(passed, Fraction(self.busy_ns * percent, 100)) for percent in PERCENTILES}
        return {"mean": mean, **{f"p{percent}": size for percent, size in within.items()}}

    def speculation(self, of):
        """Counts of drafts beside the settings; `None` without speculative decoding."""
        if of is None:
            return None
        drafting = self.steps["drafted_tokens"] > 0
        sums = {name: int(column[drafting].sum()) for name, column in self.steps.items()}
        verified = sums["decode_requests"] - sums["overrun_requests"]
        if not verified:
            return of | dict(tokens_per_step=None, accepted_share=None)
        share = sums["accepted_tokens"] / sums["drafted_tokens"]
        return of | dict(tokens_per_step=sums["yielded_tokens"] / verified, accepted_share=share)

    def per_second(self, amount):
        """An amount per second of the makespan."""
        return amount / self.makespan_s if self.makespan_s > 0 else 0.0

    def over_time(self, name):
        """A column of the steps, averaged over the makespan."""
        weighed = int(np.dot(self.steps[name].astype(np.int64), self.steps["duration_ns"].astype(np.int64)))
        return self.per_second(weighed / 1e9)


def stats(values, counts):
    """Mean and percentiles of ascending values that occur `counts` times; percentiles are interpolated linearly."""
    number = int(counts.sum())
    mean = float(np.dot(values, counts)) / number
    ends = np.cumsum(counts)

    def percentile(per_mille):
        rank = (number - 1) * per_mille
        low, high = (float(values[np.searchsorted(ends, at, side="right")]) for at in (rank // 1000, -(-rank // 1000)))
        return low + (high - low) * (rank % 1000 / 1000)

    return {"mean": mean, **{name: percentile(per_mille) for name, per_mille in PER_MILLE.items()}}
