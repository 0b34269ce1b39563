//! Files and folders that codegen refuses, each with its message.

use crate::support::{Fixture, GEMM, GPUS, SET_TOML, no_value};
use rooflut_codegen::{generate_builtin, read_set};

const ROW: &str = "bf16,512,512,16,10\n";

#[test]
fn a_section_without_its_table_is_refused() {
    let fixture = Fixture::gemm("bf16,512,512,1,9\n");
    let text = "[gemm]\nt0_us = 5.0\n[moe]\nt0_us = 4.0\n";
    let (head, _) = SET_TOML.split_once("[gemm]").unwrap();
    let message = fixture.file("set.toml", format!("{head}{text}")).refusal();
    assert_eq!(
        message,
        "set/set.toml: moe: expected moe.csv beside it, found none; add the table, or remove the section"
    );
}

#[test]
fn a_folder_without_set_toml_is_refused() {
    assert_eq!(
        Fixture::gemm(ROW).without("set.toml").refusal(),
        "set: expected a set.toml beside the tables (GPU, engine stack, timing, t0, source, licence, \
         date), found none; add one as rooflut's bench_data/README.md describes"
    );
}

#[test]
fn a_folder_that_does_not_exist_is_refused() {
    let fixture = Fixture::new();
    for missing in ["sett", "set/sett.toml"] {
        let dir = fixture.dir().join("..").join(missing);
        let message = read_set(&dir, GPUS).err().unwrap().to_string();
        assert_eq!(
            message,
            format!(
                "{}: expected a table set (a folder with a set.toml, or one file made of it), found \
                 nothing there; check the path",
                dir.display()
            )
        );
    }
}

#[test]
fn a_set_without_tables_is_refused() {
    assert_eq!(
        Fixture::new().refusal(),
        "set: expected at least one table beside set.toml (gemm.csv, attention_prefill.csv, \
         attention_decode.csv, allreduce.csv, moe.csv, attention_prefill_window.csv, attention_decode_window.csv), found none; add one"
    );
}

#[test]
fn a_csv_that_no_operation_reads_is_refused() {
    for name in ["gem.csv", "GEMM.CSV", "attention-decode.csv"] {
        assert_eq!(
            Fixture::gemm(ROW).file(name, "").refusal(),
            format!(
                "set/{name}: expected one of gemm.csv, attention_prefill.csv, attention_decode.csv, \
                 allreduce.csv, moe.csv, attention_prefill_window.csv, attention_decode_window.csv, found another CSV file; rename it or move it away"
            )
        );
    }
    let notes = Fixture::gemm(ROW)
        .file("README.md", "")
        .file("._gemm.csv", "");
    assert!(notes.read().is_ok());
}

#[test]
fn a_table_without_rows_is_refused() {
    for csv in ["", "\n\n", "\u{feff}", GEMM, &format!("{GEMM}\n\r\n")] {
        assert_eq!(
            Fixture::new().file("gemm.csv", csv).refusal(),
            "set/gemm.csv:1: expected at least one row of measurements, found none; add some or leave \
             the file out",
            "{csv:?}"
        );
    }
}

#[test]
fn a_table_that_is_a_folder_is_refused() {
    let fixture = Fixture::new();
    std::fs::create_dir(fixture.dir().join("gemm.csv")).unwrap();
    let message = fixture.refusal();
    assert!(message.starts_with("set/gemm.csv: "), "{message}");
    assert!(
        message.ends_with("; check that the file is there and readable"),
        "{message}"
    );
}

#[test]
fn an_operation_without_its_section_is_refused() {
    assert_eq!(
        Fixture::gemm(ROW)
            .set_toml("[gemm]\nt0_us = 5.0\n", "")
            .refusal(),
        "set/set.toml: expected a section [gemm] with t0_us (the operation's launch time in \
         microseconds; its smallest measured latency is a good start), found none; add it"
    );
}

/// The refusal of [`SET_TOML`] with one text replaced.
fn toml_refusal(from: &str, to: &str) -> String {
    Fixture::gemm(ROW).set_toml(from, to).refusal()
}

#[test]
fn a_key_that_is_unknown_or_missing_is_named() {
    let engine = "engine = \"none\"\n";
    for (from, to, expected) in [
        (
            engine,
            "engine = \"none\"\nvendor = \"x\"\n",
            "set/set.toml:4: expected one of the keys name, gpu, engine, timing, source, license, date, \
             gemm, prefill, decode, allreduce, moe, prefill_window, decode_window, found \"vendor\"; \
             rename or remove it",
        ),
        (
            "[gemm]\nt0_us = 5.0",
            "[gemm]\nt0_us = 5.0\nt1_us = 3.0",
            "set/set.toml:10: gemm: expected one of the keys t0_us, floor_us, hot_read, wave_us, excluded, found \"t1_us\"; \
             rename or remove it",
        ),
        (engine, "", &no_value("set/set.toml:1: engine")),
        (
            "[moe]\nt0_us = 5.0\n",
            "[moe]\n",
            &no_value("set/set.toml:16: moe.t0_us"),
        ),
    ] {
        assert_eq!(toml_refusal(from, to), expected);
    }
}

