from os import PathLike
from typing import Any, AsyncIterator, Iterable, List, Literal, Mapping, Sequence, Tuple, Union, final

import numpy
from numpy.typing import ArrayLike, NDArray

from ._types import ServerStep, StepTime

__all__ = [
    "BINDINGS",
    "CLASSES",
    "Deployment",
    "Estimate",
    "Event",
    "Kernel",
    "PARTS",
    "RooflutError",
    "Server",
    "SweepUnits",
    "Tables",
    "UnitsOut",
    "__version__",
    "_baseline",
    "_event",
    "_panic",
    "answer",
    "html",
    "main",
    "read_config",
    "simulate",
    "sweep_csv",
    "version",
]

__version__: str
PARTS: List[str]
BINDINGS: List[str]
CLASSES: List[str]

class RooflutError(ValueError):
    """An input that cannot be answered; the message says what was found, what was expected and what to do."""

@final
class Tables:
    """A set of measured tables."""

    def __new__(cls, name: str) -> Tables:
        """Finds a built-in set; the case of its name does not matter."""
    @staticmethod
    def load(path: Union[str, PathLike[str]]) -> Tables:
        """Reads a set from a folder of measurements, or from one file made of it."""
    @staticmethod
    def names() -> List[str]:
        """Returns the names of the built-in sets."""
    @property
    def name(self) -> str:
        """The name of the set."""
    @property
    def gpu(self) -> str:
        """The name of the GPU."""
    @property
    def operations(self) -> List[str]:
        """The operations that were measured."""
    def kernel(self, operation: str, /, **shape: Union[int, str]) -> Kernel:
        """Finds the measured points of a kernel: ``kernel("gemm", dtype="bf16", k=4096, n=6144)``.

        The shape has the columns of the operation's tables, formats by name.
        """
    def measured(self, operation: str) -> dict[str, NDArray[Any]]:
        """Returns the measured rows of an operation: shape, axes, and ``latency_us`` in microseconds."""

@final
class Kernel:
    """A kernel whose measured points are found. Lookups cannot fail."""

    @property
    def arguments(self) -> List[str]:
        """The names of the arguments of a query: ``["m"]`` of a GEMM, ``["batch", "kv_tokens"]`` of decoding."""
    def at(self, **query: int) -> Estimate:
        """Returns the time of one query."""
    def times(self, **query: ArrayLike) -> NDArray[numpy.float64]:
        """Returns the times of many queries in seconds; single numbers apply to all rows."""

@final
class Estimate:
    """The time of a kernel."""

    @property
    def time_s(self) -> float:
        """Time in seconds."""
    @property
    def mfu(self) -> float:
        """Model FLOPs utilization, from 0 to 1."""
    @property
    def provenance(self) -> str:
        """The source of the time, and whether it lies inside the measured axes."""

@final
class Deployment:
    """A model on GPUs, as an engine serves it.

    The keyword arguments are the keys of a scenario that describe one server: ``model``, ``gpu``, ``tp``, ``dtype``,
    ``engine`` (a name, or the file that ``rooflut calibrate`` wrote), ``max_num_seqs``, ``kv_blocks`` and so on, which
    ``rooflut help run`` lists as flags. All kernels are
    found here, so steps cannot fail.
    """

    def __new__(cls, **keys: Any) -> Deployment: ...
    def __getnewargs_ex__(self) -> Tuple[Tuple[()], dict[str, Any]]:
        """Returns the keys, from which copies and pickles are made anew."""
    def step(
        self,
        *,
        prefill: Sequence[Union[int, Tuple[int, int], Tuple[int, int, bool]]] | None = None,
        decode: Sequence[Union[Tuple[int, int], Tuple[int, int, int]]] | None = None,
    ) -> StepTime:
        """Computes the time of one step, part by part.

        ``prefill`` is a list of prompt chunks: each the tokens of a whole prompt, or a tuple of new tokens, the length
        of the prompt up to their end, and whether the prompt ends there (by default it does). ``decode`` is a list of
        groups of equal requests: tuples of their number, the KV length of each, new tokens included, and the drafted
        tokens of each (by default 0).
        """
    def step_times_ns(
        self,
        *,
        prefill_tokens: ArrayLike | None = None,
        prefill_kv_len: ArrayLike | None = None,
        prefill_last: ArrayLike | None = None,
        prefill_offsets: ArrayLike | None = None,
        decode_requests: ArrayLike | None = None,
        decode_kv_tokens: ArrayLike | None = None,
        decode_drafted: ArrayLike | None = None,
        decode_outside_tokens: ArrayLike | None = None,
        decode_offsets: ArrayLike | None = None,
    ) -> NDArray[numpy.uint64]:
        """Computes the times of many steps in nanoseconds.

        Each step has a prompt chunk of ``prefill_tokens`` new tokens, with the KV length at its end, and a group of
        ``decode_requests`` whose KV lengths add up to ``decode_kv_tokens``. ``prefill_last`` is false where the prompt
        continues, ``decode_drafted`` the drafted tokens of each request, ``decode_outside_tokens`` the KV tokens of the
        group that lie outside the window or chunk of layers with one (by default as few as the mean length allows). 0
        tokens or requests add nothing; single numbers apply to all steps. With ``prefill_offsets`` or
        ``decode_offsets``, step i has the rows from ``offsets[i]`` to ``offsets[i + 1]``.
        """
    def server(self, *, role: Literal["whole", "prefill", "decode"] = "whole") -> Server:
        """Creates an idle server at time 0.

        With ``role="prefill"`` and ``role="decode"`` it is one of separate prefill and decode servers, for routers of your
        own: push a request with one output token to a prefill server, and when that has finished the whole request to a decode
        server, with the time at which its KV entries are there as ``arrival_ns``. A prefill server delays no outputs in the
        API server; a decode server has no API server before the engine, no queue limit and no patience of clients.
        """
    @property
    def kv_blocks(self) -> int:
        """KV blocks of the server."""
    @property
    def block_size(self) -> int:
        """Tokens of a KV block."""
    @property
    def max_model_len(self) -> int:
        """Longest request, prompt and output together, in tokens."""
    @property
    def max_num_seqs(self) -> int:
        """Maximum number of running requests."""
    @property
    def max_num_batched_tokens(self) -> int:
        """Maximum number of tokens of a step."""
    @property
    def gpu_memory_utilization(self) -> float:
        """Share of each GPU's memory that the server uses."""
    @property
    def cuda_graph_max_tokens(self) -> int:
        """Maximum number of tokens of a step that runs as a CUDA graph."""

