"""The versions of vLLM: their sources, their classes, and how they differ."""

import ast
import importlib
import importlib.metadata
import inspect
import os
import pathlib
import pickle
import re
import sys

from . import stubs

#: Versions whose schedulers are compared with rooflut's step by step.
VERSIONS = ("0.11.0", "0.15.1", "0.21.0", "0.22.0", "0.24.0", "0.25.0", "0.33.0")


class VllmError(ValueError):
    """An input that cannot be served; the message says what was found, what was expected and what to do."""


def cache():
    """The folder of fetched versions."""
    return pathlib.Path(os.environ.get("ROOFLUT_VLLM") or pathlib.Path.home() / ".cache" / "rooflut" / "vllm")


def load(source=None):
    """Loads vLLM and returns its classes: the version that is loaded already or installed, without a `source`.

    `source` is a version that `python -m rooflut_vllm fetch VERSION` has fetched, or the folder of an unpacked wheel. A
    process loads one version; its modules can be imported from then on (`vllm.v1.core.sched.scheduler`).
    """
    if source is None and Vllm.loaded:
        return Vllm.loaded
    root = folder_of(source).resolve()
    if Vllm.loaded and Vllm.loaded.root != root:
        raise VllmError(f"vLLM {Vllm.loaded.version} of {Vllm.loaded.root} is loaded; load {root} in another process")
    return Vllm.loaded or Vllm(root)


def folder_of(source):
    """The folder that contains the package `vllm`."""
    if source is None:
        try:
            return pathlib.Path(importlib.metadata.distribution("vllm").locate_file(""))
        except importlib.metadata.PackageNotFoundError:
            raise VllmError(
                "vLLM is not installed; install it, or fetch its sources with "
                f"`python -m rooflut_vllm fetch {VERSIONS[-1]}` and name the version"
            ) from None
    if isinstance(source, str) and re.fullmatch(r"\d+(\.\d+)+", source):
        check_version(source)
        folder = cache() / f"vllm-{source}"
        if not folder.is_dir():
            raise VllmError(
                f"{folder}: vLLM {source} is not there; fetch it with `python -m rooflut_vllm fetch {source}`"
            )
        return folder
    if not isinstance(source, (str, os.PathLike)) or not os.path.isdir(source):
        raise VllmError(
            f"{source!r}: expected a version ({', '.join(VERSIONS)}) or the folder of an unpacked wheel; name either"
        )
    return pathlib.Path(source)


def version_of(root):
    """The version of the sources in a folder."""
    found = sorted(root.glob("vllm-*.dist-info")) if (root / "vllm").is_dir() else []
    if len(found) != 1:
        raise VllmError(
            f"{root}: expected the folders vllm and vllm-VERSION.dist-info of an unpacked wheel, found "
            f"{', '.join(path.name for path in found) or 'neither'}; name its folder, or a version"
        )
    # A wheel of another build has a local part: 0.15.1+cpu.
    return check_version(found[0].name.removeprefix("vllm-").removesuffix(".dist-info").partition("+")[0])


def check_version(version):
    """Refuses versions whose configuration and step functions were not compared."""
    if version not in VERSIONS:
        raise VllmError(f"vLLM {version} is not known; expected one of {', '.join(VERSIONS)}")
    return version


class Vllm:
    """The classes of one version."""

    #: The version of this process.
    loaded = None

    #: Classes by module.
    CLASSES = {
        "vllm.v1.core.sched.async_scheduler": ["AsyncScheduler"],
        "vllm.v1.core.sched.scheduler": ["Scheduler"],
        "vllm.v1.engine.core": ["EngineCore"],
        "vllm.v1.kv_cache_interface": [
            "ChunkedLocalAttentionSpec",
            "FullAttentionSpec",
            "KVCacheConfig",
            "MLAAttentionSpec",
            "MambaSpec",
            "SlidingWindowSpec",
        ],
        "vllm.v1.outputs": ["ModelRunnerOutput"],
        "vllm.v1.request": ["Request", "RequestStatus"],
    }

    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self.version = version_of(self.root)
        self.release = tuple(int(part) for part in self.version.split(".")[:2])
        if "vllm" in sys.modules:
            raise VllmError("vllm is imported already; call load() before, or in another process")
        try:
            with stubs.installed(str(self.root)):
                self._import()
        except BaseException as error:
            for name in [name for name in sys.modules if name.split(".")[0] == "vllm"]:
                del sys.modules[name]
            if not isinstance(error, ImportError):
                raise
            raise VllmError(
                f"{self.root}: cannot import vLLM {self.version}: {error}; install what it needs, or fetch it again"
            ) from error
        Vllm.loaded = self

    def __repr__(self):
        return f"<vLLM {self.version} of {self.root}>"

    def _import(self):
        import xxhash

        self.kv_cache_utils = kv_cache_utils = importlib.import_module("vllm.v1.core.kv_cache_utils")
        for name, classes in self.CLASSES.items():
            module = importlib.import_module(name)
            if isinstance(module, stubs.StubModule):
                raise ImportError(f"no module {name}")
            for of in classes:
                setattr(self, of, getattr(module, of))

        # The planner of 0.33 has a module of its own.
        has_planner = hasattr(kv_cache_utils, "get_kv_cache_groups")
        self.planner = kv_cache_utils if has_planner else importlib.import_module("vllm.v1.core.kv_cache_planning")
        sys.modules["vllm.v1.kv_cache_interface"].get_dtype_size = lambda _: 2

        self.hash = lambda value: xxhash.xxh3_128_digest(pickle.dumps(value, protocol=5))
        try:
            kv_cache_utils.init_none_hash(self.hash)
        except Exception:  # newer versions accept their own functions only
            kv_cache_utils.NONE_HASH = b"none"
        # 0.11 does not sleep: its loop is EngineCoreProc._process_engine_step.
        source = inspect.getsource(sys.modules[self.EngineCore.__module__])
        self.sleeps = "time.sleep(0.001)" in source
        #: What the API server does with requests beyond `max_model_len` (`get_max_tokens` in 0.33).
        self.truncates = self.release >= (0, 33)
        manager = sys.modules["vllm.v1.core.kv_cache_manager"].KVCacheManager
        self.has_watermark = "watermark" in inspect.signature(manager.__init__).parameters

    def admitted_tokens(self, prompt_tokens, output_tokens, max_model_len):
        """The output tokens that the API server asks the engine for; `None` if it rejects the request."""
        room = max_model_len - prompt_tokens
        if output_tokens <= room:
            return output_tokens
        return room if self.truncates and room > 0 else None

    def settings(self, config):
        """The names of the settings of `SchedulerConfig` or `CacheConfig`, read from the source."""
        file, name = {
            "scheduler_config": ("scheduler.py", "SchedulerConfig"),
            "cache_config": ("cache.py", "CacheConfig"),
        }[config]
        tree = ast.parse((self.root / "vllm" / "config" / file).read_text(encoding="utf-8"))
        (definition,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
        fields = (node for node in definition.body if isinstance(node, ast.AnnAssign))
        return [node.target.id for node in fields if "ClassVar" not in ast.unparse(node.annotation)]
