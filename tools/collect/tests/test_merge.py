import json
import re
import shlex
import tomllib
from pathlib import Path

from fake import FakeBench, open_device

from rooflut_collect import cli, plan, shard
from rooflut_collect.plan import PlanSpec

TINY = plan.build(PlanSpec(("tiny",))).rows


def collect(out, *words):
    def open_bench(arguments, device, opened, progress):
        return FakeBench(opened)

    return cli.main(["run", "--out", str(out), *words], open_device=open_device, open_bench=open_bench)


def lines(path: Path) -> list[str]:
    return sorted(path.read_text().splitlines())


def test_shards_join_to_the_set_of_one_run(tmp_path):
    collect(tmp_path / "one", "--plan", "tiny")
    for index in range(4):
        assert collect(tmp_path / "four", "--plan", "tiny", "--shard", f"{index}/4") == 0
    assert not (tmp_path / "four/h200-measured").exists()
    assert cli.main(["merge", str(tmp_path / "four")]) == 0
    one, four = (tmp_path / name / "h200-measured" for name in ("one", "four"))
    assert sorted(p.name for p in one.iterdir()) == sorted(p.name for p in four.iterdir())
    for path in one.iterdir():
        assert lines(path) == lines(four / path.name), path.name


def test_missing_shards_are_named_with_commands_that_measure_just_them(tmp_path, capsys):
    for index in (0, 2, 5):
        collect(tmp_path, "--plan", "tiny", "--shard", f"{index}/6")
    capsys.readouterr()
    assert cli.main(["merge", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    count = sum(len(shard.Shard(i, 6).take(TINY)) for i in (1, 3, 4))
    assert f"{count} rows are missing, of 3 of 6 shards: 1,3-4" in error
    assert "sbatch --array=1,3-4 SCRIPT" in error
    assert "rooflut-collect manifest kubernetes --plan tiny --shards 6 --indexes 1,3-4" in error
    assert not (tmp_path / "h200-measured").exists()
    # The command that is printed does it.
    loop = next(line for line in error.splitlines() if line.startswith("  for i in "))
    indexes, _, command = loop.removeprefix("  for i in ").partition("; do ")
    for index in indexes.split():
        words = shlex.split(command.removesuffix("; done").replace("$i", index))
        assert collect(tmp_path, *words[2:]) == 0
    assert cli.main(["merge", str(tmp_path)]) == 0


def test_commands_that_are_printed_have_the_options_of_the_first_run(tmp_path, capsys):
    sheet = tmp_path / "a sheet.toml"
    sheet.write_text("")
    options = ["--device", "cpu", "--kernels", "torch", "--row-seconds", "0.1", "--gpu-sheet", str(sheet)]
    assert collect(tmp_path / "out", "--shard", "0/2", *options) == 0
    capsys.readouterr()
    assert cli.main(["merge", str(tmp_path / "out")]) == 1
    error = capsys.readouterr().err
    words = ["--device=cpu", "--kernels=torch", "--row-seconds=0.1", f"--gpu-sheet={sheet}"]
    assert f"do rooflut-collect run --plan tiny {shlex.join(words)} --shard" in error
    passed_on = [words[0], *(f"--run={word}" for word in words[1:])]
    assert f"manifest kubernetes --plan tiny {shlex.join(passed_on)} --shards 2" in error
    # The command that is printed measures the rest.
    command = re.search(r"do rooflut-collect (run .*); done", error)[1].replace("$i", "1")
    assert collect(tmp_path / "out", *shlex.split(command)[1:]) == 0
    assert cli.main(["merge", str(tmp_path / "out")]) == 0


def test_a_shard_that_stopped_half_way_is_missing(tmp_path, capsys):
    collect(tmp_path, "--plan", "tiny", "--shard", "0/2")
    collect(tmp_path, "--plan", "tiny", "--shard", "1/2")
    path = tmp_path / "log/shard-0001-of-0002.jsonl"
    kept = path.read_text().splitlines(keepends=True)
    rows = [line for line in kept if '"kind":"row"' in line]
    path.write_text("".join(line for line in kept if line not in rows[-2:]))
    assert cli.main(["merge", str(tmp_path)]) == 1
    assert "2 rows are missing, of 1 of 2 shards: 1" in capsys.readouterr().err
    assert cli.main(["merge", str(tmp_path), "--partial"]) == 1
    assert (tmp_path / "h200-measured/set.toml").exists()


def test_rows_that_failed_are_there_but_not_in_the_set(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FAKE_FAIL", "moe")
    for index in range(2):
        collect(tmp_path, "--plan", "tiny", "--shard", f"{index}/2")
    assert cli.main(["merge", str(tmp_path)]) == 0
    assert "17 measured, 2 failed" in capsys.readouterr().err
    assert not (tmp_path / "h200-measured/moe.csv").exists()


def test_plans_in_two_folders_join(tmp_path):
    collect(tmp_path / "a", "--plan", "tiny", "--skip", "allreduce")
    collect(tmp_path / "b", "--plan", "tiny", "--only", "allreduce")
    folders = [str(tmp_path / name) for name in "ab"]
    assert cli.main(["merge", *folders, "--out", str(tmp_path / "both"), "--name", "both"]) == 0
    header = tomllib.loads((tmp_path / "both/both/set.toml").read_text())
    assert {"gemm", "prefill", "decode", "moe", "allreduce"} <= set(header)


def twice(tmp_path, monkeypatch, **settings):
    collect(tmp_path / "a", "--plan", "tiny")
    for name, value in settings.items():
        monkeypatch.setenv(f"FAKE_{name}", value)
    collect(tmp_path / "b", "--plan", "tiny")
    return cli.main(["merge", str(tmp_path / "a"), str(tmp_path / "b")])


def test_rows_measured_twice_must_agree(tmp_path, monkeypatch, capsys):
    assert twice(tmp_path, monkeypatch, FACTOR="1.2") == 1
    error = capsys.readouterr().err
    assert "19 rows were measured twice and differ by more than 10%" in error
    assert TINY[0].key in error and str(tmp_path / "b/log") in error


def test_the_later_of_two_that_agree_is_taken(tmp_path, monkeypatch):
    assert twice(tmp_path, monkeypatch, FACTOR="1.05") == 0
    first = json.loads((tmp_path / "b/log/shard-0000-of-0001.jsonl").read_text().splitlines()[2])
    assert f",{first['latency_us']:.3f}" in (tmp_path / "a/h200-measured/gemm.csv").read_text()


def test_a_measured_row_is_taken_rather_than_a_failed_one(tmp_path, monkeypatch, capsys):
    assert twice(tmp_path, monkeypatch, FAIL="=") == 0
    assert "19 measured" in capsys.readouterr().err


def test_different_kernels_are_refused(tmp_path, monkeypatch, capsys):
    assert twice(tmp_path, monkeypatch, VERSION="fake 2.0") == 1
    error = capsys.readouterr().err
    assert "gemm bf16: measured with different kernels: fake 1.0 in" in error and "fake 2.0 in" in error


def test_different_devices_are_refused(tmp_path, monkeypatch, capsys):
    assert twice(tmp_path, monkeypatch, GPU="NVIDIA L40S") == 1
    assert "a set is of one device, found 'NVIDIA H200' in" in capsys.readouterr().err


def test_a_folder_that_was_not_collected_into_is_refused(tmp_path, capsys):
    assert cli.main(["merge", str(tmp_path)]) == 1
    assert "expected a folder that was collected into, found no collection.json" in capsys.readouterr().err
