"""Writes a startup log and a scrape of /metrics after the log calls and metrics in an unpacked wheel of vLLM.

    python vllm_written.py VERSION SOURCES OUT

The calls are found by their text, so that another version of vLLM without them stops this script. Values are made up
(one H100, Llama-3.1-8B); prometheus_client writes the scrape with the metric classes, labels and buckets of the source.
"""

import ast
import json
import re
import sys
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

MODEL = "meta-llama/Llama-3.1-8B-Instruct"
ARGS = {"model": MODEL, "max_model_len": 8192, "gpu_memory_utilization": 0.9}
# File, text of the call, arguments, process.
CORE, API = "EngineCore", "APIServer"
COMMON_FIRST = [("config/scheduler.py", "Chunked prefill is enabled with max_num_batched_tokens=%d.", (8192,), API)]
LOGS = {
    "0.11.0": [
        *COMMON_FIRST,
        ("entrypoints/openai/api_server.py", "vLLM API server version %s", ("0.11.0",), API),
        ("entrypoints/utils.py", "non-default args: %s", (ARGS,), API),
        ("model_executor/model_loader/default_loader.py", "Loading weights took %.2f seconds", (2.31,), CORE),
        ("v1/worker/gpu_model_runner.py", "Model loading took %.4f GiB and %.6f seconds", (14.9889, 3.214587), CORE),
        ("v1/worker/gpu_worker.py", "Available KV cache memory: %.2f GiB", (54.98,), CORE),
        ("v1/core/kv_cache_utils.py", "GPU KV cache size: %s tokens", ("450,384",), CORE),
        (
            "v1/core/kv_cache_utils.py",
            "Maximum concurrency for %s tokens per request: %.2fx",
            ("8,192", 450384 / 8192),
            CORE,
        ),
        ("v1/worker/gpu_model_runner.py", "Graph capturing finished in %.0f secs, took %.2f GiB", (4, 0.61), CORE),
        ("v1/engine/core.py", "init engine (profile, create kv cache, warmup model) took %.2f seconds", (28.4,), CORE),
    ],
    "0.33.0": [
        ("entrypoints/common/startup.py", "vLLM server version %s, serving model %s", ("0.33.0", MODEL), API),
        ("entrypoints/common/startup.py", "non-default args: %s", (ARGS,), API),
        *COMMON_FIRST,
        ("model_executor/model_loader/default_loader.py", "Loading weights took %.2f seconds", (2.31,), CORE),
        (
            "v1/worker/gpu_model_runner.py",
            "Model loading took %s GiB memory and %.6f seconds",
            ("14.99", 3.214587),
            CORE,
        ),
        ("v1/worker/gpu_worker.py", "Available KV cache memory: %s GiB", ("54.98",), CORE),
        (
            "v1/core/kv_cache_utils.py",
            "%s KV cache size: %s tokens, Maximum concurrency for %s tokens per request: %.2fx",
            ("GPU", "450,384", "8,192", 450384 / 8192),
            CORE,
        ),
        ("v1/worker/gpu_model_runner.py", "Graph capturing finished in %.0f secs, took %.2f GiB", (4, 0.61), CORE),
        ("v1/engine/core.py", "init engine (profile, create kv cache, warmup model) took %.2f s", (28.4,), CORE),
    ],
}
VALUES = {
    "num_requests_running": 4,
    "num_requests_waiting": 0,
    "kv_cache_usage_perc": 0.0026,
    "prefix_cache_queries": 5120,
    "prefix_cache_hits": 1024,
    "num_preemptions": 0,
    "prompt_tokens": 5120,
    "generation_tokens": 640,
    "request_success": 20,
    "request_prompt_tokens": [256] * 20,
    "request_generation_tokens": [32] * 20,
    "time_to_first_token_seconds": [0.021 + 0.001 * i for i in range(20)],
    "inter_token_latency_seconds": [0.0071] * 620,
    "time_per_output_token_seconds": [0.0071] * 620,
    "request_time_per_output_token_seconds": [0.0071] * 20,
    "e2e_request_latency_seconds": [0.25 + 0.001 * i for i in range(20)],
    "request_queue_time_seconds": [0.0001] * 20,
    "request_inference_time_seconds": [0.24] * 20,
    "request_prefill_time_seconds": [0.02] * 20,
    "request_decode_time_seconds": [0.22] * 20,
}


