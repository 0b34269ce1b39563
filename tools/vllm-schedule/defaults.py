"""Compares the limits that rooflut takes where none are given with those of vLLM's own functions.

    python defaults.py ROOFLUT --vllm FOLDER [FOLDER ...]

The functions are cut out of the sources: `EngineArgs._set_default_args` (0.11) or `get_batch_defaults` and
`_set_default_max_num_seqs_and_batched_tokens_args`, `VllmConfig._set_cudagraph_sizes`, and the default of
`CacheConfig.gpu_memory_utilization`. Prints a line for each version; the exit status is 1 if anything
differs.
"""

import __future__

import argparse
import ast
import enum
import hashlib
import json
import pathlib
import subprocess
import sys
import types
from functools import cache
from itertools import product

GIB = 1 << 30

#: GPUs by rooflut's name: the name and the MiB that the driver of each shows.
GPUS = {
    "a100": ("NVIDIA A100-SXM4-80GB", 81920),
    "h100": ("NVIDIA H100 80GB HBM3", 81559),
    "h200": ("NVIDIA H200", 143771),
    "b200": ("NVIDIA B200", 183359),
    "b300": ("NVIDIA B300 SXM6 AC", 275040),
    "l40s": ("NVIDIA L40S", 46068),
}

#: Models by rooflut's name, and their longest requests.
MODELS = {"llama-3.1-8b": 131072, "llama-2-7b": 4096}

#: Settings that are given, by flag.
GIVEN = (
    {},
    {"max-num-seqs": 1},
    {"max-num-seqs": 3, "max-model-len": 600},
    {"max-num-seqs": 100},
    {"max-num-batched-tokens": 64},
    {"max-num-batched-tokens": 300},
    {"max-num-batched-tokens": 2000, "max-num-seqs": 200},
    {"max-num-batched-tokens": 20000},
    {"max-num-seqs": 2000, "max-num-batched-tokens": 1000},
    {"max-num-seqs": 20000},
    {"draft-tokens": 3, "max-num-seqs": 40},
    {"draft-tokens": 1},
    {"gpu-memory-utilization": 0.8},
)

Settings = types.SimpleNamespace


class Source:
    """Parts of the Python sources of one version."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        (info,) = self.root.glob("vllm-*.dist-info")
        self.version = info.name.removeprefix("vllm-").removesuffix(".dist-info").partition("+")[0]

    @cache
    def tree(self, file):
        """The syntax tree of a file, empty if the version does not have it."""
        path = self.root / "vllm" / file
        return ast.parse(path.read_text(encoding="utf-8") if path.is_file() else "")

    def function(self, file, name, names):
        """The function `name` of any class in a file, which sees `names`; `None` if there is none."""
        found = [node for node in self.functions(file) if node.name == name]
        if not found:
            return None
        found[0].decorator_list = []
        return run(found, names)[name]

    @cache
    def functions(self, file):
        """All functions of a file."""
        return [node for node in ast.walk(self.tree(file)) if isinstance(node, ast.FunctionDef)]

    def usage_context(self):
        """vLLM's enumeration of the ways to start it."""
        body = [node for node in self.tree("usage/usage_lib.py").body if is_class(node, "UsageContext")]
        return run(body, {"Enum": enum.Enum})["UsageContext"]

    def scheduler_defaults(self):
        """The class variables of `SchedulerConfig` that are constants."""
        body = self.tree("config/scheduler.py").body
        (config,) = (node for node in body if is_class(node, "SchedulerConfig"))
        names = {}
        for node in config.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Constant):
                names[node.target.id] = node.value.value
        return Settings(**names)

    def memory_share(self):
        """The default of `gpu_memory_utilization`."""
        for node in ast.walk(self.tree("config/cache.py")):
            if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "gpu_memory_utilization":
                value = node.value
                if isinstance(value, ast.Call):
                    (value,) = (keyword.value for keyword in value.keywords if keyword.arg == "default")
                return ast.literal_eval(value)
        raise LookupError("gpu_memory_utilization is not in config/cache.py")


def is_class(node, name):
    """Whether the node is the class of that name."""
    return isinstance(node, ast.ClassDef) and node.name == name


