//! Files other than traces.
#![allow(clippy::expect_used, reason = "a helper of tests fails as tests do")]

use std::fs;
use std::path::Path;

use crate::bounded::{Expect, Place, check_all};
use Expect::{Read, Refused};

/// Arguments that read a file, which `PATH` stands for.
const READERS: [&str; 15] = [
    "run --trace PATH",
    "run --scenario PATH",
    "run --prompt file:PATH",
    "run --model PATH",
    "run --draft-tokens 2 --acceptance 0.5 --draft-model PATH",
    "run --tables PATH",
    "lookup gemm --k 4096 --n 4096 --m 8 --tables PATH",
    "tables check PATH",
    "tables plot PATH",
    "tables score PATH",
    "validate PATH",
    "import infersim PATH new",
    "import aiconfigurator PATH new --gpu h100",
    "import vidur PATH new",
    "import blis . new --gpu-sheet PATH",
];

#[test]
fn a_file_of_something_else_is_refused_by_every_reader() {
    let garbage: [(&str, Vec<u8>); 9] = [
        ("binary", (0..=255).collect()),
        ("zeros", vec![0; 4096]),
        ("UTF-16", vec![0xff, 0xfe, b'a', 0, b'\n', 0]),
        ("words", b"some words\n".to_vec()),
        ("HTML", b"<!DOCTYPE html><html></html>\n".to_vec()),
        ("brackets", vec![b'['; 100_000]),
        ("braces", br#"{"a":"#.repeat(100_000)),
        ("commas", vec![b','; 1 << 20]),
        ("a long line", vec![b'x'; 8 << 20]),
    ];
    let places: Vec<_> = (garbage.iter())
        .flat_map(|garbage| READERS.map(|reader| (garbage, reader)))
        .collect();
    check_all(&places, |&((name, bytes), reader)| {
        let place = Place::new();
        // Models end with .json.
        let path = place.file("file.json", bytes);
        let arguments: Vec<String> = words(reader, &path);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let complaint = place.complaint(&arguments, Refused(""))?;
        Some(format!("{name}: {complaint}"))
    });
}

#[test]
fn a_path_without_a_file_is_refused_by_every_reader() {
    let paths = [
        "no-such",
        "no-such.json",
        "empty",
        "file/under",
        "\u{202e}√",
    ];
    let cases: Vec<_> = (paths.iter())
        .flat_map(|path| READERS.map(|reader| (*path, reader)))
        .collect();
    check_all(&cases, |&(path, reader)| {
        let place = Place::new();
        place.file("file", b"");
        fs::create_dir(place.path("empty")).expect("a folder");
        let arguments: Vec<String> = words(reader, path);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        place.complaint(&arguments, Refused(""))
    });
}

fn words(line: &str, path: &str) -> Vec<String> {
    let words = line.split(' ');
    words.map(|word| word.replace("PATH", path)).collect()
}

#[test]
fn a_scenario_is_read_right_or_refused_in_one_line() {
    let cases: [(&[u8], Expect); 32] = [
        (b"", Read),
        (b"\xef\xbb\xbfgpu = 'h200'", Read),
        (b"gpu = 'h200'\r\n[workload]\r\nrequests = 2\r\n", Read),
        (b"# nothing\n\n", Read),
        ("model = 'llama-3.1-8b' # \u{202e}√\n".as_bytes(), Read),
        (b"gpu = \n", Refused(":1: expected TOML")),
        (b"gpu = 'h200\n", Refused(":1: expected TOML")),
        (b"gpu = 1", Refused(":1: gpu: ")),
        (b"gpu = 'h\0'", Refused(":1: expected TOML")),
        (b"gpu = ''", Refused(":1: unknown table set \"\"")),
        (
            b"gpu = 'h200'\ngpu = 'h100'",
            Refused(":2: expected TOML: duplicate key"),
        ),
        (b"tp = -1", Refused(":1: tp: ")),
        (
            b"tp = 0",
            Refused("tp: expected a whole number of at least 1, found 0"),
        ),
        (b"tp = 1.5", Refused(":1: tp: ")),
        (b"tp = 99999999999999999999", Refused(":1: tp: ")),
        (b"tp = 'one'", Refused(":1: tp: ")),
        (b"tp = [1]", Refused(":1: tp: ")),
        (b"tp = 2026-01-31", Refused(":1: tp: ")),
        (b"rate = 5", Refused(":1: rate: expected in [workload]")),
        (
            b"[workload]\nrate = nan",
            Refused("rate: expected a positive"),
        ),
        (
            b"[workload]\nrate = inf",
            Refused("rate: expected a positive"),
        ),
        (
            b"[workload]\nrate = -1",
            Refused("rate: expected a positive"),
        ),
        (
            b"[workload]\nrate = 0",
            Refused("rate: expected a positive"),
        ),
        (
            b"[workload]\nprompt = 'uniform:9..3'",
            Refused(":2: prompt: lengths: expected a non-empty range"),
        ),
        (
            b"[workload]\nrates = 5",
            Refused(":2: unknown key \"rates\" in [workload]"),
        ),
        (b"[workload\nrate = 5", Refused(":1: expected TOML")),
        (
            b"[workload]\n[workload]\n",
            Refused(":2: expected TOML: duplicate key"),
        ),
        (
            b"[[workload]]\nrate = 5",
            Refused(":1: workload: expected the table [workload]"),
        ),
        (
            b"[workloads]\nrate = 5",
            Refused(":1: unknown table \"workloads\""),
        ),
        (
            b"[server]\nrate = 5",
            Refused(":2: rate: expected in [workload]"),
        ),
        (
            b"[output]\nforce = true",
            Refused(":2: unknown key \"force\" in [output]"),
        ),
        (
            b"workload = 5",
            Refused(":1: workload: expected the table [workload]"),
        ),
    ];
    check_all(&cases, |(bytes, expect)| {
        let place = Place::new();
        let path = place.file("scenario.toml", bytes);
        let complaint = place.complaint(&["run", "--scenario", &path], *expect)?;
        Some(format!("{:?}: {complaint}", String::from_utf8_lossy(bytes)))
    });
}

#[test]
fn lengths_are_read_right_or_refused_in_one_line() {
    let cases: [(&[u8], Expect); 17] = [
        (b"128\n256\n", Read),
        (b"\xef\xbb\xbf128,0.5\r\n\r\n256,1\r\n", Read),
        (b"128,0\n256,1e-300\n", Read),
        (b"", Refused("expected a length on each line")),
        (b"\n \n", Refused("expected a length on each line")),
        (b"0\n", Refused(":1: expected LENGTH or LENGTH,WEIGHT")),
        (b"-1\n", Refused(":1: expected LENGTH or LENGTH,WEIGHT")),
        (b"1.5\n", Refused(":1: expected LENGTH or LENGTH,WEIGHT")),
        (b"NaN\n", Refused(":1: expected LENGTH or LENGTH,WEIGHT")),
        (b"1e308\n", Refused(":1: expected LENGTH or LENGTH,WEIGHT")),
        (
            b"4294967296\n",
            Refused(":1: expected LENGTH or LENGTH,WEIGHT"),
        ),
        (b"128,-1\n", Refused(":1: expected LENGTH or LENGTH,WEIGHT")),
        (
            b"128,NaN\n",
            Refused(":1: expected LENGTH or LENGTH,WEIGHT"),
        ),
        (
            b"128,1e308\n256,1e308\n",
            Refused("weights of lengths: expected"),
        ),
        (b"128,0\n", Refused("weights of lengths: expected")),
        (b"128\n12\0\n", Refused(":2: expected LENGTH")),
        ("128\n١\n".as_bytes(), Refused(":2: expected LENGTH")),
    ];
    check_all(&cases, |(bytes, expect)| {
        let place = Place::new();
        let file = format!("file:{}", place.file("lengths.txt", bytes));
        let arguments = ["run", "--requests", "2", "--prompt", &file];
        let complaint = place.complaint(&arguments, *expect)?;
        Some(format!("{:?}: {complaint}", String::from_utf8_lossy(bytes)))
    });
}

/// The keys of a model, one a line.
const CONFIG: &str = r#"{"model_type": "llama",
"hidden_size": 4096,
"num_hidden_layers": 32,
"num_attention_heads": 32,
"num_key_value_heads": 8,
"intermediate_size": 14336,
"vocab_size": 128256,
"max_position_embeddings": 131072,
"tie_word_embeddings": false,
"torch_dtype": "bfloat16"}"#;

