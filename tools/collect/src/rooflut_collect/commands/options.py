"""Options that several commands have."""

import argparse
import difflib
from pathlib import Path

from .. import plan as plans
from ..errors import UserError, comma
from ..operations import OPERATIONS
from ..plan import DTYPES, KV_DTYPES, PlanSpec
from ..shapes import Formats
from ..table_set import check_name

#: Libraries by the names that logs have; here, so that a name is checked without torch.
LIBRARIES = ("deepgemm", "fa3", "flashinfer", "gloo", "nccl", "torch", "vllm", "vllm-fa3")

NO_LICENSE = "not stated"


def add_plan(parser: argparse.ArgumentParser) -> None:
    """Options that select the rows to measure."""
    group = parser.add_argument_group("what is measured")
    group.add_argument(
        "--plan",
        action="append",
        metavar="SOURCE",
        help=f"{plans.SYNTAX}; several are joined (default: tiny, with --device cpu)",
    )
    group.add_argument(
        "--dtype",
        metavar="LIST",
        help=f"formats of GEMMs and experts in models: and tiny, of {comma(DTYPES)} (default: bf16,fp8)",
    )
    group.add_argument(
        "--kv-dtype",
        metavar="LIST",
        help=f"formats of the KV cache, of {comma(KV_DTYPES)} (default: bf16,fp8)",
    )
    some = group.add_mutually_exclusive_group()
    some.add_argument("--only", metavar="LIST", help=f"operations to measure, of {comma(OPERATIONS)}")
    some.add_argument("--skip", metavar="LIST", help="operations to leave out")
    group.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="default: cuda")


def plan_spec(arguments: argparse.Namespace) -> PlanSpec:
    """The plan that the arguments ask for."""
    sources = arguments.plan
    if not sources:
        if arguments.device != "cpu":
            raise UserError(f"--plan is missing: {plans.SYNTAX}")
        sources = ["tiny"]
    formats = Formats()
    if arguments.dtype:
        formats = Formats(_of("--dtype", arguments.dtype, DTYPES), formats.kv_dtypes)
    if arguments.kv_dtype:
        formats = Formats(formats.dtypes, _of("--kv-dtype", arguments.kv_dtype, KV_DTYPES))
    operations = tuple(OPERATIONS)
    if arguments.only:
        only = _of("--only", arguments.only, operations)
        operations = tuple(name for name in operations if name in only)
    if arguments.skip:
        skip = _of("--skip", arguments.skip, operations)
        operations = tuple(name for name in operations if name not in skip)
    return PlanSpec(tuple(sources), formats, operations)


def _of(option: str, text: str, known) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3)
            hint = f": did you mean {' or '.join(near)}?" if near else ""
            raise UserError(f"{option} {text}: expected some of {comma(known)}, found {name!r}{hint}")
    return names


def of_run(arguments: argparse.Namespace, row_seconds: float) -> tuple[str, ...]:
    """Arguments of a `run` beside plan, shard and folder, without defaults."""
    given = {
        "--device": (arguments.device, "cuda"),
        "--kernels": (arguments.kernels, None),
        "--row-seconds": (arguments.row_seconds, row_seconds),
        "--gpu-sheet": (arguments.gpu_sheet, None),
        "--name": (arguments.name, None),
        "--license": (arguments.license, NO_LICENSE),
    }
    return tuple(f"{option}={value}" for option, (value, default) in given.items() if value != default)


def kernels(arguments: argparse.Namespace) -> tuple[str, ...]:
    """The libraries that may be used; none named: all."""
    return _of("--kernels", arguments.kernels, LIBRARIES) if arguments.kernels else ()


def add_set(parser: argparse.ArgumentParser) -> None:
    """Options that describe the set."""
    group = parser.add_argument_group("the set")
    group.add_argument("--name", metavar="NAME", help="default: the GPU's name and -measured")
    group.add_argument(
        "--license",
        metavar="TEXT",
        default=NO_LICENSE,
        help=f"licence of the measurements (default: {NO_LICENSE})",
    )
    group.add_argument(
        "--gpu-sheet",
        type=Path,
        metavar="FILE",
        help="a TOML file with a table [gpu]: the data sheet of a GPU that rooflut does not know",
    )


def set_name(arguments: argparse.Namespace, gpu: str) -> str:
    """The name of the set."""
    return check_name(arguments.name) if arguments.name else f"{gpu}-measured"


def positive(text: str) -> float:
    """An argument that is a positive number."""
    value = float(text)
    if not 0.0 < value < float("inf"):
        raise ValueError(text)
    return value


def natural(text: str) -> int:
    """An argument that is a whole number, which may be 0."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"expected a whole number, 0 or more, found {text!r}")
    return int(text)


def count(text: str) -> int:
    """An argument that is a positive whole number."""
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value
