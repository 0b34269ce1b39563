"""Requests to an OpenAI-compatible server, each timed."""

import asyncio
import json
import random
import time
from dataclasses import dataclass, field

from ..errors import UserError
from .target import Target

try:
    import aiohttp
except ImportError:  # An extra: kernels are measured without it.
    aiohttp = None

#: Answers that another attempt may change.
_RETRIED = (429, 502, 503, 504)
_BACKOFF_S, _LONGEST_BACKOFF_S = 0.2, 30.0
_LONGEST_ERROR = 300
#: Less than the 5 s after which uvicorn, the HTTP server of vLLM and SGLang, closes an idle connection: a
#: request would meet the closing.
_KEEP_ALIVE_S = 3.0
_MODELS = "/v1/models"
ENDPOINTS = {"completions": "/v1/completions", "chat": "/v1/chat/completions"}


@dataclass
class Answer:
    """The outcome of a request. Times are of its last attempt, on the clock of `time.perf_counter`."""

    prompt_tokens: int
    start_s: float
    #: Time at which each event with a token came.
    times_s: list[float] = field(default_factory=list)
    output_tokens: int = 0
    error: str = ""
    retries: int = 0
    end_s: float = 0.0

    @property
    def ttft_s(self) -> float:
        """Time to the first token; 0 without one."""
        return self.times_s[0] - self.start_s if self.times_s else 0.0

    @property
    def e2e_s(self) -> float:
        """Time to the last token; 0 without one."""
        return self.times_s[-1] - self.start_s if self.times_s else 0.0

    @property
    def gaps_s(self) -> list[float]:
        """Times between events with tokens."""
        return [after - before for before, after in zip(self.times_s, self.times_s[1:])]


@dataclass(frozen=True)
class Settings:
    """How requests are sent."""

    endpoint: str = "completions"
    timeout_s: float = 600.0
    retries: int = 3


class _Refused(Exception):
    """The server answered with an error."""

    def __init__(self, status: int, text: str, after_s: float = 0.0):
        super().__init__(text)
        self.status, self.after_s = status, after_s


