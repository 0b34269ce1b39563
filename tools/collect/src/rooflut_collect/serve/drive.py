"""Sends the requests of a load, in a closed or an open loop."""

import asyncio
import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from .client import Answer, Client
from .load import Load

#: A load ends early when more than this part of its requests has failed.
FAILED_PART = 10
#: Token ids of text in every large vocabulary: after the special ones and the single bytes, and before
#: 32,000, the size of the smallest.
_TOKENS = range(1_000, 30_000)
#: Words that are one token each, with the space before them, in most vocabularies.
_TEXT = (
    "about after all also and any are been before but can could day even find first for from get give good "
    "great had have her here him his how into just know last life like long made make man many may more most "
    "much must new not now old one only other our out over own part people place right said same see should"
)
_WORDS = _TEXT.split()
#: Bodies of so many tokens are drawn before a load begins (some 60 MB), others when they are needed: to draw
#: 8,000 tokens takes 2 ms, in which no answer is read.
_DRAWN_TOKENS = 10_000_000
#: A warm-up need not be long: the first step of each kind is the slow one.
_WARM_UP_OUTPUT = 16


class LoadFailed(Exception):
    """Too many requests failed, or one of the warm-up."""


@dataclass
class Driven:
    """The outcome of a load."""

    began: datetime
    answers: list[Answer] = field(default_factory=list)
    max_in_flight: int = 0
    #: Longest time by which a request of an open loop was sent late.
    late_s: float = 0.0
    #: CPU time of this process.
    cpu_s: float = 0.0

    @property
    def failed(self) -> list[Answer]:
        """Requests without a whole answer."""
        return [answer for answer in self.answers if answer.error]


@dataclass(frozen=True)
class Requests:
    """Bodies of the requests of a load. The same seed draws the same."""

    load: Load
    model: str
    endpoint: str
    seed: int
    #: Bodies by number, as far as they are drawn.
    _drawn: dict[int, bytes] = field(default_factory=dict, repr=False, compare=False)

    async def draw(self) -> None:
        """Draws bodies ahead."""
        for number in range(min(self.load.requests, _DRAWN_TOKENS // self.load.prompt_tokens)):
            self._drawn[number] = self.body(number)
            await asyncio.sleep(0)  # Ctrl-C comes in here.

    def take(self, number: int) -> bytes:
        """The body of this number, once."""
        return self._drawn.pop(number, None) or self.body(number)

    def body(self, number: object, output_tokens: int | None = None) -> bytes:
        """The request of this number."""
        drawn = random.Random(f"{self.seed} {self.load.name} {number}")
        output = output_tokens or self.load.output_tokens
        values = {"model": self.model, "max_tokens": output, "ignore_eos": True, "temperature": 0.0}
        values |= {"stream": True, "stream_options": {"include_usage": True}}
        if self.endpoint == "chat":
            text = " ".join(drawn.choices(_WORDS, k=self.load.prompt_tokens))
            values["messages"] = [{"role": "user", "content": text}]
        else:
            values["prompt"] = drawn.choices(_TOKENS, k=self.load.prompt_tokens)
        return json.dumps(values, separators=(",", ":")).encode()

    def gaps(self):
        """Times between requests of an open loop: exponential, the first 0."""
        drawn = random.Random(f"{self.seed} {self.load.rate} arrivals")
        yield 0.0
        while True:
            yield drawn.expovariate(self.load.rate)


async def warm_up(client: Client, requests: Requests, count: int) -> None:
    """Sends requests that are not counted, at once."""
    output = min(requests.load.output_tokens, _WARM_UP_OUTPUT)
    bodies = [requests.body(f"warm-up {number}", output) for number in range(count)]
    answers = await asyncio.gather(*(client.send(body, requests.load.prompt_tokens) for body in bodies))
    failed = [answer for answer in answers if answer.error]
    if failed:
        raise LoadFailed(f"{len(failed)} of {count} requests of the warm-up failed: {failed[0].error}")


async def drive(client: Client, requests: Requests, driven: Driven, tell: Callable[[Answer], None]) -> None:
    """Sends the requests; `driven` has what came of them, also where this ends early."""
    load = requests.load
    allowed = load.requests // FAILED_PART
    in_flight = failed = 0

    async def send(body: bytes) -> None:
        nonlocal in_flight, failed
        in_flight += 1
        driven.max_in_flight = max(driven.max_in_flight, in_flight)
        answer = await client.send(body, load.prompt_tokens)
        in_flight -= 1
        driven.answers.append(answer)
        tell(answer)
        failed += bool(answer.error)
        if failed > allowed:
            raise LoadFailed

    cpu_s = time.process_time()
    try:
        async with asyncio.TaskGroup() as group:
            if load.rate:
                await _open(requests, driven, lambda body: group.create_task(send(body)))
            else:
                _closed(requests, send, group)
    except* LoadFailed:
        raise LoadFailed(
            f"{len(driven.failed)} of {load.requests} requests failed, more than a tenth: "
            f"ended after {len(driven.answers)}; first error: {driven.failed[0].error}"
        ) from None
    finally:
        driven.cpu_s = time.process_time() - cpu_s


def _closed(requests: Requests, send, group: asyncio.TaskGroup) -> None:
    numbers = iter(range(requests.load.requests))

    async def user() -> None:
        for number in numbers:
            await send(requests.take(number))

    for _ in range(min(requests.load.users or requests.load.requests, requests.load.requests)):
        group.create_task(user())


async def _open(requests: Requests, driven: Driven, start) -> None:
    # With users, too: requests wait here for one in flight to end, as in `vllm bench serve`.
    places = asyncio.Semaphore(requests.load.users or requests.load.requests)
    due_s = None
    for number, gap_s in zip(range(requests.load.requests), requests.gaps()):
        body = requests.take(number)
        due_s = time.perf_counter() if due_s is None else due_s + gap_s
        await asyncio.sleep(max(0.0, due_s - time.perf_counter()))
        driven.late_s = max(driven.late_s, time.perf_counter() - due_s)
        await places.acquire()
        start(body).add_done_callback(lambda _: places.release())