@final
class Event:
    """An event in the life of a request."""

    @property
    def kind(self) -> Literal["first_token", "finished"]:
        """``first_token`` or ``finished``."""
    @property
    def request(self) -> int:
        """The number that ``push`` returned."""
    @property
    def at_ns(self) -> int:
        """Time in nanoseconds."""
    @property
    def outcome(self) -> Union[str, None]:
        """``completed``, ``cancelled``, or why the finished request was rejected."""
    @property
    def queue_s(self) -> Union[float, None]:
        """Time in the queue, seconds."""
    @property
    def ttft_s(self) -> Union[float, None]:
        """Time to first token, seconds."""
    @property
    def tpot_s(self) -> Union[float, None]:
        """Time per output token after the first, seconds."""
    @property
    def e2e_s(self) -> Union[float, None]:
        """Time to the last token, seconds."""
    @property
    def preemptions(self) -> int:
        """Number of preemptions of the finished request."""

@final
class Server:
    """A server of a deployment (``deployment.server()``) that is driven from outside; one thread uses it at a time.

    ``async for event in server`` drives it until it is idle, and runs other tasks between two steps: they may push
    requests that arrive at the current time or later. A loop that is left early drops the other events of its step.
    """

    def push(
        self,
        prompt_tokens: int,
        output_tokens: int,
        *,
        arrival_ns: int | None = None,
        cached_prompt_tokens: int = 0,
        priority: int = 0,
        block_ids: ArrayLike | None = None,
        block_tokens: int | None = None,
    ) -> int:
        """Adds a request and returns its number.

        It arrives now unless ``arrival_ns`` says when, in nanoseconds from the start. ``cached_prompt_tokens`` leading
        tokens of its prompt are in the prefix cache. Smaller ``priority`` numbers go first on a server with
        ``policy="priority"``. Prompts that begin with the same ``block_ids``, each for ``block_tokens`` tokens, share
        these tokens in the prefix cache.
        """
    def push_all(self, frame: Union[Mapping[str, ArrayLike], Any]) -> Union[int, None]:
        """Adds the requests of a frame; returns the number of the first.

        Its columns are ``prompt_tokens``, ``output_tokens`` and, if wanted, ``arrival_ns``, ``cached_prompt_tokens`` and
        ``priority``, as of ``push``. Without ``arrival_ns`` they arrive now.
        """
    def cancel(self, request: int) -> None:
        """Cancels a request, by the number that ``push`` returned: its KV blocks are freed.

        It takes effect at the next step boundary, and at once for a request that is still to arrive; its last event has the
        outcome ``cancelled``. A request whose last token comes from the step in flight is served all the same. A number that
        was never pushed, has finished or was cancelled is an error.
        """
    def advance_to(self, to_ns: int) -> None:
        """Moves the clock to a time in nanoseconds from the start, and runs all steps that begin before.

        A step that ends later stays in flight. An interrupt stops the server between two steps; the
        server can go on from there.
        """
    def run_until_idle(self) -> None:
        """Runs until the server is idle; the clock stands at the end of the last step.

        An interrupt stops the server between two steps; the server can go on from there.
        """
    def step(self) -> Union[ServerStep, None]:
        """Runs one step to its end and returns what happened; ``None`` if the server is idle."""
    def copy(self) -> Server:
        """Returns a server with the same clock, requests and KV cache, which goes on by itself."""
    def __copy__(self) -> Server: ...
    def __deepcopy__(self, _memo: Any) -> Server: ...
    def drain_events(self) -> List[Event]:
        """Removes and returns the events since the last call, in order."""
    def totals(self) -> dict[str, int]:
        """Returns counts of all steps that have ended."""
    def __aiter__(self) -> AsyncIterator[Event]: ...
    @property
    def next_event_ns(self) -> Union[int, None]:
        """The time to advance to next, in nanoseconds; ``None`` if the server is idle."""
    @property
    def now_ns(self) -> int:
        """The current time, in nanoseconds from the start."""
    @property
    def arriving(self) -> int:
        """Requests that the engine has not seen yet."""
    @property
    def waiting(self) -> int:
        """Requests in the queue."""
    @property
    def running(self) -> int:
        """Requests that hold a sequence slot."""
    @property
    def outstanding_tokens(self) -> int:
        """Tokens of prompt and output of the requests that have not finished."""
    @property
    def kv_blocks_used(self) -> int:
        """KV blocks in use."""
    @property
    def kv_blocks(self) -> int:
        """KV blocks of the server."""
    @property
    def is_in_step(self) -> bool:
        """Whether a step is in flight."""
    @property
    def is_idle(self) -> bool:
        """Whether all requests have finished."""

