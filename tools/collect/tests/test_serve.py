"""Loads on the mock server of `../../clients/server.py`, whose steps take a fixed time."""

import functools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from itertools import accumulate
from pathlib import Path

import pytest

pytest.importorskip("aiohttp", reason="aiohttp is not installed: serve is not tested")

from rooflut_collect import cli  # noqa: E402
from rooflut_collect.serve.drive import Requests  # noqa: E402
from rooflut_collect.serve.load import Load  # noqa: E402

ROOT = Path(__file__).parents[3]
MOCK = ROOT / "tools/clients/server.py"
MODEL = "meta-llama/Llama-3.1-8B-Instruct"
STEP_MS = 10.0
KEY = "sk-0123456789abcdef"
#: Longer than any test waits on a busy machine.
PATIENCE_S = 60


@pytest.fixture(scope="module")
def server():
    """Starts mock servers, one without flags and others with; returns the URL."""
    processes = []

    @functools.cache
    def without_flags() -> str:
        return start()

    def start(*flags) -> str:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [sys.executable, MOCK, "--no-tokenizer", "--step-ms", STEP_MS, "--port", port, *flags]
        processes.append(subprocess.Popen([str(word) for word in command]))
        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return f"http://127.0.0.1:{port}"
            except ConnectionRefusedError:
                assert processes[-1].poll() is None and time.monotonic() < until
                time.sleep(0.02)

    yield lambda *flags: start(*flags) if flags else without_flags()
    for process in processes:
        process.kill()
        process.wait()


@pytest.fixture
def serve(tmp_path, capsys):
    """Runs the command; its exit status and what it wrote to the terminal."""

    def serve(url, *words):
        command = ["serve", "--url", url, "--out", str(tmp_path / "out"), *map(str, words)]
        status = cli.main(command)
        written = capsys.readouterr()
        return status, written.out + written.err

    return serve


@pytest.fixture
def read(tmp_path):
    return lambda name: json.loads((tmp_path / "out" / name).read_text())


@pytest.fixture
def serving(server, serve, tmp_path):
    """Starts the command in a process; returns it, and the same command in this process."""

    def serving(*words, interrupts=signal.SIG_DFL):
        url = server()
        command = [sys.executable, "-m", "rooflut_collect", "serve", "--url", url, "--out", tmp_path / "out"]
        process = subprocess.Popen(
            [str(word) for word in (*command, *words)],
            env={**os.environ, "PYTHONPATH": str(ROOT / "tools/collect/src")},
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, interrupts),
        )
        return process, lambda: serve(url, *words)

    return serving


SMALL = ("--prompt", 40, "--output", 8)


def test_users_send_a_request_when_the_last_is_answered(server, serve, read):
    status, text = serve(server(), "--users", "4,2", "--requests", 24, *SMALL)
    assert status == 0, text
    for users in (4, 2):
        found = read(f"users-{users}_40-8.json")
        assert (found["num_prompts"], found["completed"], found["failed"]) == (24, 24, 0)
        assert (found["max_concurrency"], found["max_concurrent_requests"]) == (users, users)
        assert found["request_rate"] == "inf" and found["model_id"] == found["tokenizer_id"] == MODEL
        assert (found["total_input_tokens"], found["total_output_tokens"]) == (24 * 40, 24 * 8)
        assert found["rooflut_collect"]["notes"] == []
        check_times(found)
        # A user's requests do not overlap: at each start, fewer than `users` others are in flight.
        spans = [(at, at + e2e) for at, e2e in zip(found["start_times"], found["latencies"])]
        for start, _ in spans:
            assert sum(begin < start < end for begin, end in spans) < users
    assert "users-4_40-8: 24 requests in" in text


def check_times(found):
    """TTFT is a step and the rest of another, then a token comes per step; a busy machine takes longer."""
    count = len(found["ttfts"])
    assert all(
        len(found[key]) == count for key in ("input_lens", "output_lens", "itls", "latencies", "errors")
    )
    assert min(found["ttfts"]) > 0.9e-3 * STEP_MS
    assert found["median_ttft_ms"] < 10 * STEP_MS
    assert 0.7 * STEP_MS < found["median_tpot_ms"] < 3 * STEP_MS
    lists = (found[key] for key in ("ttfts", "itls", "latencies", "output_lens"))
    for ttft, gaps, e2e, output in zip(*lists):
        assert e2e == pytest.approx(ttft + sum(gaps)) and len(gaps) == output - 1
    assert found["mean_ttft_ms"] == pytest.approx(1e3 * sum(found["ttfts"]) / count)
    tpots = [1e3 * sum(gaps) / len(gaps) for gaps in found["itls"]]
    assert found["mean_tpot_ms"] == pytest.approx(sum(tpots) / count)
    assert found["start_times"] == sorted(found["start_times"]) and found["start_times"][0] == 0.0
    ends = [at + e2e for at, e2e in zip(found["start_times"], found["latencies"])]
    assert max(ends) <= found["duration"] < max(ends) + 1.0
    assert found["request_throughput"] == pytest.approx(count / found["duration"])


