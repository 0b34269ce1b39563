"""Schedulers of users, settings of vLLM, and interrupts."""

import ast
import os
import pathlib
import re
import runpy
import signal
import subprocess
import sys
import threading

import pytest
from workloads import requests

import rooflut_vllm

FOLDER = pathlib.Path(__file__).resolve().parents[1]
KEYS = dict(model="llama-3.1-8b", gpu="h100", max_num_seqs=16)


@pytest.fixture
def base(vllm):
    """The class of vLLM's default scheduler."""
    return vllm.Scheduler if vllm.release < (0, 15) else vllm.AsyncScheduler


def test_a_subclass_without_changes_changes_nothing(base):
    class Same(base):
        pass

    frame = requests(1)
    own, same = (rooflut_vllm.Server(scheduler_cls=of, **KEYS).serve(frame) for of in (None, Same))
    assert own.json() == same.json()
    assert (own.steps["start_ns"] == same.steps["start_ns"]).all()


def test_the_shortest_prompts_come_first(base):
    class ShortestFirst(base):
        def schedule(self, *arguments):
            waiting = sorted(self.waiting, key=lambda request: request.num_prompt_tokens)
            self.waiting.clear()
            self.waiting.extend(waiting)
            return super().schedule(*arguments)

    prompts = [700, 500, 300, 100] * 10
    frame = dict(prompt_tokens=prompts, output_tokens=[20] * 40)
    first_come, shortest = (rooflut_vllm.Server(scheduler_cls=of, **KEYS).serve(frame) for of in (None, ShortestFirst))
    # All arrive at once, and the schedule is by length then, whatever the order of the rows.
    queue_ms = shortest.requests["queue_ms"]
    means = [queue_ms[shortest.requests["prompt_tokens"] == prompt].mean() for prompt in sorted(set(prompts))]
    assert means == sorted(means) and means[0] < means[-1]
    assert shortest["queue_ms"]["mean"] < first_come["queue_ms"]["mean"]
    assert shortest["completed"] == first_come["completed"] == 40


def test_a_policy_drops_requests(vllm, base):
    class Drops(base):
        """Drops requests that have waited for 0.1 s, and one in the midst of its tokens."""

        def schedule(self, *arguments):
            late = [request for request in self.waiting if self.clock() - request.arrival_time > 0.1]
            late += [request for request in self.running if request.request_id == "0" and request.num_output_tokens > 9]
            ids = [request.request_id for request in late]
            self.finish_requests(ids, vllm.RequestStatus.FINISHED_ABORTED)
            return super().schedule(*arguments)

    frame = dict(prompt_tokens=[200] * 200, output_tokens=[30] * 200, arrival_ms=[5 * row for row in range(200)])
    server = rooflut_vllm.Server(scheduler_cls=Drops, **KEYS)
    report = server.serve(frame)
    served = report.requests["outcome"] == "completed"
    assert not served[0] and 30 < served.sum() == report["completed"] < 150
    assert set(report.requests["outcome"][~served]) == {"other"}
    assert report["rejected"] == report["rejected_by_reason"]["other"] == 200 - served.sum()
    # A request is dropped when its wait is first seen to be longer: one that starts has waited a step more at most.
    assert report.requests["queue_ms"][served].max() <= 100 + report.steps["duration_ns"].max() / 1e6
    for name in ("ttft_ms", "tpot_ms", "e2e_ms", "queue_ms"):
        assert (report.requests[name] != report.requests[name]).tolist() == (~served).tolist()
    assert (report.requests["finish_ns"][~served] == -1).all()
    assert report["throughput"]["output_tokens_per_s"] * report["makespan_s"] == pytest.approx(30 * served.sum())
    # Blocks and slots of those that were dropped are free again.
    assert report.steps["kv_blocks_used"].max() <= 16 * 15
    assert report.json() == server.serve(frame).json()