def answer(arguments: Iterable[str]) -> str:
    """Returns what the command prints with these arguments."""

def html(name: str, text: str) -> str:
    """Returns the report of an answer or of rows, which ``name`` names, as one HTML file."""

def main(arguments: Iterable[str]) -> int:
    """Runs the command with these arguments, its name first, and returns its exit code."""

def read_config(
    config: str,
    hf_quant_config: str | None = None,
    generation_config: str | None = None,
    assume_llama: bool = False,
) -> str:
    """Reads the text of a ``config.json`` and returns the model's dimensions as JSON."""

def simulate(
    scenario: Union[str, PathLike[str], dict[str, Any], None],
    trace: Any,
    untrusted: bool,
    keep_requests: bool,
    keep_steps: bool,
    keys: dict[str, Any],
) -> Tuple[str, Union[dict[str, NDArray[Any]], None], Union[dict[str, NDArray[Any]], None]]:
    """Simulates a scenario; returns the JSON of its report and columns of its requests and steps."""

def _event(
    fields: Tuple[
        str,
        int,
        int,
        Union[str, None],
        Union[float, None],
        Union[float, None],
        Union[float, None],
        Union[float, None],
        int,
    ],
) -> Event:
    """Returns the event with these fields, from which it was pickled."""

@final
class SweepUnits:
    """A sweep whose rows are simulated in units."""

    def __new__(cls, arguments: List[str], points: bytes | None = None) -> SweepUnits: ...
    @property
    def points(self) -> int:
        """Number of points of the grid."""
    def check_size(self, max_points: int, workers: int) -> None:
        """Checks that there are at most this many points; the error of more has their hours on the workers."""
    @property
    def fingerprint(self) -> str:
        """The text that identifies grid, files, version and tables in each row."""
    def header(self) -> bytes:
        """Returns the header as a line of CSV."""
    def rows(self, start: int, end: int, threads: int) -> Tuple[bytes, int, List[str]]:
        """Simulates the rows from start to end; returns lines of CSV, the number of rows with an error, and remarks."""
    def check(self, csv: bytes, first: int) -> int:
        """Checks that lines of CSV are whole rows, from that of index first on, and returns their number."""
    def open(self) -> UnitsOut:
        """Opens the output that the arguments name."""

@final
class UnitsOut:
    """The output of a sweep, which takes its units in the order of the grid."""

    @property
    def rows(self) -> int:
        """Rows of the output: the index of the next unit."""
    def push(self, csv: bytes) -> int:
        """Adds the rows of the next unit, and returns their number."""
    def close(self) -> None:
        """Writes rows that are in memory alone, and closes the output."""

def sweep_csv(out: Union[str, PathLike[str]]) -> str:
    """Returns the rows of a sweep, a CSV file or a folder of Parquet files, as CSV."""

def version() -> str:
    """Returns the version with its commit and the fingerprint of the measurements."""

def _panic(message: str, thread: bool = False) -> None:
    """Panics behind the border; for the tests of the package."""

def _baseline(m: NDArray[numpy.uint32], kv_tokens: NDArray[numpy.uint64], rounds: int) -> Tuple[float, float]:
    """Returns the shortest time in nanoseconds of a GEMM lookup and of a decode step in Rust; for the tests."""
