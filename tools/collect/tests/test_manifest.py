import json
import pathlib
import re
import shlex
import subprocess

import pytest
from fake import open_device

from rooflut_collect import cli, plan
from rooflut_collect.manifest.yaml import dump
from rooflut_collect.plan import PlanSpec

PLAN = ("--plan", "models:llama-3.1-8b@tp1", "--shards", "25")
KUBERNETES = ("manifest", "kubernetes", "--image", "example/collect:1", "--claim", "results")
EVERYTHING = (
    *("--parallelism", "5", "--namespace", "bench", "--job-name", "collect-h200", "--backoff", "6"),
    *("--node-selector", "nvidia.com/gpu.product=NVIDIA-H200", "--node-selector", "pool=gpu"),
    *(
        "--toleration",
        "nvidia.com/gpu:NoSchedule",
        "--toleration",
        "team=infer:NoExecute",
        "--toleration",
        "spot",
    ),
    *("--gpus", "8", "--gpu-resource", "amd.com/gpu", "--cpus", "500m", "--memory", "64Gi"),
    *("--kv-dtype", "bf16", "--run=--retry", "--out", "h200"),
)


@pytest.fixture
def written(capsys):
    """Returns the output of `rooflut-collect`."""

    def written(*words):
        assert cli.main(list(words)) == 0
        return capsys.readouterr().out

    return written


@pytest.fixture
def refused(capsys):
    """Returns the error message of `rooflut-collect`."""

    def refused(*words):
        assert cli.main(list(words)) == 1
        return capsys.readouterr().err

    return refused


def validated(text):
    """The Job, as strict schemas of several Kubernetes versions accept it."""
    kubernetes_validate = pytest.importorskip("kubernetes_validate")
    yaml = pytest.importorskip("yaml")
    job = yaml.safe_load(text)
    for version in ("1.29", kubernetes_validate.latest_version()):
        kubernetes_validate.validate(job, version, strict=True)
    return job


@pytest.mark.parametrize(
    "words",
    [(), EVERYTHING, ("--openshift",), ("--device", "cpu"), ("--indexes", "3,7,9-12")],
)
def test_kubernetes_manifests_are_what_strict_schemas_want(written, words):
    validated(written(*KUBERNETES, *PLAN, *words))


def test_a_job_has_an_index_for_each_shard(written):
    spec = validated(written(*KUBERNETES, *PLAN, *EVERYTHING))["spec"]
    assert (spec["completionMode"], spec["completions"], spec["parallelism"]) == ("Indexed", 25, 5)
    assert spec["backoffLimitPerIndex"] == 6
    # An eviction is no failure of the shard.
    assert spec["podFailurePolicy"]["rules"][0]["action"] == "Ignore"
    pod = spec["template"]["spec"]
    assert pod["nodeSelector"] == {"nvidia.com/gpu.product": "NVIDIA-H200", "pool": "gpu"}
    assert pod["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "team", "operator": "Equal", "value": "infer", "effect": "NoExecute"},
        {"key": "spot", "operator": "Exists"},
    ]
    container = pod["containers"][0]
    assert container["resources"]["limits"] == {"memory": "64Gi", "amd.com/gpu": 8}
    assert "--retry" in container["args"] and "--kv-dtype" in container["args"]


def test_jobs_follow_the_rules_of_rooflut_sweep(written):
    submit = pathlib.Path(__file__).parents[3] / "cli" / "tests" / "submit"
    sweep = validated((submit / "kubernetes.yaml").read_text())
    own = validated(written(*KUBERNETES, *PLAN))
    for job in (sweep, own):
        # Each job settles its shards, containers and volumes.
        job["spec"]["maxFailedIndexes"] -= job["spec"]["completions"]
        for key in ("completions", "parallelism", "backoffLimitPerIndex"):
            del job["spec"][key]
        job["spec"]["template"]["metadata"]["labels"].clear()
        pod = job["spec"]["template"]["spec"]
        # OpenShift and fsGroup are settings; a sweep writes to its volume only.
        for key in ("runAsNonRoot", "fsGroup"):
            pod["securityContext"].pop(key, None)
        (container,) = pod.pop("containers")
        container["securityContext"].pop("readOnlyRootFilesystem", None)
        pod["rights"] = container["securityContext"]
        del pod["volumes"]
    # The script of a sweep tells a failure for good by its exit code.
    refused = sweep["spec"]["podFailurePolicy"]["rules"].pop()
    assert refused == {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [78]}}
    assert sweep["spec"] == own["spec"]
    script = written("manifest", "slurm", *PLAN)
    options = {"--requeue", "--open-mode=append", "--nodes=1", "--ntasks=1"}
    for text in ((submit / "slurm.sh").read_text(), script):
        assert options <= set(text.split())


def test_jobs_of_parts_have_names_of_their_own(written):
    def name(*words):
        return validated(written(*KUBERNETES, *PLAN, *words))["metadata"]["name"]

    assert name() == "rooflut-collect"
    some = [
        ("--indexes", "3,7"),
        ("--indexes", "3"),
        ("--only", "gemm"),
        ("--skip", "gemm"),
        ("--run=--retry",),
    ]
    names = [name(*words) for words in some]
    assert len(set(names)) == len(some)
    assert all(re.fullmatch("rooflut-collect-[0-9a-f]{6}", each) for each in names)
    assert names == [name(*words) for words in some]


