"""`rooflut-collect serve`: sends loads to a running server, and writes a result of each."""

import argparse
import asyncio
import json
import secrets
import signal
import time
from datetime import datetime
from pathlib import Path

from ..errors import UserError, comma
from ..folder import write_atomically
from ..progress import Progress, duration
from ..serve import load as loads
from ..serve import result
from ..serve.client import ENDPOINTS, Answer, Client, Settings
from ..serve.drive import Driven, LoadFailed, Requests, drive, warm_up
from ..serve.load import Load
from ..serve.target import Target, key_of_environment
from . import options
from .run import INTERRUPTED

_PROMPT, _OUTPUT, _WARM_UP, _TIMEOUT_S, _RETRIES = 512, 128, 4, 600.0, 3
#: Requests where --requests is not given: rounds of each user, and at least so many.
_ROUNDS, _FEWEST_REQUESTS = 10, 100

_EXAMPLES = """\
examples:
  # 160 requests, 16 at a time, then 320, 32 at a time; and a Poisson process of 2.5 requests per second:
  rooflut-collect serve --url http://localhost:8000 --users 16,32 --prompt 512 --output 128 --out results
  rooflut-collect serve --url http://localhost:8000 --rate 2.5 --requests 200 --out results

  # Loads from a file, each line a command such as
  #   vllm bench serve --model MODEL --max-concurrency 16 --num-prompts 160 --random-input-len 512
  rooflut-collect serve --url https://llm.example --api-key-env LLM_KEY --loads loads.txt --out results

  # The measurement beside the prediction:
  rooflut observe results/users-16_512-128.json --gpu h100
"""


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EXAMPLES
    parser.add_argument("--url", required=True, metavar="URL", help="the server: http://HOST:PORT")
    group = parser.add_argument_group("loads, a result each")
    which = group.add_mutually_exclusive_group(required=True)
    which.add_argument("--loads", type=Path, metavar="FILE", help="a `vllm bench serve ...` command per line")
    which.add_argument(
        "--users",
        type=_several(loads.count),
        metavar="N,...",
        help="closed loop: each user sends its next request when the last is answered",
    )
    which.add_argument(
        "--rate",
        type=_several(loads.rate),
        metavar="R,...",
        help="open loop: a Poisson process of R requests per second; inf sends all at once",
    )
    group.add_argument(
        "--requests",
        type=options.count,
        metavar="N",
        help=f"requests (default: {_ROUNDS} per user, at least {_FEWEST_REQUESTS})",
    )
    for name, default in (("prompt", _PROMPT), ("output", _OUTPUT)):
        text = f"tokens of each {name} (default: {default})"
        group.add_argument(f"--{name}", type=options.count, metavar="N", help=text)
    group.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="seed of prompts and arrivals (default: another for each load: a server that caches prefixes "
        "answers the same prompts sooner the second time)",
    )
    group = parser.add_argument_group("requests")
    group.add_argument(
        "--endpoint",
        choices=tuple(ENDPOINTS),
        default="completions",
        help="completions: prompts are token ids; chat: about as many words (default: completions)",
    )
    group.add_argument(
        "--model", metavar="NAME", help="model as the server names it (default: the one that it lists)"
    )
    group.add_argument(
        "--api-key-env", metavar="NAME", help="environment variable that holds the key; it is written nowhere"
    )
    group.add_argument(
        "--timeout",
        type=options.positive,
        metavar="S",
        default=_TIMEOUT_S,
        help=f"seconds that an answer may take (default: {_TIMEOUT_S:g})",
    )
    group.add_argument(
        "--retries",
        type=options.natural,
        metavar="N",
        default=_RETRIES,
        help="how often a request is sent again after a connection error or HTTP 429, 502, 503, 504; times "
        f"are those of the last attempt (default: {_RETRIES})",
    )
    group.add_argument(
        "--warm-up",
        type=options.natural,
        metavar="N",
        default=_WARM_UP,
        help=f"requests before each load that are not counted (default: {_WARM_UP})",
    )
    group = parser.add_argument_group("results")
    group.add_argument(
        "--out", type=Path, metavar="FOLDER", default=Path("served"), help="where they go (default: served)"
    )
    group.add_argument("--force", action="store_true", help="measure again what has a result, and replace it")