#[test]
fn toml_that_does_not_parse_is_refused_on_one_line() {
    let message = toml_refusal("engine = \"none\"", "engine = none");
    assert!(message.starts_with("set/set.toml:3: "), "{message}");
    assert_eq!(
        toml_refusal("engine = \"none\"", "engine = 3"),
        "set/set.toml:3: engine: expected a string, found 3; write it in quotes"
    );
}

#[test]
fn names_are_simple() {
    for name in [
        "", "H100", "h_100", "1h100", "h100 ", "-h", "all", "h\u{e9}",
    ] {
        assert_eq!(
            toml_refusal("name = \"set\"", &format!("name = \"{name}\"")),
            format!(
                "set/set.toml:1: name: expected lower-case letters, digits and hyphens, starting \
                 with a letter (and not \"all\"), found \"{name}\"; rename it"
            )
        );
    }
}

#[test]
fn a_value_of_the_wrong_kind_or_size_is_refused() {
    let moe = "[moe]\nt0_us = 5.0";
    for (from, to, expected) in [
        (
            "gpu = \"toy\"",
            "gpu = \"h1000\"",
            "2: gpu: expected one of toy, found \"h1000\"; correct it, or add a data sheet as a [gpu] table",
        ),
        (
            "gpu = \"toy\"",
            "gpu = 100",
            "2: gpu: expected the name of a GPU or a [gpu] table, found 100; correct it",
        ),
        (
            "license = \"MIT\"",
            "license = \" \"",
            "6: license: expected some text, found \" \"; fill it in",
        ),
        (
            moe,
            "[moe]\nt0_us = 5.0\nfloor_us = 0.0",
            "18: moe.floor_us: expected a positive number, found 0.0; correct it",
        ),
        (
            moe,
            "[moe]\nt0_us = 5.0\nhot_read = 1.5",
            "18: moe.hot_read: expected at most 1 (a byte from the L2 cache takes no longer than one \
             from memory), found 1.5; correct it",
        ),
    ] {
        assert_eq!(toml_refusal(from, to), format!("set/set.toml:{expected}"));
    }
    for t0_us in ["0", "-1.5", "nan", "inf"] {
        let to = format!("[decode]\nt0_us = {t0_us}");
        assert_eq!(
            toml_refusal("[decode]\nt0_us = 5.0", &to),
            format!(
                "set/set.toml:13: decode.t0_us: expected a positive number, found {t0_us}; correct it"
            )
        );
    }
    for date in [
        "yesterday",
        "2026-1-31",
        "31-01-2026",
        "2026-00-31",
        "2026-01-31-1",
    ] {
        assert_eq!(
            toml_refusal("2026-01-31", date),
            format!(
                "set/set.toml:7: date: expected a day like \"2026-01-31\", found \"{date}\"; correct it"
            )
        );
    }
}

const OWN_GPU: &str = r#"
[gpu]
name = "mine"
description = "A GPU of my own"
bf16_tflops = 100.0
mem_bytes = 17179869184
mem_bw_gb_per_s = 1000.0
l2_bytes = 10000000
sms = 40
link_gb_per_s = 50.0
source = "made up"
"#;

/// The refusal of a set with [`OWN_GPU`] in which one text is replaced.
fn gpu_refusal(from: &str, to: &str) -> String {
    assert!(OWN_GPU.contains(from), "{from}");
    let toml = SET_TOML.replace("gpu = \"toy\"\n", "") + &OWN_GPU.replace(from, to);
    Fixture::gemm(ROW).file("set.toml", toml).refusal()
}