class Client:
    """Sends requests; for use with `async with`."""

    def __init__(self, target: Target, settings: Settings):
        if aiohttp is None:
            raise UserError("serve needs aiohttp, which is not installed; install it: pip install aiohttp")
        self._target, self.settings = target, settings
        self._path = ENDPOINTS[settings.endpoint]
        self._backoff = random.Random()

    async def __aenter__(self) -> "Client":
        self._session = aiohttp.ClientSession(
            # No limit: a request must not wait here for another to end.
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE_S),
            timeout=aiohttp.ClientTimeout(total=self.settings.timeout_s),
            headers=self._target.headers,
        )
        return self

    async def __aexit__(self, *_) -> None:
        await self._session.close()

    async def models(self) -> list[dict]:
        """Returns what the server lists."""
        where = self._target.shown(_MODELS)
        try:
            async with self._session.get(self._target.at(_MODELS), allow_redirects=False) as response:
                text = await response.text(errors="replace")
                status = response.status
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise UserError(
                f"{where}: expected the models of an OpenAI-compatible server, found no answer "
                f"({self._reason(error)}); check --url, and that the server runs"
            ) from None
        if status in (401, 403):
            raise UserError(
                f"{where}: HTTP {status}: the server wants a key, or another one; "
                "name the variable that holds it with --api-key-env"
            )
        try:
            found = [{"id": str(each["id"]), "root": each.get("root")} for each in json.loads(text)["data"]]
        except (ValueError, KeyError, TypeError, AttributeError):
            found = None
        if status != 200 or found is None:
            what = f"HTTP {status}" if status != 200 else "something else"
            raise UserError(
                f"{where}: expected the models of an OpenAI-compatible server, found {what}; "
                "check --url: http://HOST:PORT, without the path of an endpoint"
            )
        return found

    async def send(self, body: bytes, prompt_tokens: int) -> Answer:
        """Sends a request until an attempt succeeds or may not be repeated."""
        for attempt in range(self.settings.retries + 1):
            answer = Answer(prompt_tokens, time.perf_counter(), retries=attempt)
            wait_s = _BACKOFF_S * 2.0**attempt * self._backoff.uniform(0.5, 1.5)
            may_repeat = False
            try:
                await self._attempt(body, answer)
            except TimeoutError:
                answer.error = f"no whole answer in {self.settings.timeout_s:g} s (--timeout)"
            except _Refused as error:
                answer.error = self._reason(error)
                may_repeat, wait_s = error.status in _RETRIED, max(wait_s, error.after_s)
            except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError) as error:
                answer.error, may_repeat = f"connection: {self._reason(error)}", True
            except (aiohttp.ClientError, ValueError) as error:
                answer.error = self._reason(error)
            except (KeyError, TypeError, AttributeError) as error:
                answer.error = f"expected events as of OpenAI's API, found others ({error!r})"
            answer.end_s = time.perf_counter()
            if not answer.error or not may_repeat or attempt == self.settings.retries:
                break
            await asyncio.sleep(min(wait_s, _LONGEST_BACKOFF_S))
        return answer

    async def _attempt(self, body: bytes, answer: Answer) -> None:
        headers = {"Content-Type": "application/json"}
        url = self._target.at(self._path)
        answer.start_s = time.perf_counter()
        async with self._session.post(url, data=body, headers=headers, allow_redirects=False) as response:
            if response.status != 200:
                text = (await response.content.read(1 << 16)).decode(errors="replace")
                after = response.headers.get("Retry-After", "")
                text = f"HTTP {response.status}: {_message(text) or response.reason}"
                raise _Refused(response.status, text, float(after) if after.isdecimal() else 0.0)
            if response.content_type != "text/event-stream":
                raise ValueError(f"expected a stream of events, found {response.content_type}")
            await _take(response.content, answer)

    def _reason(self, error: Exception) -> str:
        error = getattr(error, "os_error", error)  # Without the words around it of aiohttp.
        text = " ".join(self._target.hide(str(error)).split())[:_LONGEST_ERROR]
        return text or type(error).__name__


async def _take(content, answer: Answer) -> None:
    """Takes the events of a stream in."""
    rest, usage, is_last_empty = b"", None, False
    async for received in content.iter_any():
        now = time.perf_counter()
        *lines, rest = (rest + received).split(b"\n")
        for line in lines:
            data = line.strip().removeprefix(b"data:").strip()
            if not line.startswith(b"data:") or data == b"[DONE]":
                continue
            event = json.loads(data)
            if event.get("error"):
                raise ValueError(f"the stream had an error: {_message(data.decode(errors='replace'))}")
            usage = event.get("usage") or usage
            if event.get("choices") and not _is_role(event["choices"][0]):
                answer.times_s.append(now)
                is_last_empty = _is_empty(event["choices"][0])
    if usage is None:
        raise ValueError("the stream ended without the usage that stream_options.include_usage asks for")
    answer.prompt_tokens, answer.output_tokens = usage["prompt_tokens"], usage["completion_tokens"]
    if not answer.output_tokens or not answer.times_s:
        raise ValueError("the answer has no token")
    if is_last_empty and len(answer.times_s) > answer.output_tokens:
        answer.times_s.pop()  # Only the reason why it ended.


def _is_role(choice: dict) -> bool:
    """Whether this is the beginning of a chat's answer, before any token."""
    return bool((choice.get("delta") or {}).get("role")) and _is_empty(choice)


def _is_empty(choice: dict) -> bool:
    delta = choice.get("delta") or {}
    texts = (choice.get("text"), *(delta.get(key) for key in ("content", "reasoning_content", "reasoning")))
    return not any(texts) and not delta.get("tool_calls")


def _message(text: str) -> str:
    """The message of an error, in JSON or not."""
    try:
        found = json.loads(text)
        error = found.get("error", found)
        return str(error["message"] if isinstance(error, dict) else error)
    except (ValueError, KeyError, TypeError, AttributeError):
        return text