def _several(convert):
    def convert_all(text: str) -> list:
        try:
            return list(dict.fromkeys(convert(word) for word in text.split(",")))
        except ValueError:
            expected = "positive numbers, separated by commas"
            raise argparse.ArgumentTypeError(f"expected {expected}, found {text!r}") from None

    return convert_all


def execute(arguments: argparse.Namespace) -> int:
    """Runs: 0 where each load has a result, 1 where one failed, 130 where Ctrl-C or SIGTERM ended it."""
    wanted = _loads(arguments)
    target = Target(arguments.url, key_of_environment(arguments.api_key_env))
    todo = [load for load in wanted if arguments.force or not _is_done(arguments, target, load)]
    progress = Progress([load.name for load in todo for _ in range(load.requests)])
    for load in wanted:
        if load not in todo:
            progress.note(f"{load.name}: is in {_path(arguments, load)}; left as it is (--force replaces it)")
    if not todo:
        return 0
    run = _Run(arguments, target, progress)
    try:
        arguments.out.mkdir(parents=True, exist_ok=True)
        return asyncio.run(run.all(todo))
    except OSError as error:
        raise UserError(f"{error}; give an --out that can be written; results that are there stay") from None
    except asyncio.CancelledError:
        more = "results of those before are there" if arguments.force else "the same command goes on"
        progress.note(f"stopped with {len(todo) - run.ended} of {len(wanted)} loads left; {more}")
        return INTERRUPTED
    finally:
        progress.close()


def _loads(arguments: argparse.Namespace) -> list[Load]:
    if arguments.loads:
        for flag in ("--requests", "--prompt", "--output"):
            if getattr(arguments, flag[2:]) is not None:
                raise UserError(f"{flag}: found beside --loads, whose lines say it; remove it")
        return loads.read(arguments.loads)
    prompt, output = arguments.prompt or _PROMPT, arguments.output or _OUTPUT
    found = []
    for users in arguments.users or ():
        requests = arguments.requests or max(_ROUNDS * users, _FEWEST_REQUESTS)
        found.append(Load(requests, prompt, output, users=users))
    for rate in arguments.rate or ():
        requests = arguments.requests or _FEWEST_REQUESTS
        found.append(Load(requests, prompt, output, rate=None if rate == float("inf") else rate))
    return found


def _path(arguments: argparse.Namespace, load: Load, end: str = ".json") -> Path:
    return arguments.out / (load.name + end)


def _is_done(arguments: argparse.Namespace, target: Target, load: Load) -> bool:
    """Whether the folder has the result of this load; refuses to take another's for it."""
    path = _path(arguments, load)
    try:
        values = json.loads(path.read_text())
        found = {name: values[name] for name in ("num_prompts", "model_id", "backend")}
        found |= values.get("rooflut_collect", {})  # vLLM's client wrote none.
    except FileNotFoundError:
        return False
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path}: expected a result of this load, could not read {error!r}; "
            "give another --out, or replace it with --force"
        ) from None
    wanted = {
        "num_prompts": load.requests,
        "model_id": load.model or arguments.model,
        "backend": result.BACKENDS[arguments.endpoint],
        "url": target.shown(),
        "seed": arguments.seed if load.seed is None else load.seed,
    }
    for name, value in wanted.items():
        if value is not None and found.get(name, value) != value:
            raise UserError(
                f"{path}: expected the result of this load, {name} {value}, found {name} {found[name]}; "
                "give another --out, or replace it with --force"
            )
    return True