#[test]
fn a_config_is_read_right_or_refused_in_one_line() {
    let changed = |from: &str, to: &str| CONFIG.replacen(from, to, 1).into_bytes();
    let cases: Vec<(Vec<u8>, Expect)> = vec![
        (CONFIG.as_bytes().to_vec(), Read),
        (changed("\n", "\r\n"), Read),
        (b"{}".to_vec(), Refused("config.json: ")),
        (b"[]".to_vec(), Refused("config.json: ")),
        (b"null".to_vec(), Refused("config.json: ")),
        (b"".to_vec(), Refused("config.json: ")),
        (
            CONFIG.as_bytes().iter().copied().take(99).collect(),
            Refused("config.json: "),
        ),
        (changed("4096", "-4096"), Refused("hidden_size: expected")),
        (changed("4096", "0"), Refused("hidden_size: expected")),
        (changed("4096", "4096.5"), Refused("hidden_size: expected")),
        (changed("4096", "1e308"), Refused("hidden_size: expected")),
        (
            changed("4096", "99999999999999999999"),
            Refused("hidden_size: expected"),
        ),
        (
            changed("4096", "4294967295"),
            Refused("hidden_size: expected"),
        ),
        (changed("4096", "NaN"), Refused("config.json: ")),
        (
            changed("4096", "\"4096\""),
            Refused("hidden_size: expected"),
        ),
        (changed("4096", "null"), Refused("hidden_size: expected")),
        (changed("4096", "{}"), Refused("hidden_size: expected")),
        (changed("4096,", ""), Refused("config.json: ")),
        (
            changed("\"hidden_size\": 4096,", ""),
            Refused("hidden_size: expected"),
        ),
        (
            changed("32,", "4294967295,"),
            Refused("num_hidden_layers: expected"),
        ),
        (changed("32,", "0,"), Refused("num_hidden_layers: expected")),
        (
            changed("key_value_heads\": 8", "key_value_heads\": 7"),
            Refused("num_attention_heads: expected a multiple"),
        ),
        (
            changed("key_value_heads\": 8", "key_value_heads\": 0"),
            Refused("num_key_value_heads: expected"),
        ),
        (changed("128256", "0"), Refused("vocab_size: expected")),
        (
            changed("131072", "0"),
            Refused("max_position_embeddings: expected"),
        ),
    ];
    check_all(&cases, |(bytes, expect)| {
        let place = Place::new();
        let path = place.file("config.json", bytes);
        let arguments = ["run", "--requests", "2", "--model", &path];
        let complaint = place.complaint(&arguments, *expect)?;
        Some(format!("{:?}: {complaint}", String::from_utf8_lossy(bytes)))
    });
}

