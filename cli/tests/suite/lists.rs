//! `rooflut tables`, `rooflut models` and `rooflut engines`.

use crate::support::{json, list, number, rooflut, success, text};

#[test]
fn tables_lists_every_set_with_its_source_and_ranges() {
    let sets = json("tables");
    let names: Vec<&str> = list(&sets, "/tables").iter().map(|set| text(set, "/name")).collect();
    assert_eq!(names, ["a100", "b200", "b300", "gb200", "gb300", "h100", "h200", "l40s", "l40s-p2p", "rtx-pro-6000"]);
    for set in list(&sets, "/tables") {
        assert!(!text(set, "/source").is_empty() && !text(set, "/license").is_empty());
        for operation in list(set, "/operations") {
            assert!(number(operation, "/rows") >= number(operation, "/shapes"), "{operation}");
            for axis in list(operation, "/axes") {
                assert!(number(axis, "/min") <= number(axis, "/max"));
            }
        }
    }
    let people = success("tables");
    for word in ["h100", "gemm", "seq_len", "aiconfigurator", "Apache-2.0", "fp8_block"] {
        assert!(people.contains(word), "no {word} in\n{people}");
    }
    assert!(people.lines().all(|line| line.len() <= 100), "{people}");
}

#[test]
fn models_lists_every_name_that_run_takes() {
    let models = json("models");
    assert!(list(&models, "/models").len() >= 14);
    let people = success("models");
    for model in list(&models, "/models") {
        assert!(people.contains(text(model, "/name")));
        assert!(!list(model, "/aliases").is_empty());
    }
    assert!(people.lines().all(|line| line.len() <= 100), "{people}");
}

#[test]
fn engines_lists_every_name_that_run_takes_with_its_rules_and_constants() {
    let engines = json("engines");
    let people = success("engines");
    for engine in list(&engines, "/engines") {
        let name = text(engine, "/name");
        assert!(people.contains(&format!("{name}: {}", text(engine, "/description"))));
        assert!(!list(engine, "/constants").is_empty());
        for constant in list(engine, "/constants") {
            assert!(number(constant, "/value") >= 0.0);
            for pointer in ["/name", "/unit"] {
                assert!(people.contains(text(constant, pointer)), "{constant}");
            }
            for pointer in ["/meaning", "/source", "/from"] {
                assert!(!text(constant, pointer).is_empty(), "{constant}");
            }
        }
        let rules = list(engine, "/rules");
        for rule in rules {
            for pointer in ["/name", "/value", "/meaning", "/from"] {
                assert!(!text(rule, pointer).is_empty(), "{rule}");
            }
            assert!(people.contains(text(rule, "/name")), "{rule}");
        }
        // A run is simulated as it is listed.
        let run = json(&format!("run --requests 3 --engine {name}"));
        assert_eq!(text(&run, "/engine"), name);
        let scheduling = rules.iter().find(|rule| text(rule, "/name") == "scheduling");
        assert_eq!(text(&run, "/scheduling"), text(scheduling.unwrap(), "/value"));
    }
    // The constants of an heir say from which stack they are.
    assert!(people.contains("vllm-0.33.0: vLLM 0.33.0"));
    let mut newest = list(&engines, "/engines").iter();
    let newest = newest.rfind(|engine| text(engine, "/name") == "vllm-0.33.0");
    let layer = &list(newest.unwrap(), "/constants")[0];
    assert_eq!(text(layer, "/from"), "vllm-0.18.0");
    let default = text(&json("run --requests 3"), "/engine").to_owned();
    assert!(people.contains(&format!("the default is {default}.")), "{people}");
    assert!(people.lines().all(|line| line.len() <= 100), "{people}");
}

#[test]
fn help_and_version_go_to_standard_output() {
    assert!(success("--help").contains("Usage: rooflut"));
    assert!(success("--version").starts_with("rooflut "));
    assert!(success("run --help").contains("--max-num-batched-tokens"));
}

#[test]
fn help_is_a_page_with_examples_that_run() {
    for command in ["run", "plan", "saturate", "sweep", "step", "fits", "compare"] {
        let page = success(&format!("{command} -h"));
        assert!(page.lines().count() <= 85, "{page}");
        let examples: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("  rooflut ")).collect();
        assert!(!examples.is_empty(), "{page}");
        for example in examples {
            let output = rooflut(example).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{example}: {output:?}");
        }
    }
    assert!(!success("run -h").contains("--watermark"));
    assert!(success("run --help").contains("--watermark"));
}
