//! `rooflut calibrate` and `rooflut watch`.
#![allow(clippy::expect_used, reason = "a helper of tests fails as tests do")]

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use crate::support::{failure, failure_with_answer, json, list, number, rooflut, success};

const SERVER: &str = "--gpu h100 --model llama-3.1-8b";
/// A server whose host is slow, and whose layers are.
const TRUTH: &str = "name = 'truth'\ninherits = 'vllm-0.18.0'\n[constants]\n\
                     host = { value = 900, unit = 'us' }\nlayer = { value = 14, unit = 'us' }\n";

/// A result of `vllm bench serve` with the predictions of a stack, TPOT times `tpot`.
fn measure(folder: &Path, name: &str, engine: &str, users: u32, tpot: f64) -> String {
    let (requests, prompt, output) = (8 * users, 512, 128);
    let load = format!("--users {users} --requests {requests} --prompt {prompt} --output {output}");
    let report = json(&format!("run {SERVER} --engine {engine} {load}"));
    let figure = |path: &str| number(&report, path);
    let seconds = f64::from(requests) / figure("/throughput/requests_per_s");
    let result = json!({
        "date": "20261130-020000", "endpoint_type": "vllm", "model_id": "meta-llama/Llama-3.1-8B-Instruct",
        "tokenizer_id": "meta-llama/Llama-3.1-8B-Instruct", "num_prompts": requests, "request_rate": "inf",
        "max_concurrency": users, "duration": seconds, "completed": requests, "failed": 0,
        "total_input_tokens": requests * prompt, "total_output_tokens": requests * output,
        "request_throughput": figure("/throughput/requests_per_s"),
        "mean_ttft_ms": figure("/ttft_ms/mean"), "mean_tpot_ms": tpot * figure("/tpot_ms/mean"),
    });
    let path = folder.join(name).display().to_string();
    fs::write(&path, result.to_string()).expect("written");
    path
}

/// A folder with the calibrated engine of three loads of a slow server.
fn calibrated() -> (TempDir, String, String) {
    let folder = tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (truth, engine) = (at("truth.toml"), at("mine.toml"));
    fs::write(&truth, TRUTH).expect("written");
    let runs = [4, 16, 64].map(|users| measure(folder.path(), &format!("{users}.json"), &truth, users, 1.0));
    success(&format!("calibrate {} {SERVER} --engine vllm-0.18.0 --out {engine}", runs.join(" ")));
    (folder, truth, engine)
}

fn tpot(engine: &str, users: u32) -> f64 {
    let load = format!("--users {users} --requests {} --prompt 512 --output 128", 8 * users);
    let report = json(&format!("run {SERVER} --engine {engine} {load}"));
    number(&report, "/tpot_ms/mean")
}

#[test]
fn a_calibrated_engine_predicts_another_load_better() {
    let (_folder, truth, engine) = calibrated();
    let (actual, shipped, fitted) = (tpot(&truth, 32), tpot("vllm-0.18.0", 32), tpot(&engine, 32));
    let (before, after) = ((shipped / actual).ln().abs(), (fitted / actual).ln().abs());
    assert!(before > 0.05 && after < 0.8 * before, "{before} {after}");
}

#[test]
fn the_written_engine_predicts_what_the_calibration_says() {
    let (folder, truth, engine) = calibrated();
    let run = measure(folder.path(), "again.json", &truth, 16, 1.0);
    let answer = json(&format!("calibrate {run} {SERVER} --engine vllm-0.18.0 --out {engine} --force"));
    let figure = &answer["figures"][0];
    assert_eq!((figure["metric"].as_str(), &figure["left_out_percent"]), (Some("tpot"), &Value::Null));
    let after = 100.0 * (tpot(&engine, 16) / number(figure, "/measured_ms") - 1.0);
    let told = number(figure, "/after_percent");
    assert!((after - told).abs() < 0.01, "{after} {told}");
}

#[test]
fn a_server_as_predicted_keeps_its_constants() {
    let folder = tempdir().expect("a folder");
    let runs = [4, 64].map(|users| measure(folder.path(), &format!("{users}.json"), "vllm-0.18.0", users, 1.0));
    let answer = json(&format!("calibrate {} {SERVER} --engine vllm-0.18.0", runs.join(" ")));
    for constant in list(&answer, "/constants") {
        assert_eq!(constant["shipped"], constant["value"], "{constant}");
    }
}