def test_an_open_loop_sends_at_the_times_that_the_seed_draws(server, serve, read):
    status, text = serve(server(), "--rate", 50, "--requests", 60, "--seed", 3, *SMALL)
    assert status == 0, text
    found = read("rate-50_40-8.json")
    assert (found["completed"], found["request_rate"], found["max_concurrency"]) == (60, 50.0, None)
    assert found["max_concurrent_requests"] > 1
    check_times(found)
    due = accumulate(Requests(Load(60, 40, 8, rate=50.0), MODEL, "completions", 3).gaps())
    late = [start - at for start, at in zip(found["start_times"], due)]
    assert min(late) > -0.05 and max(late) < 0.5
    assert found["rooflut_collect"]["seed"] == 3


def test_without_rate_and_users_all_requests_are_sent_at_once(server, serve, read):
    status, _ = serve(server(), "--rate", "inf", "--requests", 12, *SMALL)
    found = read("at-once_40-8.json")
    assert status == 0 and found["max_concurrent_requests"] == 12
    assert found["request_rate"] == "inf" and found["max_concurrency"] is None


def test_users_bound_an_open_loop(server, serve, read, tmp_path):
    (tmp_path / "loads").write_text(
        "vllm bench serve --request-rate 200 --max-concurrency 3 --num-prompts 20 "
        f"--random-input-len 40 --random-output-len 8 --seed 5 --model {MODEL}\n"
    )
    status, text = serve(server(), "--loads", tmp_path / "loads")
    found = read("rate-200_users-3_40-8.json")
    assert status == 0 and found["completed"] == 20, text
    assert (found["max_concurrent_requests"], found["max_concurrency"], found["request_rate"]) == (
        3,
        3,
        200.0,
    )
    assert found["rooflut_collect"]["seed"] == 5


def test_chat_has_about_as_many_words(server, serve, read):
    status, text = serve(server(), "--users", 2, "--requests", 6, "--endpoint", "chat", *SMALL)
    found = read("users-2_40-8.json")
    assert status == 0 and found["backend"] == "openai-chat" and found["input_lens"] == [40] * 6, text
    check_times(found)


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_asked_again(server, serve, read, status):
    url = server("--fail-every", 5, "--fail-status", status)
    code, text = serve(url, "--users", 2, "--requests", 20, "--warm-up", 0, *SMALL)
    found = read("users-2_40-8.json")
    assert code == 0 and (found["completed"], found["failed"]) == (20, 0), text
    about = found["rooflut_collect"]
    # Each fifth of 24 attempts failed.
    assert sum(about["retries_of_requests"]) == 4 and 0 < about["retried_requests"] <= 4
    assert f"{about['retried_requests']} requests were sent again" in text
    # The wait before the second attempt is in no latency.
    check_times(found)


def test_an_answer_that_is_cut_off_is_asked_for_again(server, serve, read):
    code, text = serve(server("--break-every", 7), "--users", 2, "--requests", 12, "--warm-up", 0, *SMALL)
    found = read("users-2_40-8.json")
    assert code == 0 and (found["completed"], found["failed"]) == (12, 0), text
    assert sum(found["rooflut_collect"]["retries_of_requests"]) == 1
    check_times(found)


def test_failed_requests_are_counted_and_in_no_latency(server, serve, read):
    url = server("--fail-every", 15, "--fail-status", 500)
    code, text = serve(url, "--users", 3, "--requests", 30, "--warm-up", 0, *SMALL)
    found = read("users-3_40-8.json")
    assert code == 0 and (found["completed"], found["failed"], found["num_prompts"]) == (28, 2, 30), text
    failed = [index for index, error in enumerate(found["errors"]) if error]
    assert len(failed) == 2 and found["errors"][failed[0]] == "HTTP 500: the engine is overloaded"
    for index in failed:
        assert (found["output_lens"][index], found["itls"][index], found["latencies"][index]) == (0, [], 0.0)
    good = [ttft for ttft, error in zip(found["ttfts"], found["errors"]) if not error]
    assert found["mean_ttft_ms"] == pytest.approx(1e3 * sum(good) / 28) and found["min_ttft_ms"] > 0.0
    assert found["total_output_tokens"] == 28 * 8
    assert "2 of 30 requests failed" in text