class _Run:
    """The loads of a command, one after another."""

    def __init__(self, arguments: argparse.Namespace, target: Target, progress: Progress):
        self._arguments, self._target, self._progress = arguments, target, progress
        #: Loads that have ended, by a result or by failing.
        self.ended = 0

    async def all(self, todo: list[Load]) -> int:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, task.cancel)
        arguments = self._arguments
        failed = []
        async with Client(
            self._target, Settings(arguments.endpoint, arguments.timeout, arguments.retries)
        ) as client:
            listed = await self._listed(client)
            models = [self._model(load, listed) for load in todo]
            for load, model in zip(todo, models):
                requests = Requests(load, model, arguments.endpoint, self._seed(load))
                if not await self._load(client, requests):
                    failed.append(load.name)
                self.ended += 1
        if failed:
            raise UserError(
                f"{len(failed)} of {len(todo)} loads failed ({comma(failed)}); the others have results in "
                f"{arguments.out}; the same command measures the failed ones again"
            )
        return 0

    async def _listed(self, client: Client) -> list[dict]:
        try:
            return await client.models()
        except UserError:
            if self._arguments.model is None:
                raise
            return []  # The first request says what is wrong, if anything is.

    def _model(self, load: Load, listed: list[dict]) -> str:
        """The name of the model in requests."""
        names = [model["id"] for model in listed]
        wanted = load.model if self._arguments.model is None else self._arguments.model
        # A server may have a model under another name: its root is the model that it was started with.
        if self._arguments.model is None and len(names) == 1 and wanted in (None, listed[0]["root"]):
            return names[0]
        if wanted is not None and (wanted in names or not names):
            return wanted
        found = f"{len(names)} models ({comma(names)})" if len(names) != 1 else names[0]
        expected = "one model" if wanted is None else f"the model {wanted}"
        raise UserError(
            f"{load.place}{self._target.shown()}: expected {expected}, found {found}; choose with --model"
        )

    def _seed(self, load: Load) -> int:
        drawn = secrets.randbelow(2**31)
        return next(seed for seed in (load.seed, self._arguments.seed, drawn) if seed is not None)

    async def _load(self, client: Client, requests: Requests) -> bool:
        load, progress = requests.load, self._progress
        driven = Driven(datetime.now())
        last_s = time.monotonic()

        def tell(answer: Answer) -> None:
            nonlocal last_s
            now = time.monotonic()
            text = f"TTFT {1e3 * answer.ttft_s:.0f} ms" if not answer.error else answer.error
            progress.row(load.name, now - last_s, f"{load.name}: {text}")
            last_s = now

        await requests.draw()
        try:
            await warm_up(client, requests, self._arguments.warm_up)
            driven = Driven(datetime.now())
            last_s = time.monotonic()
            await drive(client, requests, driven, tell)
        except LoadFailed as error:
            written = {"error": str(error), "partial": self._result(requests, driven)}
            path = _path(self._arguments, load, ".failed.json")
            write_atomically(path, json.dumps(written) + "\n")
            progress.note(f"{load.name}: {error}; what there was is in {path}; see the log of the server")
            return False
        path = _path(self._arguments, load)
        if path.exists() and not self._arguments.force:
            raise UserError(f"{path}: expected no file, found one that came meanwhile; give another --out")
        measured = self._result(requests, driven)
        write_atomically(path, json.dumps(measured) + "\n")
        progress.note(f"{load.name}: {_summary(measured)}: {path}")
        for note in measured["rooflut_collect"]["notes"]:
            progress.note(f"{load.name}: {note}")
        return True

    def _result(self, requests: Requests, driven: Driven) -> dict:
        arguments = self._arguments
        about = {
            "url": self._target.shown(),
            "served_model": requests.model,
            "warm_up": arguments.warm_up,
            "timeout_s": arguments.timeout,
            "retries_allowed": arguments.retries,
        }
        return result.build(requests, driven, about)


def _summary(measured: dict) -> str:
    names = {"ttft": "TTFT", "tpot": "TPOT", "e2el": "E2E"}
    values = {name: measured[f"median_{key}_ms"] for key, name in names.items()}
    medians = ", ".join(f"{name} {value:.1f} ms" for name, value in values.items() if value is not None)
    return f"{measured['completed']} requests in {duration(measured['duration'])}, {medians} (medians)"
