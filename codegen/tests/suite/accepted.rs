//! Sets that codegen accepts; the emitted source depends on the data only.
use crate::support::{DECODE, Fixture, GEMM, GPUS, SET_TOML, bench_data};
use rooflut_codegen::{fingerprints, generate_builtin};

const ROWS: [&str; 4] = ["bf16,512,512,16,10", "bf16,512,512,128,11.5", "bf16,512,1024,16,12", "fp8,512,512,16,9"];

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
    assert_eq!(emitted("latency_us,m,dtype,n,k\n11.5,16,bf16,1024,512\n"), emitted(&csv(&["bf16,512,1024,16,11.5"])));
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
    let source = Fixture::new().file("attention_decode.csv", csv).expression();
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
    let row = |batch: u32, kv_len: u32, latency_us: f64| format!("bf16,bf16,8,8,64,1,{batch},{kv_len},{latency_us}\n");
    let rows = [row(1, 64, 50.0), row(2, 128, 51.0), row(4, 64, 70.0)];
    let source = Fixture::new().file("attention_decode.csv", format!("{DECODE}{}", rows.concat())).expression();
    let (_, slowdowns) = source.split_once("ln_slowdown: &[").unwrap();
    let (slowdowns, _) = slowdowns.split_once(']').unwrap();
    let slowdowns = slowdowns.split(',').map(|text| text.trim().parse::<f32>());
    let slowdowns: Result<Vec<f32>, _> = slowdowns.collect();
    // 1, 2 and 4 requests at 64 tokens are in the first column of two.
    let [first, _, between, _, last, _] = slowdowns.unwrap()[..] else {
        panic!("{source}");
    };
    assert!((between - f32::midpoint(first, last)).abs() < 1e-6, "{between}");
}

#[test]
fn extreme_values_are_emitted_as_numbers() {
    let source = emitted(&csv(&["bf16,1,1,1,3e38", "bf16,4294967295,4294967295,4294967295,3e38"]));
    assert!(source.contains("[3e38, 3e38]"), "{source}");
    assert!(source.contains("4294967295, 4294967295"), "{source}");
}

#[test]
fn a_set_may_define_its_gpu() {
    let sheet = GPUS.replace("[toy]", "[gpu]\nname = \"mine\"");
    let toml = SET_TOML.replace("gpu = \"toy\"\n", "") + &sheet;
    let source = Fixture::gemm(&ROWS.join("\n")).file("set.toml", toml).expression();
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
        let tables = rooflut_codegen::read_set(&dir, &gpus).unwrap().rows();
        for (fingerprint, table) in fingerprints(&dir, &gpus).unwrap().iter().zip(tables) {
            // The file of the set itself, or of the one that it inherits from.
            let csv = std::fs::read_to_string(data.join(&table.file)).unwrap();
            let lines = csv.lines().filter(|line| !line.is_empty()).count() - 1;
            let left_out = table.excluded.iter().filter(|entry| entry.latency_us.is_empty());
            let left_out: usize = left_out.map(|entry| entry.rows.len()).sum();
            assert_eq!(fingerprint.rows, lines - left_out, "{}", table.file);
        }
    }
    assert!(sets >= 2);
}

/// The source of rooflut's own tables, with the sets passed in this order.
fn builtin(sets: [&str; 2]) -> String {
    let data = bench_data();
    let [first, second] = sets.map(|set| data.join(set));
    generate_builtin(&data.join("gpus.toml"), &[&first, &second], |_, _| true).unwrap()
}

#[test]
fn generating_twice_gives_the_same_bytes() {
    let source = builtin(["h100", "a100"]);
    assert_eq!(builtin(["h100", "a100"]), source);
    assert_eq!(builtin(["a100", "h100"]), source);
}

#[test]
fn the_emitted_module_is_documented_and_has_no_path_of_this_machine() {
    let source = builtin(["h100", "a100"]);
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
    assert_eq!(all.set_toml("[gemm]\nt0_us = 5.0\n", &excluded).expression(), emitted(&csv(&[a, c])));
}

#[test]
fn replaced_rows_have_the_given_latencies() {
    let [a, b, c, d] = ROWS;
    let replaced = format!(
        "[gemm]\nt0_us = 5.0\n[[gemm.excluded]]\nreason = \"noise\"\nrows = [\"{b}\", \"{d}\"]\n\
         latency_us = [13, 8.5]\n"
    );
    let all = Fixture::new().file("gemm.csv", csv(&ROWS));
    let read = all.set_toml("[gemm]\nt0_us = 5.0\n", &replaced);
    assert_eq!(read.expression(), emitted(&csv(&[a, "bf16,512,512,128,13", c, "fp8,512,512,16,8.5"])));
    let tables = read.read().unwrap().rows();
    assert!((tables[0].rows[1].latency_us - 13.0).abs() < 1e-12);
    assert_eq!(tables[0].excluded[0].rows, [b, d]);
    assert_eq!(tables[0].excluded[0].latency_us, [13.0, 8.5]);
}