def test_a_load_with_too_many_failures_ends_early_and_is_no_result(server, serve, read, tmp_path):
    url = server("--fail-every", 4, "--fail-status", 500)
    code, text = serve(url, "--users", "2,1", "--requests", 20, "--warm-up", 0, *SMALL)
    assert code == 1
    # The twelfth request is the third that fails, and another may be in flight.
    assert re.search("users-2_40-8: 3 of 20 requests failed, more than a tenth: ended after 1[12];", text)
    # The next load is sent all the same.
    assert "users-1_40-8: 3 of 20 requests failed" in text
    assert "2 of 2 loads failed (users-2_40-8, users-1_40-8)" in text
    assert sorted(os.listdir(tmp_path / "out")) == ["users-1_40-8.failed.json", "users-2_40-8.failed.json"]
    found = read("users-2_40-8.failed.json")
    assert "HTTP 500: the engine is overloaded" in found["error"] and found["partial"]["failed"] == 3


def test_a_slow_answer_fails_and_is_not_asked_for_again(server, serve, read):
    flags = ("--timeout", 0.3, "--warm-up", 0, "--prompt", 40, "--output", 500)
    code, text = serve(server(), "--users", 1, "--requests", 2, *flags)
    assert code == 1 and "no whole answer in 0.3 s (--timeout)" in text
    assert read("users-1_40-500.failed.json")["partial"]["rooflut_collect"]["retried_requests"] == 0


def test_results_that_are_there_stay(server, serve, read, tmp_path):
    url = server()
    words = ("--requests", 4, *SMALL)
    assert serve(url, "--users", 1, *words)[0] == 0
    path = tmp_path / "out/users-1_40-8.json"
    first = path.read_bytes()
    code, text = serve(url, "--users", "1,2", *words)
    assert code == 0 and path.read_bytes() == first
    assert (
        f"users-1_40-8: is in {path}; left as it is" in text and read("users-2_40-8.json")["completed"] == 4
    )
    # Another load of the same name is not taken for this one.
    code, text = serve(url, "--users", 1, "--requests", 5, *SMALL)
    assert code == 1 and path.read_bytes() == first
    assert f"{path}: expected the result of this load, num_prompts 5, found num_prompts 4" in text
    for flags in (("--endpoint", "chat"), ("--model", "other"), ("--seed", 3**30)):
        code, text = serve(url, "--users", 1, *words, *flags)
        assert code == 1 and "expected the result of this load" in text
    assert serve("http://127.0.0.1:1", "--users", 1, *words)[0] == 1
    assert serve(url, "--users", 1, *words, "--force")[0] == 0 and path.read_bytes() != first
    path.write_text("something else")
    code, text = serve(url, "--users", 1, *words)
    assert code == 1 and "could not read" in text and path.read_text() == "something else"


def test_the_key_is_sent_and_shown_nowhere(server, serve, tmp_path, monkeypatch):
    monkeypatch.setenv("LLM_KEY", KEY)
    url = server("--api-key", KEY, "--fail-every", 12, "--fail-status", 500)
    code, text = serve(
        f"{url}/?token=qwertyuiop", "--users", 1, "--requests", 20, "--api-key-env", "LLM_KEY", *SMALL
    )
    assert code == 0 and "2 of 20 requests failed" in text
    # A server that repeats a wrong key.
    monkeypatch.setenv("LLM_KEY", KEY[::-1])
    code, failed = serve(url, "--users", 2, "--requests", 20, "--api-key-env", "LLM_KEY", *SMALL)
    assert code == 1 and "HTTP 401: wrong API key: ***" in failed
    name, word = "somebody", "a-pass-word"
    code, basic = serve(url.replace("//", f"//{name}:{word}@"), "--users", 3, "--requests", 20, *SMALL)
    assert code == 1 and "HTTP 401: wrong API key: Basic ***" in basic
    files = [path.read_text() for path in (tmp_path / "out").iterdir()]
    assert len(files) == 3
    for each in (text, failed, basic, *files, *os.listdir(tmp_path / "out")):
        assert not any(secret in each for secret in (KEY, KEY[::-1], "qwertyuiop", name, word))


def test_a_loads_file_with_an_unknown_flag_is_refused_before_anything_is_sent(serve, tmp_path):
    path = tmp_path / "loads.txt"
    path.write_text("vllm bench serve --num-prompts 3\nvllm bench serve --goodput ttft:100\n")
    code, text = serve("http://127.0.0.1:1", "--loads", path)
    assert code == 1 and f"{path}:2: --goodput: expected one of --model" in text
    code, text = serve("http://127.0.0.1:1", "--loads", path, "--requests", 3)
    assert code == 1 and "--requests: found beside --loads" in text
    assert not (tmp_path / "out").exists()