def dry_run(words, capsys):
    capsys.readouterr()
    assert cli.main([*words, "--dry-run"], open_device=open_device) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("some", [(), ("--indexes", "3,20-21")])
def test_the_pods_together_measure_the_plan(written, capsys, some):
    spec = validated(written(*KUBERNETES, *PLAN, *some))["spec"]
    arguments = spec["template"]["spec"]["containers"][0]["args"]
    found = []
    for index in range(spec["completions"]):
        found += dry_run([word.replace("$(JOB_COMPLETION_INDEX)", str(index)) for word in arguments], capsys)
    rows = plan.build(PlanSpec(("models:llama-3.1-8b@tp1",))).rows
    wanted = rows if not some else [row for i in (3, 20, 21) for row in rows[i::25]]
    assert sorted(found) == sorted(row.key for row in wanted)


def test_openshift_gets_its_security_context(written):
    pod = validated(written(*KUBERNETES, *PLAN, "--openshift"))["spec"]["template"]["spec"]
    # Required by the restricted-v2 constraint; user and group are left to the project's range.
    assert pod["securityContext"] == {
        "seccompProfile": {"type": "RuntimeDefault"},
        "runAsNonRoot": True,
    }
    container = pod["containers"][0]["securityContext"]
    assert container == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def test_a_slurm_script_is_bash_with_an_array(written, capsys):
    options = (
        "--partition",
        "gpu",
        "--time",
        "2:00:00",
        "--sbatch",
        "constraint=h200",
        "--setup",
        "module load cuda",
    )
    text = written("manifest", "slurm", *PLAN, "--parallelism", "4", *options, "--out", "it's here")
    assert subprocess.run(["bash", "-n"], input=text, text=True).returncode == 0
    for line in (
        "array=0-24%4",
        "gres=gpu:1",
        "partition=gpu",
        "time=2:00:00",
        "constraint=h200",
        "requeue",
    ):
        assert f"#SBATCH --{line}\n" in text
    assert "module load cuda\n" in text
    command = text.splitlines()[-1].removeprefix("exec srun ")
    found = []
    for index in range(25):
        words = shlex.split(command.replace("$SLURM_ARRAY_TASK_ID", str(index)))
        assert words[-1] == "it's here"
        found += dry_run(words[1:], capsys)
    rows = plan.build(PlanSpec(("models:llama-3.1-8b@tp1",))).rows
    assert sorted(found) == sorted(row.key for row in rows)


def test_some_shards_of_a_slurm_array(written):
    text = written("manifest", "slurm", *PLAN, "--indexes", "3,7")
    assert "#SBATCH --array=3,7%25\n" in text and "--indexes" not in text


def test_all_reduces_need_jobs_of_several_gpus(refused, written):
    shared = (*KUBERNETES, "--plan", "models:llama-3.1-8b@tp4", "--shards", "2")
    assert "all-reduces of up to 4 ranks, a job has 1 GPU(s)" in refused(*shared)
    assert '"--skip"' not in written(*shared, "--skip", "allreduce")
    assert "nvidia.com/gpu: 4" in written(*shared, "--only", "allreduce", "--gpus", "4")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--toleration", "a:Never"), "--toleration a:Never: expected KEY=VALUE:EFFECT"),
        (("--node-selector", "gpu"), "--node-selector gpu: expected KEY=VALUE"),
        (("--job-name", "Collect_1"), "--job-name Collect_1: expected lower-case"),
        (("--out", "/h200"), "--out /h200: expected a folder in the volume, like h200"),
        (("--out", "a/../../b"), "expected a folder in the volume"),
        (("--indexes", "25"), "each below 25, found '25'"),
        (("--shards", "100000"), "--shards 100000: the plan has"),
    ],
)
def test_what_kubernetes_would_refuse_is_refused(refused, words, message):
    assert message in refused(*KUBERNETES, *PLAN, *words)


def test_an_option_that_is_none_is_refused(refused):
    assert "expected an option of sbatch" in refused("manifest", "slurm", *PLAN, "--sbatch", "--qos high")


@pytest.mark.parametrize("option", ["--job-name", "--partition", "--account", "--time", "--memory"])
def test_words_that_would_end_a_line_of_sbatch_are_refused(refused, option):
    for word in ("two words", "a\n#SBATCH --exclusive", ""):
        error = refused("manifest", "slurm", *PLAN, option, word)
        assert f"{option} {word}: expected a word as sbatch takes it" in error


@pytest.mark.parametrize("option", ["--gpus", "--backoff"])
def test_numbers_below_zero_are_refused(option, capsys):
    with pytest.raises(SystemExit):
        cli.main([*KUBERNETES, *PLAN, f"{option}=-1"])
    assert f"argument {option}: expected a whole number, 0 or more, found '-1'" in capsys.readouterr().err


def test_yaml_is_read_back_as_written():
    yaml = pytest.importorskip("yaml")
    value = {
        "text": 'a: "b" # c',
        "list": [{"x": 1, "y": {"z": []}}, "- d", [], {}],
        "empty": {},
        "flag": True,
        "nothing": None,
        "nested": {"a": {"b": ["c"]}},
    }
    assert yaml.safe_load(dump(value)) == json.loads(json.dumps(value))
