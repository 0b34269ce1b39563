//! `rooflut report` and `--html`.
#![allow(clippy::expect_used, reason = "a helper of tests fails as tests do")]

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{failure, file, json, new_path, success};

const RUN: &str = "run --rate 4 --requests 100";

/// The data of a report.
fn data(path: impl AsRef<Path>) -> Value {
    let html = fs::read_to_string(path).expect("a report");
    let (_, behind) = html.split_once("id=\"inputs\">").expect("data");
    let (json, _) = behind.split_once("</script>").expect("an end");
    serde_json::from_str(json).expect("JSON")
}

fn kinds(data: &Value) -> Vec<&str> {
    data["inputs"].as_array().expect("inputs").iter().map(|input| input["kind"].as_str().expect("a kind")).collect()
}

#[test]
fn each_command_writes_the_answer_that_it_prints() {
    let (_a, a) = file("a.toml", "[workload]\nrequests = 100\n");
    for (command, kind) in [
        ("step --decode 64x1000".to_owned(), "step"),
        ("plan --rate 4 --requests 200 --goodput ttft:500@p95".to_owned(), "plan"),
        ("plan --rate 4,8 --requests 200 --goodput ttft:500@p95".to_owned(), "plan-rates"),
        ("saturate --requests 100 --seeds 1".to_owned(), "saturate"),
        ("saturate --users 8 --requests 100 --seeds 1 --goodput tpot:20@p90".to_owned(), "saturate-users"),
        (format!("compare {a} {a}"), "compare"),
    ] {
        let (_folder, path) = new_path("report.html");
        let command = format!("{command} --html {path}");
        let answer = json(&command);
        let data = data(&path);
        assert_eq!(kinds(&data), [kind]);
        assert_eq!(data["inputs"][0]["json"], answer, "{command}");
        assert_eq!(data["command"], format!("rooflut {command} --json"));
    }
}

#[test]
fn a_run_has_its_requests_and_a_sweep_its_rows() {
    let (_folder, path) = new_path("report.html");
    let text = success(&format!("{RUN} --html {path}"));
    let of_run = data(&path);
    assert_eq!(kinds(&of_run), ["run", "requests"]);
    assert_eq!(of_run["inputs"][1]["rows"], 100);
    // An earlier report is replaced, and the bytes are the same.
    let before = fs::read(&path).expect("a report");
    assert_eq!(success(&format!("{RUN} --html {path}")), text);
    assert_eq!(fs::read(&path).expect("a report"), before);
    let (_rows, rows) = new_path("sweep.csv");
    success(&format!("sweep --rate 4,8 --requests 100 --out {rows} --html {path}"));
    let of_sweep = data(&path);
    assert_eq!(kinds(&of_sweep), ["sweep"]);
    assert_eq!(of_sweep["inputs"][0]["rows"], 2);
    // Their file gives the same report.
    let (_other, other) = new_path("other.html");
    success(&format!("report {other} {rows}"));
    assert_eq!(data(&other)["inputs"], of_sweep["inputs"]);
}

#[test]
fn files_become_a_report_and_two_runs_are_compared() {
    let (_a, a) = file("a.json", success(&format!("{RUN} --json")));
    let (_b, b) = file("b.json", success(&format!("{RUN} --gpu h200 --json")));
    let (_folder, path) = new_path("report.html");
    success(&format!("report {path} {a} {b}"));
    let report = data(&path);
    assert_eq!(kinds(&report), ["run", "run", "compare"]);
    assert_eq!(report["inputs"][2]["json"], json(&format!("compare {a} {b}")));
    assert_eq!(report["inputs"][0]["name"], a.as_str());
}

#[test]
fn a_report_replaces_only_an_earlier_report() {
    let (_a, a) = file("a.json", success(&format!("{RUN} --json")));
    let (_other, other) = file("page.html", "<!doctype html>\n<p>mine</p>\n");
    assert!(failure(&format!("report {a} {a}")).contains("is shown by the report; name another file"));
    assert!(failure(&format!("report {other} {a}")).contains("replace it with --force, or name another path"));
    let message = failure(&format!("step --decode 64x1000 --html {other}"));
    assert!(message.ends_with("is not an earlier output of this kind; name another path"), "{message}");
    assert_eq!(fs::read_to_string(&other).expect("a page"), "<!doctype html>\n<p>mine</p>\n");
    success(&format!("report --force {other} {a}"));
    assert_eq!(kinds(&data(&other)), ["run"]);
}

#[test]
fn what_is_no_output_is_refused_with_its_line() {
    let (_folder, path) = new_path("report.html");
    let columns = "index,grid,schema_version,rate,gpus\n";
    for (name, text, message) in [
        ("a.csv", "a,b\n1,2\n".to_owned(), "rooflut sweep"),
        ("a.json", "{\"schema_version\": 1}".to_owned(), "found other JSON"),
        ("a.json", "{".to_owned(), "JSON"),
        ("a.csv", format!("{columns}0,x,2,4,1\n"), "a.csv:2: schema_version: expected 1, found 2"),
        ("a.csv", String::new(), "found nothing"),
    ] {
        let (_file, input) = file(name, &text);
        let found = failure(&format!("report {path} {input}"));
        assert!(found.contains(message) && found.contains(&input), "{found}");
        assert!(!Path::new(&path).exists());
    }
    assert!(failure("report out.html no-such.json").contains("no-such.json"));
    assert!(failure("sweep --rate 4,8 --html out.html").contains("--out"));
    assert!(failure("run --json --html -").contains("standard output"));
}