def test_a_wrong_url_is_said(server, serve):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        code, text = serve(url, "--users", 1)
        assert code == 1 and f"{url}/v1/models: expected the models of an OpenAI-compatible server" in text
        assert "check --url, and that the server runs" in text and "Traceback" not in text
        # A model that is named needs no list: the first request says it.
        code, text = serve(url, "--users", 1, "--model", "m", "--retries", 0, *SMALL)
        assert code == 1 and "4 of 4 requests of the warm-up failed: connection: " in text
    code, text = serve(server() + "/elsewhere", "--users", 1)
    assert code == 1 and "found HTTP 404; check --url: http://HOST:PORT" in text


def test_a_model_that_the_server_does_not_have_is_refused(server, serve, tmp_path):
    url = server()
    code, text = serve(url, "--users", 1, "--model", "other")
    assert code == 1 and f"{url}: expected the model other, found {MODEL}; choose with --model" in text
    path = tmp_path / "loads.txt"
    path.write_text("\nvllm bench serve --model other\n")
    code, text = serve(url, "--loads", path)
    assert code == 1 and f"{path}:2: {url}: expected the model other" in text


def test_without_aiohttp_it_is_said_how_to_install_it(serve, monkeypatch):
    monkeypatch.setattr("rooflut_collect.serve.client.aiohttp", None)
    code, text = serve("http://127.0.0.1:1", "--users", 1)
    assert (
        code == 1 and "serve needs aiohttp, which is not installed; install it: pip install aiohttp" in text
    )


@pytest.mark.parametrize(
    ("which", "interrupts"),
    [(signal.SIGINT, signal.SIG_DFL), (signal.SIGINT, signal.SIG_IGN), (signal.SIGTERM, signal.SIG_DFL)],
    ids=["SIGINT", "SIGINT in the background", "SIGTERM"],
)
def test_an_interrupt_leaves_whole_files_only(serving, tmp_path, which, interrupts):
    out = tmp_path / "out"
    process, again = serving("--users", "8,1", "--requests", 16, *SMALL, interrupts=interrupts)
    until = time.monotonic() + PATIENCE_S
    while not (out / "users-8_40-8.json").exists() and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(which)
    _, text = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130 and "Traceback" not in text, text
    assert "stopped with 1 of 2 loads left; the same command goes on" in text
    assert os.listdir(out) == ["users-8_40-8.json"]
    assert json.loads((out / "users-8_40-8.json").read_text())["completed"] == 16
    code, text = again()
    assert code == 0 and "users-8_40-8: is in" in text and "users-1_40-8: 16 requests in" in text


def test_the_result_has_every_key_that_the_reader_reads(server, serve, read):
    sources = [ROOT / "crates/observe/src" / name for name in ("vllm.rs", "lists.rs")]
    if not all(source.exists() for source in sources):
        pytest.skip("the sources of rooflut are not here")
    vllm, lists = (source.read_text() for source in sources)
    names = re.search(r"NAMES: Names = \[(.*)\]", vllm)[1]
    figures = re.findall(r'"(\w+)"', names)
    latencies = set(re.findall(r'latency\(result, "(\w+)"\)', vllm))
    keys = set(re.findall(r'"/(\w+)"', vllm)) | set(re.findall(r'get\("(\w+)"\)', vllm + lists))
    keys |= set(re.findall(r'"/(\w+)"', lists))
    keys |= set(re.findall(r'"(\w+)"', re.search(r"for name in \[(.*)\]", lists)[1]))
    keys |= {f"{figure}_{latency}_ms" for figure in figures for latency in latencies}
    assert latencies == {"ttft", "tpot", "itl", "e2el"} and {"duration", "model_id", "start_times"} <= keys
    # Keys by which the file is recognised.
    keys |= {"request_throughput", "tokenizer_id", "request_goodput"}
    keys -= {"ramp_up_strategy"}  # vLLM writes it where there is one.
    assert serve(server(), "--users", 2, "--requests", 4, *SMALL)[0] == 0
    assert keys - set(read("users-2_40-8.json")) == set()


def test_the_help_has_examples(capsys):
    with pytest.raises(SystemExit):
        cli.main(["serve", "--help"])
    assert "rooflut-collect serve --url http://localhost:8000 --rate 2.5" in capsys.readouterr().out