def line_of(source: str, text: str, path: Path) -> int:
    """Returns the line of the `logger.info` call with this text, whose parts may stand in several literals."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and re.fullmatch("info|info_once", getattr(node.func, "attr", "")):
            if node.args and isinstance(node.args[0], ast.Constant) and node.args[0].value == text:
                return node.lineno
    # A message that a variable holds.
    for number, line in enumerate(source.splitlines(), 1):
        if f'"{text}"' in line:
            return number
    sys.exit(f"{path}: no log call with the text {text!r}")


def build_buckets(mantissas: list[int], largest: int) -> list[int]:
    return [v for e in range(10) for m in mantissas if (v := m * 10**e) <= largest]


def metrics(path: Path) -> tuple[str, list[str]]:
    tree = ast.parse(path.read_text())
    labels = ["model_name", "engine"]
    names = {"labelnames": labels, "max_model_len": 8192}
    names["build_1_2_5_buckets"] = lambda largest: build_buckets([1, 2, 5], largest)
    if (path.parent / "buckets.py").exists():
        exec(compile((path.parent / "buckets.py").read_text(), "buckets.py", "exec"), names)
        names["custom_buckets"] = None
    for node in ast.walk(tree):  # buckets that a variable holds
        if isinstance(node, ast.Assign) and re.fullmatch(r"(?!custom)\w*buckets", ast.unparse(node.targets[0])):
            names[ast.unparse(node.targets[0])] = eval(ast.unparse(node.value), dict(names))
    hidden = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "show_hidden_metrics" in ast.unparse(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    registry, places = CollectorRegistry(), []
    classes = {"_gauge_cls": Gauge, "_counter_cls": Counter, "_histogram_cls": Histogram}
    for node in ast.walk(tree):
        kind = classes.get(getattr(node.func, "attr", "")) if isinstance(node, ast.Call) else None
        if kind is None or id(node) in hidden:
            continue
        given = {k.arg: k.value for k in node.keywords}
        name = getattr(given.get("name"), "value", None)
        value = VALUES.get(str(name).removeprefix("vllm:"))
        if value is None:
            continue
        evaluate = lambda key: eval(compile(ast.Expression(given[key]), str(path), "eval"), dict(names))
        extra = {"buckets": evaluate("buckets")} if "buckets" in given else {}
        metric = kind(name, evaluate("documentation"), evaluate("labelnames"), registry=registry, **extra)
        label_values = {"model_name": MODEL, "engine": "0"}
        label_values |= {label: "length" for label in evaluate("labelnames") if label not in label_values}
        child = metric.labels(**label_values)
        places.append(f"{name}: v1/metrics/loggers.py:{node.lineno}")
        if kind is Histogram:
            for v in value:
                child.observe(v)
        elif kind is Counter:
            child.inc(value)
        else:
            child.set(value)
    return generate_latest(registry).decode(), places


def main() -> None:
    version, sources, out = sys.argv[1], Path(sys.argv[2]) / "vllm", Path(sys.argv[3])
    out.mkdir(parents=True, exist_ok=True)
    lines, places = [], []
    for second, (file, text, values, process) in enumerate(LOGS[version]):
        place = line_of((sources / file).read_text(), text, sources / file)
        places.append(f"{text}: {file}:{place}")
        name = process + ("_DP0" if process == CORE and version == "0.11.0" else "")
        where = Path(file).name
        message = text % values
        lines.append(f"({name} pid=271) INFO 11-29 12:00:{second:02} [{where}:{place}] {message}")
    (out / "startup.log").write_text("\n".join(lines) + "\n")
    scrape, metric_places = metrics(sources / "v1/metrics/loggers.py")
    (out / "metrics.txt").write_text(scrape)
    (out / "written_after.json").write_text(json.dumps({"log": places, "metrics": metric_places}, indent=1) + "\n")


if __name__ == "__main__":
    main()
