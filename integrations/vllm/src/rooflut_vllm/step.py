"""Steps of an engine, and the progress of its requests."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Step:
    """The work of a step."""

    #: Start and schedule, nanoseconds.
    start: int
    planned_at: int
    #: Preemptions when it was scheduled, and before it in schedules that had no work left.
    preempted: int = 0
    #: Nanoseconds.
    duration: int = 0
    #: Parts of prompts: request, new tokens, KV length at their end, and whether the prompt ends.
    chunks: list | None = field(default_factory=list)
    prefill_chunks: int = 0
    prefill_tokens: int = 0
    #: Decoding requests: request, new tokens, and KV length at their end.
    decodes: list | None = field(default_factory=list)
    decode_requests: int = 0
    kv_tokens: int = 0
    #: Decoding requests without a token in the step before, and those without one in this step.
    late: int = 0
    overrun: int = 0
    #: Drafts and accepted ones, and tokens of requests that verify drafts.
    drafted: int = 0
    accepted: int = 0
    yielded: int = 0
    #: Running and waiting requests and KV blocks in use.
    state: tuple[int, int, int] | None = None

    @property
    def end(self):
        """End, nanoseconds."""
        return self.start + self.duration

    def add_chunk(self, id, new, kv_len, is_last):
        """Adds a part of a prompt."""
        self.chunks.append((id, new, kv_len, is_last))
        self.prefill_chunks += 1
        self.prefill_tokens += new

    def add_decode(self, id, new, kv_len):
        """Adds a decoding request."""
        self.decodes.append((id, new, kv_len))
        self.decode_requests += 1
        self.kv_tokens += kv_len


@dataclass(slots=True)
class Sequence:
    """The progress of a request."""

    prompt: int
    output: int
    #: Token number `i`.
    text: Callable[[int], int]
    sampled: int = 0
    #: Tokens that are known when it is admitted, for the first time or again.
    target: int = 0
    #: When its first step was scheduled.
    scheduled_ns: int | None = None
    first_ns: int | None = None
    #: Requests with a token in the step of the first one.
    outputs_of_first: int = 0
    #: The last token: its time and its step.
    token_ns: int | None = None
    token_step: int | None = None
    finished_ns: int | None = None
    preemptions: int = 0

    def sample(self, count):
        """Samples the next tokens; returns them."""
        first = self.prompt + self.sampled
        self.sampled += count
        return [self.text(first + number) for number in range(count)]

    def late_ns(self, api_output_ns):
        """Delay of its tokens: the API server takes `api_output_ns` for each output of the step with the first one."""
        return self.outputs_of_first * api_output_ns
