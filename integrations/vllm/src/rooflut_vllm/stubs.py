"""Lets vLLM's scheduler be imported without torch and without the rest of vLLM.

Real code: everything in REAL (the scheduler, the KV cache manager, the block pool, requests, the engine
core's step functions, hashing). Everything else below `vllm.`, and torch and other third parties that are not
installed, is replaced by modules whose attributes are empty classes.
"""

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types

# Packages whose real source is used. A trailing "." means "and everything below".
REAL = (
    "vllm.envs",
    "vllm.logger",
    "vllm.logging_utils",
    "vllm.logging_utils.",
    "vllm.v1",
    "vllm.v1.core",
    "vllm.v1.core.",
    "vllm.v1.request",
    "vllm.v1.outputs",
    "vllm.v1.kv_cache_interface",
    "vllm.v1.engine",
    "vllm.v1.engine.core",
    "vllm.v1.engine.exceptions",
    "vllm.v1.utils",
    "vllm.v1.metrics",
    "vllm.v1.metrics.stats",
    "vllm.v1.spec_decode",
    "vllm.v1.spec_decode.metrics",
    "vllm.utils",
    "vllm.utils.math_utils",
    "vllm.utils.hashing",
    "vllm.utils.func_utils",
    "vllm.utils.collection_utils",
    "vllm.v1.structured_output.request",
    "vllm.v1.kv_cache_spec_registry",
    "vllm.utils.gc_utils",
)
STUB_ROOTS = (
    "torch",
    "transformers",
    "vllm",
    "zmq",
    "huggingface_hub",
    "cuda",
    "triton",
    "openai",
    "fastapi",
    "PIL",
    "prometheus_client",
    "ray",
    "requests",
    "aiohttp",
    "cachetools",
    "msgspec_",
    "tqdm",
    "filelock",
    "diskcache",
    "jinja2",
    "yaml",
    "opentelemetry",
    "py_cpuinfo",
    "cpuinfo",
    "setproctitle",
    "numba",
    "safetensors",
    "blake3",
    "uvloop",
    "compressed_tensors",
    "einops",
    "gguf",
    "partial_json_parser",
    "sentencepiece",
)


class StubMeta(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = make(name)
        setattr(cls, name, value)
        return value

    def __call__(cls, *args, **kwargs):
        # A decorator hands back what it decorates.
        if (
            cls.__dict__.get("_stub")
            and len(args) == 1
            and not kwargs
            and isinstance(args[0], (types.FunctionType, type))
        ):
            return args[0]
        return super().__call__(*args, **kwargs)

    def __getitem__(cls, item):
        return cls

    def __or__(cls, other):
        return cls

    def __ror__(cls, other):
        return cls

    def __iter__(cls):
        return iter(())

    def __len__(cls):
        return 0

    def __hash__(cls):
        return id(cls)


class Stub(metaclass=StubMeta):
    def __init__(self, *args, **kwargs):
        pass

    def __init_subclass__(cls, **kwargs):
        pass

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return make(name)

    def __call__(self, *args, **kwargs):
        if len(args) == 1 and not kwargs and isinstance(args[0], (types.FunctionType, type)):
            return args[0]
        return Stub()

    def __getitem__(self, item):
        return self

    def __iter__(self):
        return iter(())

    def __bool__(self):
        return False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def make(name):
    return StubMeta(name, (Stub,), {"_stub": True, "__module__": "stub"})


class StubModule(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = make(name)
        setattr(self, name, value)
        return value


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of a source tree of vLLM, and stubs."""

    def __init__(self, root):
        self.root = root
        #: Whether packages other than vLLM are replaced, too.
        self.replaces_others = True

    def find_spec(self, name, path=None, target=None):
        top = name.split(".")[0]
        if top == "vllm":
            if name != "vllm" and any(name == r or (r.endswith(".") and name.startswith(r)) for r in REAL):
                spec = importlib.machinery.PathFinder.find_spec(name, path)
                if spec is not None:
                    return spec
        elif top not in STUB_ROOTS or not self.replaces_others:
            return None
        spec = importlib.machinery.ModuleSpec(name, self, is_package=True)
        where = f"{self.root}/{name.replace('.', '/')}"
        spec.submodule_search_locations = [where]
        return spec

    def create_module(self, spec):
        module = StubModule(spec.name)
        module.__path__ = spec.submodule_search_locations
        return module

    def exec_module(self, module):
        pass


@contextlib.contextmanager
def installed(root):
    """Makes `vllm` the source tree below `root`, for good unless an exception is raised.

    Other packages are replaced within the context alone, so that the rest of the process can use them.
    """
    finder = Finder(root)
    sys.meta_path.insert(0, finder)
    try:
        yield
    except BaseException:
        sys.meta_path.remove(finder)
        raise
    finally:
        finder.replaces_others = False
        stubs = [name for name, module in sys.modules.items() if isinstance(module, StubModule)]
        for name in stubs:
            if name.split(".")[0] != "vllm":
                del sys.modules[name]
