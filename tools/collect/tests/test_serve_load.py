"""Loads of `vllm bench serve` commands, and what is drawn for them."""

import json

import pytest

from rooflut_collect.errors import UserError
from rooflut_collect.serve import load
from rooflut_collect.serve.drive import Requests
from rooflut_collect.serve.load import Load
from rooflut_collect.serve.target import Target, key_of_environment

LINE = (
    "vllm bench serve --model m/x --max-concurrency 16 --num-prompts=160 --random-input-len 512 "
    "--random-output-len 64 --dataset-name random --save-result --save-detailed --ignore-eos --seed 7"
)


def test_a_line_is_a_load():
    assert load.parse(LINE) == Load(160, 512, 64, users=16, model="m/x", seed=7)
    assert load.parse(LINE).name == "users-16_512-64"


def test_what_a_line_leaves_out_is_as_in_vllm():
    assert load.parse("vllm bench serve") == Load(1000, 1024, 128)
    assert load.parse("vllm bench serve --request-rate inf").name == "at-once_1024-128"


def test_a_rate_and_users_are_both_in_the_name():
    line = "vllm bench serve --request-rate 2.5 --max-concurrency 8  # A comment."
    assert load.parse(line).name == "rate-2.5_users-8_1024-128"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("vllm bench serve --burstiness 2", "--burstiness: expected one of --model, --max-concurrency"),
        ("vllm bench serve --burstiness=2", "--burstiness: expected one of --model"),
        ("vllm bench serve 16", "16: expected one of"),
        (
            "vllm bench serve --num-prompts 0",
            "--num-prompts: expected a whole number of at least 1, found '0'",
        ),
        (
            "vllm bench serve --num-prompts",
            "--num-prompts: expected a whole number of at least 1, found nothing",
        ),
        ("vllm bench serve --request-rate nan", "--request-rate: expected requests per second, or inf"),
        ("vllm bench serve --dataset-name sharegpt", "--dataset-name: expected random"),
        ("vllm bench serve --ignore-eos=1", "--ignore-eos: expected no value, found '1'"),
        ("vllm bench serve --seed 1 --seed 2", "--seed: found twice"),
        ("KEY=1 vllm bench serve", "begins with vllm bench serve, found 'KEY=1 vllm bench serve'"),
        ("sglang.bench_serving", "begins with vllm bench serve"),
        ("vllm bench serve --model 'm", "an open quote or escape"),
        (LINE, "found a second load of the name users-16_512-64, the first is in line 3"),
    ],
)
def test_a_file_is_refused_with_the_line(tmp_path, line, message):
    path = tmp_path / "loads.txt"
    path.write_text(f"# A comment.\n\n{LINE}\n{line}\n")
    with pytest.raises(UserError) as error:
        load.read(path)
    assert str(error.value).startswith(f"{path}:4: ") and message in str(error.value)


def test_a_file_without_loads_is_refused(tmp_path):
    path = tmp_path / "loads.txt"
    path.write_text("# Nothing.\n")
    with pytest.raises(UserError, match="expected a vllm bench serve command per line, found none"):
        load.read(path)
    with pytest.raises(UserError, match="no-file.txt"):
        load.read(tmp_path / "no-file.txt")


def test_prompts_are_drawn_from_the_seed():
    def body(seed, number, users=1):
        return json.loads(Requests(Load(3, 100, 8, users), "m", "completions", seed).body(number))

    first = body(1, 0)
    assert first == body(1, 0)
    assert len(first["prompt"]) == 100 and all(1_000 <= token < 30_000 for token in first["prompt"])
    assert first["max_tokens"] == 8 and first["ignore_eos"] and first["stream_options"]["include_usage"]
    # No two share a prefix that a server could have cached.
    others = [body(1, 1), body(2, 0), body(1, "warm-up 0"), body(1, 0, users=2)]
    assert all(other["prompt"][:16] != first["prompt"][:16] for other in others)


def test_arrivals_are_a_poisson_process_of_the_rate():
    def gaps(seed):
        requests = Requests(Load(1, 1, 1, rate=4.0), "m", "completions", seed)
        return [gap for gap, _ in zip(requests.gaps(), range(4001))]

    first, *rest = gaps(1)
    assert first == 0.0 and [first, *rest] == gaps(1) != gaps(2)
    mean = sum(rest) / len(rest)
    deviation = (sum((gap - mean) ** 2 for gap in rest) / len(rest)) ** 0.5
    assert mean == pytest.approx(0.25, rel=0.1) and deviation == pytest.approx(mean, rel=0.1)


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/", "/v1/completions", "/v1/chat/completions"])
def test_a_url_may_end_with_the_version_or_an_endpoint(end):
    assert Target(f"http://host:8000/base{end}").at("/v1/models") == "http://host:8000/base/v1/models"


@pytest.mark.parametrize(
    "url", ["localhost:8000", "host", "ftp://host", "http://", "http://host:99999", "sk-secret"]
)
def test_what_is_no_url_is_refused_and_not_shown(url):
    with pytest.raises(UserError, match="--url: expected http://HOST:PORT") as error:
        Target(url)
    assert url not in str(error.value).replace("http://HOST", "")


def test_user_and_query_of_a_url_are_sent_and_not_shown():
    target = Target("https://some%40one:pass%2Fword@host/v1?token=abcdef&v=1")
    assert target.at("/v1/models") == "https://host/v1/models?token=abcdef&v=1"
    assert target.headers == {"Authorization": "Basic c29tZUBvbmU6cGFzcy93b3Jk"}
    assert target.shown() == "https://host"
    shown = target.hide("some@one pass/word pass%2Fword abcdef token=abcdef&v=1 c29tZUBvbmU6cGFzcy93b3Jk 1")
    assert shown == "*** *** *** *** *** *** 1"


def test_a_key_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("LLM_KEY", "sk-0123456789\n")
    assert key_of_environment("LLM_KEY") == "sk-0123456789" and key_of_environment(None) is None
    for name in ("NO_SUCH_KEY", "sk-0123456789"):
        with pytest.raises(UserError, match="give its name, not the key") as error:
            key_of_environment(name)
        assert name not in str(error.value)
    with pytest.raises(UserError, match="found a user beside --api-key-env"):
        Target("http://user:word@host", "sk-0123456789")
