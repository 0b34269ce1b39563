"""Compares how rooflut reads command lines of `vllm serve` with vLLM's own parser.

    python forms.py ROOFLUT --vllm FOLDER [FOLDER ...]

The parser is vLLM's `FlexibleArgumentParser`, cut out of the sources, with the flags that `flags.py` finds. Both read the
same lines; what `rooflut run --vllm` reports must be what the parser returns, and what one refuses the other must refuse.
Prints a line for each version; the exit status is 1 if anything differs.
"""

import argparse
import ast
import collections
import contextlib
import io
import json
import subprocess
import sys
import textwrap
import types
import typing

import regex
from defaults import Source, run
from flags import Flags

MODEL = "meta-llama/Llama-3.1-8B-Instruct"

#: Lines after the model.
LINES = (
    "",
    "-tp 2",
    "-tp=2",
    "--tensor-parallel-size=2",
    "--tensor_parallel_size 2",
    "--tensor_parallel_size=4",
    "--tensor-par 2",
    "--tensor-parallel-size 2 -tp 4",
    "--max-num-seqs 64 --max-num-seqs 32",
    "--max-num-seqs",
    "--max-num-seqs --port 8000",
    "--max-num-s 48",
    "--max-num 48",
    "--max-num-batched-tokens 4k",
    "--max-num-batched-tokens 4K",
    "--max-num-batched-tokens=2.5k",
    "--max-num-batched-tokens 2.5K",
    "--max-num-batched-tokens 4kB",
    "--max_num_batched_tokens 4000",
    "--gpu-memory-utilization .8",
    "--gpu-memory-utilization 0.85",
    "--gpu_memory_utilization=0.5 -tp 2",
    "--no-enable-prefix-caching",
    "--no_enable_prefix_caching",
    "--no-enable-prefix",
    "--disable-prefix-caching",
    "--enable-prefix-caching",
    "--enable-prefix-caching=true",
    "--enable-prefix-caching --no-enable-prefix-caching",
    "--served-model-name a b --max-num-seqs 16",
    "--served-model-name --max-num-seqs 16",
    "--served-model-name=a --max-num-seqs 16",
    "--api-key a -tp 2 --host 0.0.0.0 --port 8000",
    "--hf-token --max-num-seqs 8",
    "--headless --max-num-seqs 8",
    "--no-headless",
    "--no-headless --max-num-seqs 8",
    "--unknown-flag 1",
    "-xy 2",
    "--speculative-config.method ngram --speculative-config.num_speculative_tokens 3",
    "--speculative_config.method=ngram --speculative_config.num_speculative_tokens=3 --max-num-seqs 4",
    '--speculative-config={"method":"ngram","num_speculative_tokens":2}',
    "--hf_overrides.max_position_embeddings",
    "-O3 --max-num-seqs 8",
    "-O 3 --max-num-seqs 8",
    "-O=3 --max-num-seqs 8",
    "--seed -1 --max-num-seqs 8",
    "--kv-cache-dtype fp8_e4m3 --block-size 32",
    "-q fp8",
    "-qfp8",
)

#: What is compared: the name in vLLM's arguments, and the key of rooflut's report.
COMPARED = {
    "tensor_parallel_size": "tp",
    "max_num_seqs": "max_num_seqs",
    "max_num_batched_tokens": "max_num_batched_tokens",
    "gpu_memory_utilization": "gpu_memory_utilization",
}


class Parser:
    """vLLM's parser of one version."""

    FILES = ("utils/argparse_utils.py", "utils/__init__.py")
    NAMES = ("FlexibleArgumentParser", "SortedHelpFormatter", "EnableDisableAction")
    FUNCTIONS = ("human_readable_int", "_register_action", "summary_line")

    def __init__(self, source):
        trees = (source.tree(file) for file in self.FILES)
        classes = [node for tree in trees for node in tree.body if getattr(node, "name", "") in self.NAMES]
        functions = [
            node for file in (*self.FILES, "engine/arg_utils.py") for node in source.tree(file).body
            if isinstance(node, ast.FunctionDef) and node.name in self.FUNCTIONS
        ]
        logger = types.SimpleNamespace(warning=lambda *_: None, warning_once=lambda *_: None)
        names = vars(argparse) | vars(typing) | {
            "argparse": argparse, "json": json, "sys": sys, "textwrap": textwrap, "re": regex, "logger": logger,
            "defaultdict": collections.defaultdict,
        }
        names = run(functions + classes, names)
        self.size = names["human_readable_int"]
        self.parser = names["FlexibleArgumentParser"](prog="vllm serve")
        self.parser.add_argument("model_tag", nargs="?")
        for flag, (shorts, form) in Flags(source).found.items():
            options = {
                "switch": {"action": names.get("EnableDisableAction", argparse.BooleanOptionalAction)},
                "on": {"action": "store_true"},
                "list": {"nargs": "+"},
                "optional": {"nargs": "?"},
                "value": {},
            }[form]
            self.parser.add_argument(f"--{flag}", *shorts, **options)

    def read(self, line):
        """The settings of a line, as text; `None` if the parser refuses it."""
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                arguments = vars(self.parser.parse_args([MODEL, *line.split()]))
            settings = {key: arguments[name] for name, key in COMPARED.items() if arguments[name] is not None}
            if "max_num_batched_tokens" in settings:
                settings["max_num_batched_tokens"] = self.size(settings["max_num_batched_tokens"])
            settings = {key: float(value) for key, value in settings.items()}
        except (SystemExit, ValueError, IndexError, argparse.ArgumentTypeError):
            return None
        caching = arguments["enable_prefix_caching"]
        drafts = json.loads(arguments["speculative_config"] or "{}").get("num_speculative_tokens", 0)
        return settings, caching is not False, drafts


def rooflut(binary, version, line, keys):
    """The settings of a line as rooflut reports them; `None` if it refuses the line."""
    command = [binary, "run", "--json", "--requests", "1", "--prompt", "8", "--output", "4"]
    command += ["--engine", f"vllm-{version}", "--vllm", f"vllm serve {MODEL} {quoted(line)}"]
    if "speculative" in line:
        command += ["--acceptance", "0.5"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return None
    report = json.loads(done.stdout)
    speculation = report.get("speculation") or {}
    settings = {key: float(report[key]) for key in keys}
    return settings, report["prefix_caching"] == "on", speculation.get("draft_tokens", 0)


def quoted(line):
    """The line with each word in quotes."""
    return " ".join(f"'{word}'" for word in line.split())


def main():
    """Compares all versions; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("rooflut", help="path of the binary")
    parser.add_argument("--vllm", required=True, nargs="+", help="folders of unpacked wheels")
    arguments = parser.parse_args()
    status = 0
    for folder in arguments.vllm:
        source, differing = Source(folder), 0
        vllm = Parser(source)
        for line in LINES:
            real = vllm.read(line)
            ours = rooflut(arguments.rooflut, source.version, line, real[0] if real else ())
            if (real is None) != (ours is None) or (real is not None and real != ours):
                differing += 1
                print(f"vLLM {source.version}: {line!r}: rooflut {ours}, vLLM {real}")
        print(f"command lines of vLLM {source.version}: {differing} of {len(LINES)} differ")
        status |= differing > 0
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