#[test]
fn a_set_takes_the_tables_that_it_lacks_from_the_one_that_it_inherits_from() {
    let [a, b, ..] = ROWS;
    let base = Fixture::new()
        .file("gemm.csv", csv(&[a]))
        .file("attention_decode.csv", format!("{DECODE}bf16,bf16,8,8,64,1,1,64,50\n"));
    let folder = base.dir();
    let (sections, _) = SET_TOML.split_once("[prefill]").unwrap();
    let own = folder.with_file_name("own");
    std::fs::create_dir(&own).unwrap();
    let write = |name: &str, text: &str| std::fs::write(own.join(name), text).unwrap();
    write("gemm.csv", &csv(&[b]));
    write("set.toml", &sections.replace("[gemm]", "inherits = \"set\"\n[gemm]"));
    let rows = |path: &std::path::Path| rooflut_codegen::read_set(path, GPUS).unwrap().rows();
    let (inherited, base) = (rows(&own), rows(&folder));
    assert_eq!((inherited.len(), base.len()), (2, 2));
    assert!((inherited[0].rows[0].latency_us - 11.5).abs() < 1e-12);
    assert_eq!(inherited[1].file, "set/attention_decode.csv");
    assert_eq!(inherited[1].rows, base[1].rows);
    assert_eq!(
        files_of(&own),
        ["own/set.toml", "own/gemm.csv", "set/set.toml", "set/gemm.csv", "set/attention_decode.csv"]
    );

    let other = SET_TOML.replace("gpu = \"toy\"", "gpu = \"other\"");
    let (sections, _) = other.split_once("[prefill]").unwrap();
    write("set.toml", &sections.replace("[gemm]", "inherits = \"set\"\n[gemm]"));
    let gpus = GPUS.to_owned() + &GPUS.replace("[toy]", "[other]");
    let refused = rooflut_codegen::read_set(&own, &gpus).err().unwrap().to_string();
    assert_eq!(
        refused,
        "own/set.toml:8: inherits: expected a set of the same GPU, found \"set\"; inherit from another"
    );
}

#[test]
fn a_folder_in_a_set_has_the_rows_of_another_engine_version() {
    let [a, b, c, d] = ROWS;
    let base = Fixture::new()
        .file("gemm.csv", csv(&[a, b, c, d]))
        .file("attention_decode.csv", format!("{DECODE}bf16,bf16,8,8,64,1,1,64,50\n"));
    let newer = base.dir().join("toy-2");
    std::fs::create_dir(&newer).unwrap();
    let (sections, _) = SET_TOML.split_once("[prefill]").unwrap();
    let write = |name: &str, text: &str| std::fs::write(newer.join(name), text).unwrap();
    write("gemm.csv", &csv(&["fp8,512,512,16,7.5"]));
    write("set.toml", &sections.replace("\"none\"", "\"newer\""));
    let stored = rooflut_codegen::read_set(&base.dir(), GPUS).unwrap().stored(|_, _| true);
    let [(name, version)] = stored.versions.as_slice() else { panic!("one version") };
    assert_eq!((name.as_str(), version.engine.as_str(), stored.engine.as_str()), ("toy-2", "newer", "none"));
    // Its own fp8 row replaces that of the set; the bf16 rows and the other table stay.
    let alone = Fixture::new().file("gemm.csv", csv(&[a, b, c, "fp8,512,512,16,7.5"]));
    let alone = rooflut_codegen::read_set(&alone.dir(), GPUS).unwrap().stored(|_, _| true);
    assert_eq!(version.tables[0].latency_us, alone.tables[0].latency_us);
    assert_eq!(version.tables[1].latency_us, stored.tables[1].latency_us);
    let prints = fingerprints(&base.dir(), GPUS).unwrap();
    let prints: Vec<_> = prints.iter().map(|print| (print.set.as_str(), print.table)).collect();
    let [gemm, decode] = ["gemm.csv", "attention_decode.csv"];
    assert_eq!(prints, [("set", gemm), ("set", decode), ("set/toy-2", gemm)]);
    std::fs::write(base.dir().join("weights.bin"), "not read").unwrap();
    let files = ["set.toml", "gemm.csv", "attention_decode.csv", "toy-2/set.toml", "toy-2/gemm.csv"];
    assert_eq!(files_of(&base.dir()), files.map(|file| format!("set/{file}")));

    for (from, to) in [("name = \"set\"", "name = \"other\""), ("gpu = \"toy\"", "gpu = \"other\"")] {
        write("set.toml", &sections.replace(from, to));
        let gpus = GPUS.to_owned() + &GPUS.replace("[toy]", "[other]");
        let refused = rooflut_codegen::read_set(&base.dir(), &gpus).err().unwrap().to_string();
        assert!(refused.starts_with("toy-2/set.toml: expected \"set\" on the same GPU"), "{refused}");
    }
}

/// The files of the set at a path, below the folder around it.
fn files_of(path: &std::path::Path) -> Vec<String> {
    let around = path.parent().unwrap();
    let files = rooflut_codegen::set_files(path).into_iter();
    files.map(|file| file.strip_prefix(around).unwrap().to_str().unwrap().to_owned()).collect()
}