#[test]
fn a_table_set_is_read_right_or_refused_in_one_line() {
    let set = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench_data/h100");
    let header = fs::read_to_string(set.join("set.toml")).expect("a file");
    let header = header.replacen("name = \"h100\"", "name = \"mine\"", 1);
    let gemm = fs::read_to_string(set.join("gemm.csv")).expect("a file");
    let row = "bf16,512,512,1,3.388";
    let toml = |from: &str, to: &str| ("set.toml", header.replacen(from, to, 1).into_bytes());
    let csv = |to: &str| ("gemm.csv", gemm.replacen(row, to, 1).into_bytes());
    let cases: Vec<((&str, Vec<u8>), Expect)> = vec![
        (toml("", ""), Read),
        (
            ("set.toml", header.replace('\n', "\r\n").into_bytes()),
            Read,
        ),
        (("gemm.csv", gemm.replace('\n', "\r\n").into_bytes()), Read),
        (("gemm.csv", format!("\u{feff}{gemm}").into_bytes()), Read),
        (
            toml("mine", "h100"),
            Refused("set.toml:1: name: expected another name"),
        ),
        (
            toml("mine", ""),
            Refused("set.toml:1: name: expected lower-case letters"),
        ),
        (
            toml("mine", "../mine"),
            Refused("set.toml:1: name: expected lower-case letters"),
        ),
        (
            toml("gpu = \"h100\"", "gpu = \"h1000\""),
            Refused("set.toml:2: gpu: expected one of"),
        ),
        (
            toml("gpu = \"h100\"", ""),
            Refused("set.toml:1: gpu: expected a value"),
        ),
        (
            toml("t0_us = 3.7", "t0_us = -1"),
            Refused("set.toml:12: gemm.t0_us: expected a positive number"),
        ),
        (
            toml("t0_us = 3.7", "t0_us = nan"),
            Refused("set.toml:12: gemm.t0_us: expected a positive number"),
        ),
        (
            toml("[gemm]", "[gem]"),
            Refused("set.toml:11: expected one of the keys"),
        ),
        (
            ("set.toml", Vec::new()),
            Refused("set.toml:1: name: expected a value"),
        ),
        (
            ("set.toml", b"\0".to_vec()),
            Refused("set.toml:1: expected TOML"),
        ),
        (
            ("gemm.csv", Vec::new()),
            Refused("gemm.csv:1: expected at least one row"),
        ),
        (
            ("gemm.csv", b"dtype,k,n,m,latency_us\n".to_vec()),
            Refused("gemm.csv:1: expected at least one row"),
        ),
        (
            ("gemm.csv", b"dtype,k,n,m\nbf16,512,512,1\n".to_vec()),
            Refused("gemm.csv:1: latency_us: expected a column"),
        ),
        (
            csv("bf16,512,512,1,0"),
            Refused(":2: latency_us: expected a positive number"),
        ),
        (
            csv("bf16,512,512,1,-1"),
            Refused(":2: latency_us: expected a positive number"),
        ),
        (
            csv("bf16,512,512,1,NaN"),
            Refused(":2: latency_us: expected a positive number"),
        ),
        (
            csv("bf16,512,512,1,inf"),
            Refused(":2: latency_us: expected a positive number"),
        ),
        (
            csv("bf16,512,512,1,1e308"),
            Refused(":2: latency_us: expected a positive number"),
        ),
        (
            csv("bf16,512,512,1,"),
            Refused(":2: latency_us: expected a positive number"),
        ),
        (
            csv("bf16,512,512,1,soon"),
            Refused(":2: latency_us: expected a positive number"),
        ),
        (
            csv("bf16,512,512,1,3\0"),
            Refused(":2: latency_us: expected a positive number"),
        ),
        (
            csv("bf16,512,512,1,0.0001"),
            Refused(":2: latency_us: expected at most the bf16 peak"),
        ),
        (
            csv("bf16,512,512,1,3.388,1"),
            Refused(":2: row: expected 5 fields"),
        ),
        (csv("bf16,512,512,1"), Refused(":2: row: expected 5 fields")),
        (
            csv("bf16,512,512,0,3.388"),
            Refused(":2: m: expected a positive whole number"),
        ),
        (
            csv("bf16,512,512,-1,3.388"),
            Refused(":2: m: expected a positive whole number"),
        ),
        (
            csv("bf16,512,512,4294967296,3.388"),
            Refused(":2: m: expected a positive whole number"),
        ),
        (
            csv("bf17,512,512,1,3.388"),
            Refused(":2: dtype: expected one of"),
        ),
        (
            csv("bf16,512,512,4,3.388"),
            Refused(":3: expected each key once"),
        ),
    ];
    check_all(&cases, |((name, bytes), expect)| {
        let place = Place::new();
        for entry in fs::read_dir(&set).expect("a folder") {
            let entry = entry.expect("an entry");
            fs::copy(
                entry.path(),
                place.path(entry.file_name().to_str().expect("UTF-8")),
            )
            .expect("a copy");
        }
        place.file("set.toml", header.as_bytes());
        place.file(name, bytes);
        place.complaint(&["run", "--requests", "2", "--tables", "."], *expect)
    });
}
