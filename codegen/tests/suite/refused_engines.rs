//! Files of engine stacks that codegen refuses, each with its message.
use std::path::Path;

use crate::support::engines::{ENGINE, generate, generate_all};
use crate::support::no_value;
use rooflut_codegen::generate_engines;

/// The refusal of [`ENGINE`] with the first occurrence of a text replaced.
fn refusal(from: &str, to: &str) -> String {
    assert!(ENGINE.contains(from), "{from}");
    match generate(&ENGINE.replacen(from, to, 1)) {
        Ok(_) => panic!("accepted: {to}"),
        Err(message) => message,
    }
}

#[test]
fn a_rule_with_another_value_is_refused() {
    let whole = "a whole number of nanoseconds, at most 1e18";
    for (from, to, line, rule, expected, found) in [
        (
            "\"sync\"",
            "\"synchronous\"",
            4,
            "scheduling",
            "\"sync\" or \"async\"",
            "\"synchronous\"",
        ),
        (
            "\"sync\"",
            "true",
            4,
            "scheduling",
            "\"sync\" or \"async\"",
            "true",
        ),
        ("2_000", "0.5", 5, "empty_schedule_sleep_ns", whole, "0.5"),
        ("2_000", "-1", 5, "empty_schedule_sleep_ns", whole, "-1"),
        ("2_000", "1e19", 5, "empty_schedule_sleep_ns", whole, "1e19"),
        (
            "2_000",
            "\"1 ms\"",
            5,
            "empty_schedule_sleep_ns",
            whole,
            "\"1 ms\"",
        ),
        (
            "\"stays\"",
            "\"\"",
            7,
            "victim_index",
            "\"stays\" or \"moves-if-scheduled\" or \"moves\"",
            "\"\"",
        ),
        (
            "= true",
            "= \"on\"",
            10,
            "scheduler_reserve_full_isl",
            "true or false",
            "\"on\"",
        ),
    ] {
        assert_eq!(
            refusal(from, to),
            format!(
                "engines/toy-1.0.toml:{line}: rules.{rule}: expected {expected}, found {found}; correct it"
            )
        );
    }
}

#[test]
fn a_stack_inherits_from_another_that_is_known() {
    let heir = |name: &str, of: &str| {
        format!("name = \"{name}\"\ndescription = \"An heir\"\ninherits = \"{of}\"\n")
    };
    let [one, two, three] = [("b", "c"), ("c", "d"), ("d", "c")].map(|(name, of)| heir(name, of));
    assert_eq!(
        generate_all(&[("toy-1.0", &ENGINE), ("b", &heir("b", "toy-1"))]).unwrap_err(),
        "engines/b.toml:3: inherits: expected the name of a stack (toy-1.0, b), found \"toy-1\"; correct it or \
         add the file"
    );
    assert_eq!(
        generate_all(&[("b", &heir("b", "b"))]).unwrap_err(),
        "engines/b.toml:3: inherits: expected a stack that does not inherit from b, found \"b\"; remove it from \
         one of the two files"
    );
    assert_eq!(
        generate_all(&[("b", &one), ("c", &two), ("d", &three)]).unwrap_err(),
        "engines/d.toml:3: inherits: expected a stack that does not inherit from d, found \"c\"; remove it from \
         one of the two files"
    );
}

#[test]
fn an_unknown_key_is_named() {
    assert_eq!(
        refusal("[rules]", "layers = 3\n[rules]"),
        "engines/toy-1.0.toml:3: expected one of the keys name, description, inherits, rules, layer, \
         small_kernel_bandwidth, logit, sort, sorted_logit, penalized_token, all_reduce_wait, \
         all_reduce_growth, moe_layer, expert_bandwidth, routing, prompt_layer, uncaptured_layer, host, \
         cuda_graph_max_tokens, smoothed_rows, smoothing_width, cold_kv, lookup_error_share, step_error, \
         api_server, api_output, first_token_error, found \"layers\"; rename or remove it"
    );
    assert_eq!(
        refusal("meaning = \"routing\"", "means = \"routing\""),
        "engines/toy-1.0.toml:37: moe_layer: expected one of the keys value, unit, meaning, source, \
         found \"means\"; rename or remove it"
    );
}