def test_a_class_is_found_by_its_name(base):
    frame = requests(2, 20)
    name = f"{base.__module__}.{base.__qualname__}"
    named = rooflut_vllm.Server(scheduler_cls=name, **KEYS).serve(frame)
    assert named.json() == rooflut_vllm.Server(**KEYS).serve(frame).json()


def test_a_policy_reads_the_time_of_the_requests(base):
    times = []

    class Watch(base):
        def schedule(self, *arguments):
            times.append(self.clock())
            return super().schedule(*arguments)

    report = rooflut_vllm.Server(scheduler_cls=Watch, **KEYS).serve(requests(3, 20))
    assert times == sorted(times)
    assert {start / 1e9 for start in report.steps["start_ns"].tolist()} <= set(times) | {
        end / 1e9 for end in report.requests["finish_ns"].tolist()
    }


def test_a_setting_of_vllm_changes_the_schedule(vllm):
    if vllm.release < (0, 33):
        pytest.skip("prefill_schedule_interval is one of 0.33")
    frame = requests(4)
    own = rooflut_vllm.Server(**KEYS).serve(frame)
    held = rooflut_vllm.Server(settings={"scheduler_config.prefill_schedule_interval": 4}, **KEYS).serve(frame)
    assert held["ttft_ms"]["mean"] > own["ttft_ms"]["mean"]
    assert held["completed"] == own["completed"]


def test_ctrl_c_ends_a_run_and_the_server_serves_again(vllm):
    server = rooflut_vllm.Server(**KEYS)
    short = requests(5, 20)
    expected = server.serve(short).json()
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        server.serve(dict(prompt_tokens=[100] * 5000, output_tokens=[1000] * 5000))
    assert server.serve(short).json() == expected


def test_the_rest_of_the_process_keeps_its_packages(vllm):
    names = [name for name in sys.modules if name.split(".")[0] in ("torch", "transformers", "zmq", "tqdm", "PIL")]
    assert not [name for name in names if type(sys.modules[name]).__name__ == "StubModule"]
    with pytest.raises(ImportError):
        import a_package_that_does_not_exist  # noqa: F401


def test_the_example_of_the_readme_is_the_file_and_runs(vllm, capsys):
    example = FOLDER / "examples" / "shortest_first.py"
    blocks = re.findall(r"```python\n(.*?)```", (FOLDER / "README.md").read_text(), re.DOTALL)
    assert blocks == [example.read_text()]
    assert len([line for line in blocks[0].splitlines() if line]) <= 15
    if vllm.version != "0.15.1":
        pytest.skip("the example is for 0.15.1")
    runpy.run_path(str(example))
    printed = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    first_come, shortest = (ast.literal_eval(printed[name]) for name in ("AsyncScheduler", "ShortestFirst"))
    # The page says so.
    assert shortest["mean"] < first_come["mean"] and shortest["p50"] < first_come["p50"]
    assert shortest["p99"] > first_come["p99"]


def test_an_installed_version_is_found(vllm):
    program = "import rooflut_vllm; print(rooflut_vllm.load().version)"
    environment = dict(os.environ, PYTHONPATH=str(vllm.root))
    found = subprocess.check_output([sys.executable, "-c", program], env=environment, text=True)
    assert found.strip() == vllm.version


def test_the_same_input_gives_the_same_bytes_in_another_process(vllm):
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import rooflut_vllm, workloads; "
        "server = rooflut_vllm.Server(vllm=sys.argv[2], model='llama-3.1-8b', gpu='h100', kv_blocks=250); "
        "report = server.serve(workloads.requests(6)); print(report.json(), report.steps['start_ns'].tolist())"
    )
    command = [sys.executable, "-c", program, str(FOLDER / "tests"), vllm.version]
    hashes = [dict(os.environ, PYTHONHASHSEED=seed) for seed in ("1", "2")]
    first, second = (subprocess.check_output(command, env=environment) for environment in hashes)
    assert first == second