#[test]
fn a_repeat_is_no_alarm_and_a_slower_server_is() {
    let (folder, truth, engine) = calibrated();
    let as_before = measure(folder.path(), "repeat.json", &truth, 16, 1.01);
    let answer = json(&format!("watch {engine} {as_before} {SERVER}"));
    assert_eq!((&answer["slower"], &answer["changes"][0]["repeats"]), (&json!(false), &json!(1)));
    let slower = measure(folder.path(), "slower.json", &truth, 16, 1.12);
    let junit = folder.path().join("watch.xml");
    let (text, error) = failure_with_answer(&format!("watch {engine} {slower} {SERVER} --junit {}", junit.display()));
    assert!(text.starts_with("mine since it was calibrated"), "{text}");
    assert!(error.starts_with("decode steps are 12.0 % slower than this server was"), "{error}");
    let xml = fs::read_to_string(junit).expect("written");
    assert!(xml.contains("failures=\"1\"") && xml.matches("<failure").count() == 1, "{xml}");
}

#[test]
fn a_load_that_was_not_measured_is_judged_by_the_prediction() {
    let (folder, truth, engine) = calibrated();
    let new = measure(folder.path(), "new.json", &truth, 32, 1.0);
    let answer = json(&format!("watch {engine} {new} {SERVER}"));
    assert_eq!((&answer["slower"], &answer["changes"][0]["repeats"]), (&json!(false), &json!(0)));
    let twice = measure(folder.path(), "twice.json", &truth, 32, 2.0);
    assert_eq!(
        rooflut(&format!("watch {engine} {twice} {SERVER}")).output().expect("it starts").status.code(),
        Some(3)
    );
}

#[test]
fn runs_of_another_server_are_refused() {
    let (folder, truth, engine) = calibrated();
    let new = measure(folder.path(), "new.json", &truth, 16, 1.0);
    let error = failure(&format!("watch {engine} {new} --gpu h200 --model llama-3.1-8b"));
    assert!(
        error.contains("were fitted to another server: gpu h200 instead of h100; give runs of the same server"),
        "{error}"
    );
}

#[test]
fn a_run_with_failures_is_left_out() {
    let folder = tempdir().expect("a folder");
    let good = measure(folder.path(), "good.json", "vllm-0.18.0", 16, 1.0);
    let failed = measure(folder.path(), "failed.json", "vllm-0.18.0", 4, 3.0);
    let text = fs::read_to_string(&failed).expect("written").replace("\"failed\":0", "\"failed\":8");
    fs::write(&failed, text).expect("written");
    let answer = json(&format!("calibrate {good} {failed} {SERVER} --engine vllm-0.18.0"));
    assert!(list(&answer, "/figures").iter().all(|figure| figure["run"] == 1));
    let notes = list(&answer, "/notes");
    assert!(notes.iter().any(|note| note == "run 2 is left out: 8 of 40 requests failed"), "{notes:?}");
}

#[test]
fn what_to_measure_next_narrows_predictions() {
    let (folder, truth, _engine) = calibrated();
    let run = measure(folder.path(), "16.json", &truth, 16, 1.0);
    let question = folder.path().join("question.toml");
    fs::write(&question, "[workload]\nusers = 200\nprompt = 3000\noutput = 50\nrequests = 400\n").expect("written");
    let loads = folder.path().join("loads.txt");
    let asked = format!("--next 2 --next-for {} --next-out {}", question.display(), loads.display());
    let answer = json(&format!("calibrate {run} {SERVER} --engine vllm-0.18.0 {asked}"));
    let next = list(&answer, "/next");
    assert_eq!(next.len(), 2);
    for load in next {
        assert!(number(load, "/after_percent") < number(load, "/before_percent"), "{load}");
        let command = load["command"].as_str().expect("a command");
        assert!(command.starts_with("vllm bench serve --model meta-llama/Llama-3.1-8B-Instruct"), "{command}");
    }
    assert_eq!(next[0]["after_percent"], next[1]["before_percent"]);
    let written = fs::read_to_string(loads).expect("written");
    let lines = written.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    assert!(lines.eq(next.iter().filter_map(|load| load["command"].as_str())), "{written}");
}

#[test]
fn every_command_takes_the_file_of_an_engine() {
    let (folder, truth, _engine) = calibrated();
    let question = "--requests 40 --goodput ttft:5000@mean tpot:100@mean";
    for command in [
        "step --decode 8x1000".to_owned(),
        "fits --context 1000".to_owned(),
        format!("plan --rate 2 --max-gpus 2 {question}"),
        format!("saturate --seeds 1 {question}"),
    ] {
        let [own, shipped] =
            [&truth, "vllm-0.18.0"].map(|engine| json(&format!("{command} {SERVER} --engine {engine}")));
        // The memory of a stack is not among its fitted constants.
        assert_eq!(own == shipped, command.starts_with("fits"), "{command}");
    }
    let rows = folder.path().join("rows.csv");
    success(&format!("sweep {SERVER} --engine vllm-0.18.0,{truth} --rate 2 --requests 30 --out {}", rows.display()));
    let rows = fs::read_to_string(rows).expect("written");
    let tpot = rows
        .lines()
        .next()
        .expect("a header")
        .split(',')
        .position(|name| name.starts_with("tpot_mean"))
        .expect("a column");
    let times: Vec<&str> = rows.lines().skip(1).filter_map(|row| row.split(',').nth(tpot)).collect();
    assert!(times.len() == 2 && times[0] != times[1], "{rows}");
}