#[test]
fn every_key_that_is_missing_is_named() {
    for line in ENGINE.lines().take(2) {
        let key = line.split(' ').next().unwrap();
        assert_eq!(
            refusal(&format!("{line}\n"), ""),
            no_value(&format!("engines/toy-1.0.toml:1: {key}"))
        );
    }
    for line in ENGINE.lines().skip(3).take(15) {
        let key = line.split(' ').next().unwrap();
        assert_eq!(
            refusal(&format!("{line}\n"), ""),
            no_value(&format!("engines/toy-1.0.toml:3: rules.{key}"))
        );
    }
    let (before, rest) = ENGINE.split_once("[rules]").unwrap();
    let (_, constants) = rest.split_once("[layer]").unwrap();
    assert_eq!(
        generate(&format!("{before}[layer]{constants}")).unwrap_err(),
        no_value("engines/toy-1.0.toml:1: rules")
    );
    let sections: Vec<&str> = ENGINE.split_inclusive("made up\"\n").collect();
    assert_eq!(sections.len(), 23);
    for section in sections {
        let section = &section[section.find('[').unwrap()..];
        let name = section[1..].split(']').next().unwrap();
        assert_eq!(
            refusal(section, ""),
            no_value(&format!("engines/toy-1.0.toml:1: {name}"))
        );
    }
    for key in [
        "value = 7.0",
        "unit = \"us\"",
        "meaning = \"routing\"",
        "source = \"made up\"",
    ] {
        let (before, section) = ENGINE.split_once("[moe_layer]").unwrap();
        let section = section.replacen(&format!("{key}\n"), "", 1);
        let field = key.split(' ').next().unwrap();
        assert_eq!(
            generate(&format!("{before}[moe_layer]{section}")).unwrap_err(),
            no_value(&format!("engines/toy-1.0.toml:34: moe_layer.{field}"))
        );
    }
}

#[test]
fn a_wrong_unit_is_refused() {
    for (name, line, unit, other) in [
        ("layer", 21, "us", "ms"),
        ("small_kernel_bandwidth", 26, "share", "%"),
        ("logit", 31, "ns", "us"),
        ("moe_layer", 36, "us", "\u{b5}s"),
        ("expert_bandwidth", 41, "share", ""),
        ("host", 46, "us", "US"),
        ("api_server", 51, "ms", "s"),
        ("cuda_graph_max_tokens", 56, "tokens", "token"),
        ("smoothed_rows", 61, "rows", "tokens"),
        ("smoothing_width", 66, "ln(rows)", "rows"),
        ("cold_kv", 71, "L2", "MiB"),
        ("step_error", 81, "share", "percent"),
        ("all_reduce_growth", 111, "times", "share"),
        ("routing", 116, "exponent", "times"),
    ] {
        let (before, section) = ENGINE.split_once(&format!("[{name}]")).unwrap();
        let from = format!("unit = \"{unit}\"");
        let section = section.replacen(&from, &format!("unit = \"{other}\""), 1);
        assert_eq!(
            generate(&format!("{before}[{name}]{section}")).unwrap_err(),
            format!(
                "engines/toy-1.0.toml:{line}: {name}.unit: expected \"{unit}\", found \"{other}\"; \
                 convert the value"
            )
        );
    }
}