def run(body, names):
    """Runs statements; returns their names."""
    names = dict(names)
    module = ast.Module(body=body, type_ignores=[])
    # Annotations name classes that are not loaded.
    exec(compile(module, "<vllm>", "exec", flags=__future__.annotations.compiler_flag), names)
    return names


class Vllm:
    """The limits that `vllm serve` of one version takes on a GPU."""

    def __init__(self, source, gpu):
        self.source = source
        name, mib = GPUS[gpu]
        platform = Settings(
            get_device_total_memory=lambda: mib << 20,
            get_device_name=lambda: name,
            is_tpu=lambda: False,
            is_cpu=lambda: False,
            is_device_capability=lambda capability: False,
            # Compute capability 10.x.
            is_device_capability_family=lambda family: family == 100 and gpu in ("b200", "b300"),
        )
        self.context = source.usage_context()
        for module, content in (
            ("vllm", {}),
            ("vllm.usage", {}),
            ("vllm.usage.usage_lib", {"UsageContext": self.context}),
            ("vllm.platforms", {"current_platform": platform}),
        ):
            sys.modules[module] = types.ModuleType(module)
            sys.modules[module].__dict__.update(content)
        self.names = {
            "GiB_bytes": GIB,
            "current_platform": platform,
            "logger": Settings(**dict.fromkeys(("debug", "info", "warning"), lambda *_: None)),
            "sys": sys,
            "EngineArgs": Settings(scheduler_cls=None),
            "SchedulerConfig": source.scheduler_defaults(),
            "CUDAGraphMode": Settings(NONE=object()),
        }

    def limits(self, model_len, given):
        """Sequences, tokens, share of the memory and largest graph; `None` if vLLM refuses to start."""
        arguments = Settings(
            max_num_seqs=given.get("max-num-seqs"),
            max_num_batched_tokens=given.get("max-num-batched-tokens"),
            # The default of models that generate.
            enable_chunked_prefill=True,
            enable_prefix_caching=None,
            enable_prompt_embeds=False,
            scheduler_cls=None,
            performance_mode="balanced",
            tensor_parallel_size=1,
            pipeline_parallel_size=1,
        )
        model = Settings(
            max_model_len=given.get("max-model-len", model_len),
            runner_type="generate",
            is_multimodal_model=False,
            is_mm_prefix_lm=False,
        )
        context = self.context.OPENAI_API_SERVER
        function, file = self.source.function, "engine/arg_utils.py"
        whole = function(file, "_set_default_args", self.names)
        defaults = function(file, "get_batch_defaults", self.names)
        if defaults is None:
            whole(arguments, context, model)
        else:
            arguments.get_batch_defaults = lambda world_size: defaults(None, world_size)
            name = "_set_default_max_num_seqs_and_batched_tokens_args"
            part = function(file, name, self.names)
            parallel = [Settings(use_batched_dp_moe=False)][: part.__code__.co_argcount - 3]
            part(arguments, context, model, *parallel)
        seqs, tokens = arguments.max_num_seqs, arguments.max_num_batched_tokens
        if self.refuses(seqs, tokens, model.max_model_len):
            return None
        share = given.get("gpu-memory-utilization", self.source.memory_share())
        return seqs, tokens, share, self.largest_graph(seqs, tokens, given.get("draft-tokens", 0))

    def refuses(self, seqs, tokens, model_len):
        """Whether `SchedulerConfig` raises an error."""
        function, file = self.source.function, "config/scheduler.py"
        names = ("verify_max_model_len", "_verify_args")
        verify = next(filter(None, (function(file, name, self.names) for name in names)))
        config = Settings(
            max_num_seqs=seqs,
            max_num_batched_tokens=tokens,
            max_model_len=model_len,
            enable_chunked_prefill=True,
            chunked_prefill_enabled=True,
            max_num_partial_prefills=1,
            max_long_partial_prefills=1,
            num_lookahead_slots=0,
            max_num_active_seqs=None,
            long_prefill_token_threshold=0,
        )
        try:
            verify(config, *[model_len][: verify.__code__.co_argcount - 1])
        except ValueError:
            return True
        return False

    def largest_graph(self, seqs, tokens, drafts):
        """Tokens of the largest CUDA graph."""
        sizes = []
        scheduler = Settings(max_num_seqs=seqs, max_num_batched_tokens=tokens, cuda_graph_sizes=[])
        # 0.11 chooses the largest graph in SchedulerConfig.__post_init__.
        for node in ast.walk(self.source.tree("config/scheduler.py")):
            if isinstance(node, ast.If) and ast.unparse(node.test) == "not self.cuda_graph_sizes":
                run([node], {"self": scheduler})
        compilation = Settings(
            cudagraph_mode=None,
            max_cudagraph_capture_size=None,
            cudagraph_capture_sizes=None,
            pass_config=Settings(enable_sp=False, enable_sequence_parallelism=False),
            init_with_cudagraph_sizes=sizes.extend,
            post_init_cudagraph_sizes=lambda: None,
        )
        speculative = Settings(num_speculative_tokens=drafts, uses_dynamic_speculative_decoding=lambda: False)
        config = Settings(
            model_config=Settings(enforce_eager=False),
            compilation_config=compilation,
            scheduler_config=scheduler,
            speculative_config=speculative if drafts else None,
            parallel_config=Settings(tensor_parallel_size=1),
            num_speculative_tokens=drafts,
            uniform_decode_query_len=1 + drafts,
            performance_mode="balanced",
        )
        files = ("config/vllm.py", "config/__init__.py")
        functions = (self.source.function(file, "_set_cudagraph_sizes", self.names) for file in files)
        next(filter(None, functions))(config)
        return max(sizes) if sizes else compilation.max_cudagraph_capture_size


