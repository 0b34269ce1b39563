"""A mock inference server that answers at the times of a simulated one.

It has the endpoints of vLLM's OpenAI server and of SGLang's that benchmark clients use. A `rooflut.Server` says when each
token leaves the engine; the answer is made of words that are one token each. Standing in for network and HTTP server is
the time that this process itself takes. With --step-ms and --no-tokenizer it needs aiohttp only: a word is a token.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import time

from aiohttp import web


class FixedServer:
    """A server in the form of `rooflut.Server` whose steps all take the same time, whatever is in them."""

    kv_blocks, kv_blocks_used, waiting = 1, 0, 0

    def __init__(self, step_ms: float) -> None:
        self.step_ns = int(step_ms * 1e6)
        self.now_ns = 0
        self.left: dict[int, list[int]] = {}  # tokens to come and arrival
        self.numbers = itertools.count()

    @property
    def running(self) -> int:
        return len(self.left)

    @property
    def is_idle(self) -> bool:
        return not self.left

    def push(self, prompt_tokens: int, output_tokens: int, arrival_ns: int) -> int:
        number = next(self.numbers)
        self.left[number] = [output_tokens, arrival_ns]
        return number

    def step(self) -> dict:
        start = max(self.now_ns, min(arrival for _, arrival in self.left.values()))
        numbers = [n for n, (_, arrival) in self.left.items() if arrival <= start]
        for number in numbers:
            self.left[number][0] -= 1
            if self.left[number][0] == 0:
                del self.left[number]
        self.now_ns = start + self.step_ns
        return {"start_ns": start, "duration_ns": self.step_ns, "tokens": [(n, 1) for n in numbers]}


def server(step_ms: float | None, engine: str):
    if step_ms:
        return FixedServer(step_ms)
    import rooflut

    return rooflut.Deployment(model="llama-3.1-8b", gpu="h100", engine=engine, max_model_len=MAX_MODEL_LEN).server()


MAX_MODEL_LEN = 8192


class Engine:
    """Runs the simulated server in real time."""

    def __init__(self, simulated) -> None:
        self.server = simulated
        self.queues: dict[int, asyncio.Queue[int]] = {}
        self.wake = asyncio.Event()
        self.start = time.monotonic_ns()
        self.prompt_tokens = self.output_tokens = 0

    async def run(self) -> None:
        while True:
            if self.server.is_idle:
                self.wake.clear()
                await self.wake.wait()
            step = self.server.step()
            if step is None:
                continue
            end_ns = step["start_ns"] + step["duration_ns"]
            await asyncio.sleep((self.start + end_ns - time.monotonic_ns()) / 1e9)
            for request, count in step["tokens"]:
                self.queues[request].put_nowait(count)

    async def tokens(self, prompt: int, output: int):
        """Yields how many tokens leave the engine at a time."""
        # A step that ends later is in flight: the request joins after it.
        now = max(time.monotonic_ns() - self.start, self.server.now_ns)
        request = self.server.push(prompt_tokens=prompt, output_tokens=output, arrival_ns=now)
        queue = self.queues[request] = asyncio.Queue()
        self.wake.set()
        self.prompt_tokens += prompt
        while output:
            count = await queue.get()
            output -= count
            self.output_tokens += count
            yield count
        # The queue stays: a client that leaves early does not stop its request.


class Api:
    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.tokenizer, self.words = None, [" one", " two", " three"]
        if not args.no_tokenizer:
            from tokenizers import Tokenizer

            self.tokenizer = Tokenizer.from_file(f"{args.tokenizer}/tokenizer.json")
            vocabulary = self.tokenizer.get_vocab()
            self.words = sorted(" " + w[1:] for w in vocabulary if w[0] == "Ġ" and w[1:].isascii() and w[1:].isalpha())
        self.requests = itertools.count(1)
        self.engine = Engine(server(args.step_ms, args.engine))

    def count(self, prompt) -> int:
        if isinstance(prompt, list) and prompt and isinstance(prompt[0], int):
            return len(prompt)
        if isinstance(prompt, list):
            return sum(self.count(part) for part in prompt)
        if self.tokenizer is None:
            return len(prompt.split())
        return len(self.tokenizer.encode(prompt, add_special_tokens=False).ids)

    def text(self, first: int, count: int) -> str:
        return "".join(self.words[(first + i) * 7 % len(self.words)] for i in range(count))

    async def answer(self, request: web.Request, prompt: int, output: int, chunk, last, stream: bool):
        """Sends an answer in the form of `chunk(text, tokens so far, finished)`, and `last` at the end of a stream."""
        number = next(self.requests)
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.args.api_key and given != self.args.api_key:
            return web.json_response({"error": {"message": f"wrong API key: {given}", "code": 401}}, status=401)
        if self.args.fail_every and number % self.args.fail_every == 0:
            code = self.args.fail_status
            return web.json_response({"error": {"message": "the engine is overloaded", "code": code}}, status=code)
        tokens = self.engine.tokens(prompt, output)
        sent = 0
        if not stream:
            async for count in tokens:
                sent += count
            return web.json_response(chunk(self.text(number, sent), sent, True))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        with contextlib.suppress(ConnectionResetError):  # A client that leaves early.
            async for count in tokens:
                body = chunk(self.text(number + sent, count), sent + count, sent + count == output)
                sent += count
                await response.write(b"data: %s\n\n" % json.dumps(body).encode())
                if self.args.break_every and number % self.args.break_every == 0:
                    request.transport.abort()
            for body in last:
                await response.write(b"data: %s\n\n" % json.dumps(body).encode())
            await response.write(b"data: [DONE]\n\n")
        return response

    async def openai(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        is_chat = "messages" in body
        if is_chat:
            content = [m["content"] for m in body["messages"]]
            prompt = sum(self.count(c if isinstance(c, str) else [p["text"] for p in c]) for c in content)
        else:
            prompt = self.count(body["prompt"])
        output = body.get("max_completion_tokens") or body.get("max_tokens") or 128
        stream = body.get("stream", False)
        kind = "chat.completion" if is_chat else "text_completion"
        head = {"id": "cmpl-0", "created": int(time.time()), "model": self.args.model}
        head["object"] = kind + (".chunk" if is_chat and stream else "")
        usage = {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}

        def chunk(text: str, _sent: int, finished: bool) -> dict:
            choice = {"index": 0, "finish_reason": "length" if finished else None}
            if is_chat:
                choice["delta" if stream else "message"] = {"role": "assistant", "content": text}
            else:
                choice["text"] = text
            return head | {"choices": [choice]} | ({} if stream else {"usage": usage})

        with_usage = (body.get("stream_options") or {}).get("include_usage")
        last = [head | {"choices": [], "usage": usage}] if with_usage else []
        return await self.answer(request, prompt, output, chunk, last, stream)

    async def generate(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        prompt = self.count(body.get("text") or body["input_ids"])
        output = body["sampling_params"].get("max_new_tokens", 128)
        so_far = ""

        def chunk(text: str, sent: int, finished: bool) -> dict:
            nonlocal so_far
            so_far += text  # SGLang sends the whole text each time
            reason = {"type": "length", "length": output} if finished else None
            meta = {"id": "0", "finish_reason": reason, "prompt_tokens": prompt, "completion_tokens": sent}
            return {"text": so_far, "meta_info": meta}

        return await self.answer(request, prompt, output, chunk, [], body.get("stream", False))

    async def models(self, _: web.Request) -> web.Response:
        model = {"id": self.args.model, "object": "model", "owned_by": "vllm", "root": self.args.model}
        model["max_model_len"] = MAX_MODEL_LEN
        return web.json_response({"object": "list", "data": [model]})

    async def model_info(self, _: web.Request) -> web.Response:
        return web.json_response({"model_path": self.args.model, "is_generation": True})

    async def metrics(self, _: web.Request) -> web.Response:
        engine, server = self.engine, self.engine.server
        rows = [
            ("num_requests_running", "gauge", server.running),
            ("num_requests_waiting", "gauge", server.waiting),
            ("kv_cache_usage_perc", "gauge", server.kv_blocks_used / server.kv_blocks),
            ("prompt_tokens_total", "counter", engine.prompt_tokens),
            ("generation_tokens_total", "counter", engine.output_tokens),
        ]
        label = f'{{engine="0",model_name="{self.args.model}"}}'
        text = "".join(f"# TYPE vllm:{n} {t}\nvllm:{n}{label} {v}\n" for n, t, v in rows)
        return web.Response(text=text, content_type="text/plain")

    async def health(self, _: web.Request) -> web.Response:
        return web.Response()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--model", default="meta-llama/Llama-3.1-8B-Instruct")
    parser.add_argument("--tokenizer", default="tokenizer", help="folder made by tokenizer.py")
    parser.add_argument("--no-tokenizer", action="store_true", help="a word is a token")
    parser.add_argument("--fail-every", type=int, default=0, metavar="N", help="answer every Nth request with --fail-status")
    parser.add_argument("--fail-status", type=int, default=503, metavar="STATUS", help="default: 503")
    parser.add_argument("--break-every", type=int, default=0, metavar="N", help="cut every Nth answer off after its first token")
    parser.add_argument("--api-key", metavar="KEY", help="answer requests with another key with status 401")
    parser.add_argument("--engine", default="vllm-0.11.0", help="engine stack of rooflut, or its file (default: vllm-0.11.0)")
    parser.add_argument("--step-ms", type=float, help="steps of this time instead of those of rooflut")
    args = parser.parse_args()
    api = Api(args)
    app = web.Application(client_max_size=64 * 2**20)
    for path in ("/v1/completions", "/v1/chat/completions"):
        app.router.add_post(path, api.openai)
    app.router.add_post("/generate", api.generate)
    app.router.add_post("/flush_cache", api.health)
    app.router.add_get("/v1/models", api.models)
    app.router.add_get("/metrics", api.metrics)
    for path in ("/get_model_info", "/model_info", "/get_server_info", "/server_info"):
        app.router.add_get(path, api.model_info)
    for path in ("/health", "/health_generate"):
        app.router.add_get(path, api.health)

    async def started(_: web.Application) -> None:
        app["engine"] = asyncio.create_task(api.engine.run())

    app.on_startup.append(started)
    web.run_app(app, host="127.0.0.1", port=args.port, print=None)


if __name__ == "__main__":
    main()