#[test]
fn an_impossible_value_is_refused() {
    let (time, share) = ("a number of at least 0", "a number above 0 and at most 1");
    let whole = "a whole number below 2^32";
    for (from, line, name, expected) in [
        ("value = 3.0", 20, "layer", time),
        ("value = 0.5", 30, "logit", time),
        ("value = 7.0", 35, "moe_layer", time),
        ("value = 0.0", 45, "host", time),
        ("value = 9.0", 50, "api_server", time),
        ("value = 0.25", 25, "small_kernel_bandwidth", share),
        ("value = 0.75", 40, "expert_bandwidth", share),
        ("value = 48", 60, "smoothed_rows", whole),
        ("value = 0.625", 65, "smoothing_width", "a number above 0"),
        ("value = 4.0", 70, "cold_kv", time),
        (
            "value = 1.25",
            110,
            "all_reduce_growth",
            "a number of at least 1",
        ),
        ("value = 0.8125", 115, "routing", time),
    ] {
        let mut wrong = vec!["-1", "-1e-9", "nan", "inf"];
        if expected.contains("above 0") {
            wrong.push("0");
        }
        if expected.contains("at most 1") {
            wrong.extend(["1.01", "93"]);
        }
        if expected.contains("whole") {
            wrong.extend(["0.5", "4294967296"]);
        }
        for value in wrong {
            assert_eq!(
                refusal(from, &format!("value = {value}")),
                format!(
                    "engines/toy-1.0.toml:{line}: {name}.value: expected {expected}, found {value}; \
                     correct it"
                )
            );
        }
    }
    assert_eq!(
        refusal("value = 3.0", "value = \"3.0\""),
        "engines/toy-1.0.toml:20: layer.value: expected a number, found \"3.0\"; correct it"
    );
    for size in ["-8", "3", "7", "250", "64.5", "4294967296"] {
        assert_eq!(
            refusal("value = 64", &format!("value = {size}")),
            format!(
                "engines/toy-1.0.toml:55: cuda_graph_max_tokens.value: expected 0, 1, 2, 4 or a \
                 multiple of 8 below 2^32, found {size}; correct it"
            )
        );
    }
}

#[test]
fn names_are_simple() {
    for name in [
        "", "Toy-1.0", "toy_1", "1.0-toy", ".toy", "toy 1.0", "all", "t\u{f6}y",
    ] {
        assert_eq!(
            refusal("\"toy-1.0\"", &format!("\"{name}\"")),
            format!(
                "engines/toy-1.0.toml:1: name: expected lower-case letters, digits, hyphens and dots, \
                 starting with a letter (and not \"all\"), found \"{name}\"; rename it"
            )
        );
    }
}

#[test]
fn the_name_is_that_of_the_file_and_text_is_not_empty() {
    assert_eq!(
        refusal("\"toy-1.0\"", "\"toy-2.0\""),
        "engines/toy-1.0.toml:1: name: expected the name of the file, \"toy-1.0\", found \"toy-2.0\"; \
         rename one"
    );
    for (from, key, line) in [
        ("\"An engine that does not exist\"", "description", 2),
        ("\"routing\"", "moe_layer.meaning", 37),
    ] {
        assert_eq!(
            refusal(from, "\" \""),
            format!(
                "engines/toy-1.0.toml:{line}: {key}: expected some text, found \" \"; fill it in"
            )
        );
    }
}

#[test]
fn toml_that_does_not_parse_is_refused_on_one_line() {
    let message = refusal("unit = \"us\"", "unit = us");
    assert!(
        message.starts_with("engines/toy-1.0.toml:21: "),
        "{message}"
    );
    let message = refusal("value = 0.25\n", "value = 0.25\nvalue = 0.5\n");
    assert!(
        message
            .starts_with("engines/toy-1.0.toml:26: expected TOML, found an error (duplicate key)"),
        "{message}"
    );
}

#[test]
fn a_missing_file_is_refused() {
    let path = Path::new("no-such-folder").join("toy.toml");
    let message = generate_engines(&[&path]).unwrap_err().to_string();
    let start = format!("{}: ", path.display());
    assert!(message.starts_with(&start), "{message}");
    let end = "; check that the file is there and readable";
    assert!(message.ends_with(end), "{message}");
}