#[test]
fn a_sweep_and_a_comparison_name_servers_that_the_engine_was_not_fitted_to() {
    let (folder, _truth, engine) = calibrated();
    let rows = folder.path().join("rows.csv");
    let grid = format!("--model llama-3.1-8b --gpu h100,h200 --engine {engine} --rate 2 --requests 30");
    let text = success(&format!("sweep {grid} --out {}", rows.display()));
    let words: Vec<&str> = text.split_whitespace().collect();
    let mismatch = "the constants of mine were fitted to another server: gpu h200 instead of h100";
    assert_eq!(words.join(" ").matches(mismatch).count(), 1, "{text}");
    let scenario = |gpu: &str| {
        let path = folder.path().join(format!("{gpu}.toml"));
        let text = format!("gpu = '{gpu}'\nengine = '{engine}'\n[workload]\nrate = 2\nrequests = 30\n");
        fs::write(&path, text).expect("written");
        path.display().to_string()
    };
    let [same, other, measured] =
        [scenario("h100"), scenario("h200"), folder.path().join("16.json").display().to_string()];
    for (of, expected) in [([&same, &other], 1), ([&measured, &other], 1), ([&measured, &same], 0)] {
        let text = crate::support::unwrapped(&format!("compare {} {}", of[0], of[1]));
        assert_eq!(text.matches(mismatch).count(), expected, "{of:?}: {text}");
    }
}

#[test]
fn a_server_unlike_others_is_followed_where_five_runs_agree() {
    let folder = tempdir().expect("a folder");
    let truth = folder.path().join("slow.toml").display().to_string();
    fs::write(&truth, TRUTH.replace("0.18.0", "0.11.0").replace("900", "3100")).expect("written");
    let runs = [1, 4, 16, 32, 64].map(|users| measure(folder.path(), &format!("{users}.json"), &truth, users, 1.0));
    let answer = json(&format!("calibrate {} {SERVER} --engine vllm-0.11.0", runs.join(" ")));
    let mean = |key: &str| {
        let tpot = list(&answer, "/figures").iter().filter(|figure| figure["metric"] == "tpot");
        tpot.map(|figure| number(figure, key).abs()).sum::<f64>() / 5.0
    };
    assert!(mean("/before_percent") > 15.0 && mean("/after_percent") < 5.0, "{answer:#}");
}

#[test]
fn a_file_that_is_given_twice_counts_once() {
    let (folder, truth, engine) = calibrated();
    let new = measure(folder.path(), "new.json", &truth, 16, 1.01);
    let answer = json(&format!("watch {engine} {new} {new} {SERVER}"));
    assert_eq!(answer["changes"][0]["runs"], 1);
    assert!(list(&answer, "/notes")[0].as_str().expect("a note").ends_with("given twice: it counts once"));
}

#[test]
fn a_run_of_the_calibration_itself_is_no_new_one() {
    let (folder, _truth, engine) = calibrated();
    let own = folder.path().join("16.json");
    let error = failure(&format!("watch {engine} {} {SERVER}", own.display()));
    assert!(error.contains("it is a run of the calibration itself; measure the server again"), "{error}");
}

#[test]
fn an_api_server_that_is_slow_is_part_of_the_prediction() {
    let (folder, _truth, _engine) = calibrated();
    let slow = folder.path().join("slow_api.toml").display().to_string();
    fs::write(
        &slow,
        "name = 'slow'\ninherits = 'vllm-0.18.0'\n[constants]\napi_server = { value = 60, unit = 'ms' }\n",
    )
    .expect("written");
    let runs = [1, 4, 8].map(|users| measure(folder.path(), &format!("slow{users}.json"), &slow, users, 1.0));
    let answer = json(&format!("calibrate {} {SERVER} --engine vllm-0.18.0", runs.join(" ")));
    let api_server = list(&answer, "/constants").iter().find(|it| it["name"] == "api_server").expect("a constant");
    assert!(number(api_server, "/value") > number(api_server, "/shipped"), "{api_server}");
}
