//! Sets that codegen accepts; the emitted source depends on the data only.
use crate::support::{DECODE, Fixture, GEMM, GPUS, SET_TOML, bench_data};
use rooflut_codegen::{fingerprints, generate_builtin};

const ROWS: [&str; 4] = [
    "bf16,512,512,16,10",
    "bf16,512,512,128,11.5",
    "bf16,512,1024,16,12",
    "fp8,512,512,16,9",
];

/// The source emitted for a set with this `gemm.csv`.
fn emitted(gemm: &str) -> String {
    Fixture::new().file("gemm.csv", gemm).expression()
}

fn csv(rows: &[&str]) -> String {
    format!("{GEMM}{}\n", rows.join("\n"))
}

#[test]
fn order_and_spelling_of_csv_do_not_matter() {
    let plain = csv(&ROWS);
    let expected = emitted(&plain);
    let [a, b, c, d] = ROWS;
    for other in [
        csv(&[d, c, b, a]),
        csv(&[b, d, a, c]),
        plain.replace('\n', "\r\n"),
        plain.replace('\n', "\r"),
        plain.replace('\n', "\n\n"),
        plain.replace(',', " , "),
        plain.replace("bf16", "\"bf16\"").replace("512", "\"512\""),
        plain.trim_end().to_owned(),
        format!("\u{feff}{plain}"),
        format!("\n{plain}\r\n\r\n"),
    ] {
        assert_eq!(emitted(&other), expected, "{other:?}");
    }
    assert_eq!(
        emitted("latency_us,m,dtype,n,k\n11.5,16,bf16,1024,512\n"),
        emitted(&csv(&["bf16,512,1024,16,11.5"]))
    );
}

#[test]
fn spellings_of_toml_do_not_matter() {
    let expected = emitted(&csv(&ROWS));
    let (gemm_only, _) = SET_TOML.split_once("[prefill]").unwrap();
    for toml in [
        gemm_only.replace('\n', "\r\n"),
        format!("\u{feff}# A comment\n{gemm_only}"),
        gemm_only.replace("t0_us = 5.0", "t0_us = 5"),
        gemm_only.replace("\"2026-01-31\"", "2026-01-31"),
    ] {
        let fixture = Fixture::gemm(&ROWS.join("\n")).file("set.toml", &toml);
        assert_eq!(fixture.expression(), expected, "{toml}");
    }
}

#[test]
fn a_ragged_grid_has_holes() {
    let csv = format!("{DECODE}bf16,bf16,8,8,64,1,1,64,50\nbf16,bf16,8,8,64,1,2,128,51\n");
    let source = Fixture::new()
        .file("attention_decode.csv", csv)
        .expression();
    // Two rows on a grid of two by two: each answers for the hole in its column.
    assert_eq!(source.matches("[50.0, NaN, NaN, 51.0]").count(), 1);
    assert_eq!(source.matches("NaN,").count(), 2);
    let (_, slowdowns) = source.split_once("ln_slowdown: &[").unwrap();
    let (slowdowns, _) = slowdowns.split_once(']').unwrap();
    let slowdowns: Vec<&str> = slowdowns.split(',').map(str::trim).collect();
    let [first, second, ..] = slowdowns.as_slice() else {
        panic!("{slowdowns:?}");
    };
    assert_ne!(first, second);
    assert_eq!(slowdowns, [*first, *second, *first, *second]);
}

#[test]
fn a_hole_between_two_batches_has_a_slowdown_between_theirs() {
    let row = |batch: u32, kv_len: u32, latency_us: f64| {
        format!("bf16,bf16,8,8,64,1,{batch},{kv_len},{latency_us}\n")
    };
    let rows = [row(1, 64, 50.0), row(2, 128, 51.0), row(4, 64, 70.0)];
    let source = Fixture::new()
        .file("attention_decode.csv", format!("{DECODE}{}", rows.concat()))
        .expression();
    let (_, slowdowns) = source.split_once("ln_slowdown: &[").unwrap();
    let (slowdowns, _) = slowdowns.split_once(']').unwrap();
    let slowdowns = slowdowns.split(',').map(|text| text.trim().parse::<f32>());
    let slowdowns: Result<Vec<f32>, _> = slowdowns.collect();
    // 1, 2 and 4 requests at 64 tokens are in the first column of two.
    let [first, _, between, _, last, _] = slowdowns.unwrap()[..] else {
        panic!("{source}");
    };
    assert!(
        (between - f32::midpoint(first, last)).abs() < 1e-6,
        "{between}"
    );
}

