"""Commands answer as the binary does."""

import json
import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import rooflut
from rooflut import distributed

ROOT = pathlib.Path(__file__).parents[3]


@pytest.mark.parametrize("name", ["models", "engines", "tables"])
def test_a_list_is_that_of_the_binary(command, name):
    assert getattr(rooflut, name)() == json.loads(command(name, "--json"))[name]


def test_what_fits_is_that_of_the_binary(command):
    assert rooflut.fits() == json.loads(command("fits", "--json"))


def test_a_plan_is_that_of_the_binary(command):
    told = command("plan", "--rate", 20, "--requests", 500, "--goodput", "ttft:500", "--gpu", "h100,h200", "--tp", "1,2", "--json")
    plan = rooflut.plan(rate=20, requests=500, goodput="ttft:500", gpu=["h100", "h200"], tp=[1, 2])
    assert plan == json.loads(told) and plan["deployments"]


def test_prices_decide_between_gpus(tmp_path):
    prices = tmp_path / "prices.toml"
    prices.write_text('[h200]\nusd_per_hour = 0.5\nsource = "made up"\ndate = "2025-06"\n')
    load = {"rate": 20, "requests": 500, "goodput": "ttft:500", "gpu": ["h100", "h200"], "tp": 1, "count": 1}
    (dearer,) = rooflut.plan(**load)["deployments"]
    (cheaper,) = rooflut.plan(**load, prices=prices)["deployments"]
    assert (dearer["gpu"], cheaper["gpu"]) == ("h100", "h200")


def test_the_highest_rate_is_that_of_the_binary(command):
    told = command("saturate", "--requests", 500, "--goodput", "ttft:500", "--goodput", "tpot:20", "--json")
    found = rooflut.saturate(requests=500, goodput=["ttft:500", "tpot:20"])
    assert found == json.loads(told) and found["within_limits"]["rate"] > 1


def test_two_scenarios_are_compared(command):
    files = [ROOT / "examples" / name for name in ("scenario.toml", "two_servers.toml")]
    assert rooflut.compare(*files) == json.loads(command("compare", *files, "--json"))


def test_a_config_is_read_from_text_or_a_dictionary(tmp_path):
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
        "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32, "vocab_size": 128256,
        "max_position_embeddings": 8192, "torch_dtype": "bfloat16", "tie_word_embeddings": False,
    }
    read = rooflut.read_config(config)
    assert read == rooflut.read_config(json.dumps(config)) and read["ignored"] == []
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config))
    models = (file, "llama-3.1-8b")
    own, known = (rooflut.Deployment(model=model, max_model_len=8192, sampler="plain") for model in models)
    batch = {"decode": [(64, 1000)]}
    assert own.step(**batch)["total_ns"] == known.step(**batch)["total_ns"]
    with pytest.raises(rooflut.RooflutError, match="model_type"):
        rooflut.read_config({**config, "model_type": "mystery"})
    with pytest.raises(rooflut.RooflutError):
        rooflut.read_config("{")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rooflut.plan(rate=3), "goodput"),
        (lambda: rooflut.lookup("softmax"), "softmax"),
        (lambda: rooflut.step(decode="64"), "--decode"),
        (lambda: rooflut.saturate(rate=3), "rate has no effect"),
        (lambda: rooflut.fits(model="\udc80"), "UTF-8|unknown model"),
        (lambda: rooflut.plan(gpu=[]), "gpu: expected at least one value"),
        (lambda: rooflut.plan(gpu=b"h100"), "gpu: expected text, a number or a list of them, found bytes"),
        (lambda: rooflut.plan(gpu={"h100": 2}), "gpu: expected text, .* found dict"),
        (lambda: rooflut.read_config(b"{}"), "expected the text of a JSON file or a dictionary, found bytes"),
        (lambda: rooflut.sweep(resume=True), "--out"),
        (lambda: rooflut.sweep(speed=[1, 2]), "--speed"),
        (lambda: rooflut.compare("/nonexistent", "b"), "nonexistent"),
    ],
)
def test_a_failed_command_is_an_error_with_its_message(call, message):
    with pytest.raises(rooflut.RooflutError, match=message):
        call()


def test_a_scenario_from_elsewhere_names_nothing_outside_of_its_folder(tmp_path):
    folder = tmp_path / "theirs"
    folder.mkdir()
    for lengths in (tmp_path / "lengths.txt", folder / "lengths.txt"):
        lengths.write_text("100\n")
    scenario, inside = folder / "scenario.toml", folder / "inside.toml"
    for file, lengths in [(scenario, folder / ".." / "lengths.txt"), (inside, folder / "lengths.txt")]:
        file.write_text(f"[workload]\nrequests = 2\nprompt = 'file:{lengths}'\n")
    calls = [
        lambda file, **given: rooflut.simulate(file, **given).json(),
        lambda file, **given: rooflut.sweep(scenario=file, **given).csv(),
        lambda file, **given: distributed.sweep(engine=ThreadPoolExecutor(1), scenario=file, **given).csv(),
    ]
    message = r"scenario\.toml:3: prompt: expected a path inside of the file's folder .* found .*lengths\.txt"
    for call in calls:
        with pytest.raises(rooflut.RooflutError, match=message):
            call(scenario, untrusted=True)
        assert call(inside, untrusted=True) == call(inside) and call(scenario) == call(scenario, untrusted=False)
        # Keywords are the caller's own.
        assert call(scenario, untrusted=True, prompt=100)
        with pytest.raises(rooflut.RooflutError, match="untrusted has no effect: no scenario file is read; leave it out"):
            call(None, untrusted=True)
    with pytest.raises(rooflut.RooflutError, match=message):
        rooflut.compare(inside, scenario, untrusted=True)
    assert rooflut.compare(inside, inside, untrusted=True) == rooflut.compare(inside, inside)
    with pytest.raises(rooflut.RooflutError, match="untrusted has no effect: no scenario file is read"):
        rooflut.simulate({"workload": {"requests": 2}}, untrusted=True)


def test_the_command_of_the_package_is_the_binary(command):
    own = subprocess.run([sys.executable, "-m", "rooflut", "lookup", "gemm", "--k", "64", "--n", "64", "--m", "8"], capture_output=True, text=True)
    assert own.stdout == command("lookup", "gemm", "--k", 64, "--n", 64, "--m", 8) and own.stderr == ""
    wrong = subprocess.run([sys.executable, "-m", "rooflut", "run", "--rate", "x"], capture_output=True, text=True)
    assert wrong.returncode == 2 and wrong.stderr.startswith("error: ") and wrong.stdout == ""


def test_answers_are_reports_in_a_notebook():
    sweep = rooflut.sweep(requests=20, rate=[2, 4])
    for answer in (rooflut.step(decode="64x1000"), rooflut.plan(rate=4, requests=200, goodput="ttft:500@p95"), sweep):
        frame, table = answer._repr_html_().split("</iframe>")
        assert frame.startswith("<iframe sandbox=") and "<script" not in frame and "<table>" in table
    assert "rate" in table and "index" in table