def rooflut_limits(binary, version, gpu, model, given):
    """The limits of rooflut; `None` if it refuses to start the server."""
    command = [binary, "run", "--json", "--requests", "1", "--prompt", "8", "--output", "1"]
    command += ["--engine", f"vllm-{version}", "--gpu", gpu, "--model", model]
    if "draft-tokens" in given:
        command += ["--draft-model", "ngram", "--acceptance", "0.5"]
    for flag, value in given.items():
        command += [f"--{flag}", str(value)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        if "max-num-batched-tokens: expected at least" in done.stderr:
            return None
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    report = json.loads(done.stdout)
    keys = ("max_num_seqs", "max_num_batched_tokens", "gpu_memory_utilization", "cuda_graph_max_tokens")
    return tuple(report[key] for key in keys)


def equal(ours, real):
    """Whether the limits are equal, graphs but for their sizes between the multiples of 16."""
    if ours is None or real is None:
        return ours == real
    return ours[:3] == real[:3] and real[3] - 16 < ours[3] <= real[3]


def check_sources(binary, source):
    """The files of the stack whose SHA-256 differs from that of the sources."""
    done = subprocess.run([binary, "engines", "--json"], capture_output=True, text=True, check=True)
    stacks = {stack["name"]: stack for stack in json.loads(done.stdout)["engines"]}
    name = f"vllm-{source.version}"
    if name not in stacks:
        sys.exit(f"rooflut has no stack {name}; expected one of {', '.join(stacks)}")
    sums = stacks[name]["defaults"]["sources"]
    return [f for f, s in sums.items() if hashlib.sha256((source.root / f).read_bytes()).hexdigest() != s]


def main():
    """Compares all versions; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("rooflut", help="path of the binary")
    parser.add_argument("--vllm", required=True, nargs="+", help="folders of unpacked wheels")
    arguments = parser.parse_args()
    status = 0
    for folder in arguments.vllm:
        source, cases, differing = Source(folder), 0, 0
        for file in check_sources(arguments.rooflut, source):
            print(f"vLLM {source.version}: {file} is not the file that the defaults were read from")
            status = 1
        for gpu in GPUS:
            vllm = Vllm(source, gpu)
            for (model, model_len), given in product(MODELS.items(), GIVEN):
                real = vllm.limits(model_len, given)
                ours = rooflut_limits(arguments.rooflut, source.version, gpu, model, given)
                cases += 1
                if not equal(ours, real):
                    differing += 1
                    print(f"vLLM {source.version}, {gpu}, {model}, {given}: rooflut {ours}, vLLM {real}")
        print(f"limits of vLLM {source.version}: {differing} of {cases} differ")
        status |= differing > 0
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