#[test]
fn extreme_values_are_emitted_as_numbers() {
    let source = emitted(&csv(&[
        "bf16,1,1,1,3e38",
        "bf16,4294967295,4294967295,4294967295,3e38",
    ]));
    assert!(source.contains("[3e38, 3e38]"), "{source}");
    assert!(source.contains("4294967295, 4294967295"), "{source}");
}

#[test]
fn a_set_may_define_its_gpu() {
    let sheet = GPUS.replace("[toy]", "[gpu]\nname = \"mine\"");
    let toml = SET_TOML.replace("gpu = \"toy\"\n", "") + &sheet;
    let source = Fixture::gemm(&ROWS.join("\n"))
        .file("set.toml", toml)
        .expression();
    assert!(source.contains("\"mine\""));
    assert_eq!(source.replace("\"mine\"", "\"toy\""), emitted(&csv(&ROWS)));
}

#[test]
fn the_built_in_sets_pass_with_all_rows_that_they_do_not_exclude() {
    let data = bench_data();
    let gpus = std::fs::read_to_string(data.join("gpus.toml")).unwrap();
    let mut sets = 0;
    for entry in std::fs::read_dir(&data).unwrap() {
        let dir = entry.unwrap().path();
        if !dir.is_dir() || dir.ends_with("engines") {
            continue;
        }
        sets += 1;
        let set_toml = std::fs::read_to_string(dir.join("set.toml")).unwrap();
        for fingerprint in fingerprints(&dir, &gpus).unwrap() {
            let csv = std::fs::read_to_string(dir.join(fingerprint.table)).unwrap();
            let used = |line: &&str| !line.is_empty() && !set_toml.contains(&format!("\"{line}\""));
            let rows = csv.lines().filter(used).count() - 1;
            assert_eq!(fingerprint.rows, rows, "{}", fingerprint.table);
        }
    }
    assert!(sets >= 2);
}

/// The source of rooflut's own tables, with the sets passed in this order.
fn builtin(sets: [&str; 2]) -> String {
    let data = bench_data();
    let [first, second] = sets.map(|set| data.join(set));
    generate_builtin(&data.join("gpus.toml"), &[&first, &second], |_, _, _| true).unwrap()
}

#[test]
fn generating_twice_gives_the_same_bytes() {
    let source = builtin(["h100", "h100-infersim"]);
    assert_eq!(builtin(["h100", "h100-infersim"]), source);
    assert_eq!(builtin(["h100-infersim", "h100"]), source);
}

#[test]
fn the_emitted_module_is_documented_and_has_no_path_of_this_machine() {
    let source = builtin(["h100", "h100-infersim"]);
    let public: Vec<&str> = source.lines().map(str::trim).collect();
    let mut items = 0;
    for (place, line) in public.iter().enumerate() {
        if line.starts_with("pub ") {
            let mut above = public[..place].iter().rev();
            let first = above.find(|line| !line.starts_with("#[allow"));
            let documented = first.is_some_and(|line| line.starts_with("///"));
            assert!(documented, "{line}");
            items += 1;
        }
    }
    assert!(items >= 8, "{items} items");
    let here = std::env::current_dir().unwrap();
    let repository = here.parent().unwrap().display().to_string();
    assert!(!source.contains(&repository));
    for path in ["/home/", "/root/", "/tmp/", "C:\\", "../"] {
        assert!(!source.contains(path), "{path}");
    }
}

#[test]
fn an_emitted_expression_has_no_path_of_this_machine() {
    let fixture = Fixture::gemm(&ROWS.join("\n"));
    let source = fixture.expression();
    let temporary = fixture.dir().parent().unwrap().display().to_string();
    assert!(!source.contains(&temporary));
    assert_eq!(fixture.expression(), source);
}

#[test]
fn excluded_rows_are_as_if_the_table_did_not_have_them() {
    let [a, b, c, d] = ROWS;
    let excluded = format!(
        "[gemm]\nt0_us = 5.0\n[[gemm.excluded]]\nreason = \"noise\"\nrows = [\"{b}\"]\n\
         [[gemm.excluded]]\nreason = \"cold\"\nrows = [\" {d} \"]\n"
    );
    let all = Fixture::new().file("gemm.csv", csv(&ROWS).replace(',', ", "));
    assert_eq!(
        all.set_toml("[gemm]\nt0_us = 5.0\n", &excluded)
            .expression(),
        emitted(&csv(&[a, c]))
    );
}