#[test]
fn the_data_sheet_of_a_set_is_checked() {
    assert_eq!(
        gpu_refusal("sms = 40\n", ""),
        no_value("set/set.toml:18: gpu.sms")
    );
    let message = gpu_refusal("sms = 40\n", "sms = 40\nprice = 3\n");
    assert!(
        message.starts_with("set/set.toml:26: gpu: expected one of the keys name, description, "),
        "{message}"
    );
    assert_eq!(
        gpu_refusal("name = \"mine\"\n", ""),
        no_value("set/set.toml:18: gpu.name")
    );
    assert_eq!(
        gpu_refusal("name = \"mine\"", "name = \"My GPU\""),
        "set/set.toml:19: gpu.name: expected lower-case letters, digits and hyphens, starting with a \
         letter (and not \"all\"), found \"My GPU\"; rename it"
    );
    let (bf16, sms) = ("bf16_tflops = 100.0", "sms = 40");
    let (positive, whole) = ("a positive number", "a positive whole number");
    for (line, key, value, expected) in [
        (21, bf16, "-1.0", positive),
        (
            21,
            bf16,
            "1e300",
            "a positive number that is finite in SI units",
        ),
        (21, bf16, "\"fast\"", positive),
        (23, "mem_bw_gb_per_s = 1000.0", "nan", positive),
        (22, "mem_bytes = 17179869184", "0", whole),
        (25, sms, "0", whole),
        (25, sms, "4294967296", "a whole number below 2^32"),
    ] {
        let name = key.split(' ').next().unwrap();
        assert_eq!(
            gpu_refusal(key, &format!("{name} = {value}")),
            format!(
                "set/set.toml:{line}: gpu.{name}: expected {expected}, found {value}; correct it"
            )
        );
    }
}

#[test]
fn bad_data_sheets_are_refused() {
    let refusal = |gpus: &str| {
        let fixture = Fixture::gemm(ROW);
        read_set(&fixture.dir(), gpus).err().unwrap().to_string()
    };
    assert_eq!(
        refusal(&GPUS.replace("[toy]", "[Toy]")),
        "gpus.toml:2: Toy: expected lower-case letters, digits and hyphens, starting with a \
         letter (and not \"all\"), found \"Toy\"; rename it"
    );
    assert_eq!(
        refusal(&GPUS.replace("[toy]", "[toy]\nname = \"toy\"")),
        "gpus.toml:3: toy: expected one of the keys description, bf16_tflops, fp8_tflops, fp4_tflops, \
         mem_bytes, mem_bw_gb_per_s, l2_bytes, sms, link_gb_per_s, source, found \"name\"; rename or \
         remove it"
    );
    assert_eq!(
        refusal(&GPUS.replace("sms = 40\n", "")),
        no_value("gpus.toml:2: toy.sms")
    );
}

#[test]
fn two_sets_of_one_name_are_refused() {
    let fixture = Fixture::gemm(ROW);
    let gpus = fixture.dir().join("gpus.toml");
    std::fs::write(&gpus, GPUS).unwrap();
    let (first, second) = (fixture.dir(), fixture.dir().join("."));
    let error = generate_builtin(&gpus, &[&first, &second], |_| true).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "{}: name: expected a name that no other set has, found \"set\", the name of {}; rename one \
             of the two sets",
            second.display(),
            first.display()
        )
    );
}

#[test]
fn exclusions_that_exclude_nothing_are_refused() {
    let entry = |rest: &str| format!("[gemm]\nt0_us = 5.0\n[[gemm.excluded]]\n{rest}");
    for (excluded, message) in [
        (
            entry("reason = \"noise\"\nrows = [\"bf16,512,512,16,11\"]\n"),
            "12: gemm.excluded.rows: expected a row of set/gemm.csv, as the file has it, found \
             \"bf16,512,512,16,11\"; correct or remove it",
        ),
        (
            entry("reason = \"noise\"\nrows = [\"x\", \"x\"]\n"),
            "12: gemm.excluded.rows: expected each row once, found \"x\"; list it under one reason",
        ),
        (
            entry("rows = [\"x\"]\n"),
            "10: gemm.excluded.reason: expected a value, found none; add it (rooflut's \
             bench_data/README.md describes the keys)",
        ),
        (
            entry("reason = \"noise\"\nrows = []\n"),
            "12: gemm.excluded.rows: expected a list with at least one element, found a list; correct \
             or remove it",
        ),
        (
            "[gemm]\nt0_us = 5.0\nexcluded = true\n".to_owned(),
            "10: gemm.excluded: expected a list with at least one element, found true; correct or \
             remove it",
        ),
    ] {
        let fixture = Fixture::gemm(ROW).set_toml("[gemm]\nt0_us = 5.0\n", &excluded);
        assert_eq!(fixture.refusal(), format!("set/set.toml:{message}"));
    }
    let all = entry("reason = \"noise\"\nrows = [\"bf16,512,512,16,10\"]\n");
    let fixture = Fixture::gemm(ROW).set_toml("[gemm]\nt0_us = 5.0\n", &all);
    assert_eq!(
        fixture.refusal(),
        "set/gemm.csv:1: expected at least one row of measurements, found none; add some or leave the \
         file out"
    );
}
