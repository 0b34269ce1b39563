//! Made-up table sets in temporary folders.

pub(crate) mod engines;

use std::path::{Path, PathBuf};

use rooflut_codegen::{Error, TableSet, generate_expression, read_set};
use rooflut_roofline::Gpu;
use tempfile::TempDir;

/// A GPU with round numbers: 100 TFLOP/s at 16 bits, 200 at 8 bits, 1 TB/s, 10 MB L2, 50 GB/s link.
pub(crate) const GPUS: &str = r#"
[toy]
description = "A GPU that does not exist"
bf16_tflops = 100.0
fp8_tflops = 200.0
mem_bytes = 17179869184
mem_bw_gb_per_s = 1000.0
l2_bytes = 10000000
sms = 40
link_gb_per_s = 50.0
source = "made up"
"#;

/// The GPU of [`GPUS`] without an 8-bit peak.
pub(crate) static TOY: Gpu = Gpu::from_generated(
    ["toy", "A GPU that does not exist"],
    (1e14, None, None),
    [1e12, 5e10],
    [1 << 34, 10_000_000],
    40,
    [None; 2],
);

/// A `set.toml` with all operations.
pub(crate) const SET_TOML: &str = r#"name = "set"
gpu = "toy"
engine = "none"
timing = "made up"
source = "a test"
license = "MIT"
date = "2026-01-31"
[gemm]
t0_us = 5.0
[prefill]
t0_us = 5.0
[decode]
t0_us = 5.0
[allreduce]
t0_us = 5.0
[moe]
t0_us = 5.0
"#;

pub(crate) const GEMM: &str = "dtype,k,n,m,latency_us\n";
pub(crate) const PREFILL: &str = "dtype,kv_dtype,q_heads,kv_heads,head_dim,batch,seq_len,latency_us\n";
pub(crate) const DECODE: &str = "dtype,kv_dtype,q_heads,kv_heads,head_dim,tp,batch,kv_len,latency_us\n";
pub(crate) const ALLREDUCE: &str = "ranks,bytes,latency_us\n";
pub(crate) const MOE: &str = "dtype,experts,top_k,hidden,intermediate,tp,tokens,latency_us\n";

/// A folder called `set` that starts with [`SET_TOML`] only.
pub(crate) struct Fixture {
    temp: TempDir,
}

impl Fixture {
    pub(crate) fn new() -> Fixture {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join("set")).unwrap();
        Fixture { temp }.file("set.toml", SET_TOML)
    }

    /// A fixture with one GEMM table.
    pub(crate) fn gemm(rows: &str) -> Fixture {
        Fixture::new().file("gemm.csv", format!("{GEMM}{rows}"))
    }

    pub(crate) fn file(self, name: &str, contents: impl AsRef<[u8]>) -> Fixture {
        std::fs::write(self.folder().join(name), contents).unwrap();
        self
    }

    pub(crate) fn without(self, name: &str) -> Fixture {
        std::fs::remove_file(self.folder().join(name)).unwrap();
        self
    }

    /// [`SET_TOML`] with one text replaced.
    pub(crate) fn set_toml(self, from: &str, to: &str) -> Fixture {
        assert!(SET_TOML.contains(from), "{from}");
        self.file("set.toml", SET_TOML.replace(from, to))
    }

    /// The folder, with the sections of its tables alone in `set.toml`.
    pub(crate) fn dir(&self) -> PathBuf {
        self.leave_out_empty_sections();
        self.folder()
    }

    fn folder(&self) -> PathBuf {
        self.temp.path().join("set")
    }

    pub(crate) fn read(&self) -> Result<TableSet, Error> {
        read_set(&self.dir(), GPUS)
    }

    /// The message of the refusal, without the path of the temporary folder.
    pub(crate) fn refusal(&self) -> String {
        let Err(error) = self.read() else {
            panic!("the set was accepted");
        };
        let message = error.to_string();
        assert!(!message.contains('\n'), "more than a line: {message}");
        message.replace(&format!("{}/", self.temp.path().display()), "")
    }

    /// The source emitted for the set.
    pub(crate) fn expression(&self) -> String {
        generate_expression(&self.dir(), GPUS).unwrap()
    }

    /// Sections of [`SET_TOML`] without a table become empty lines.
    fn leave_out_empty_sections(&self) {
        let path = self.folder().join("set.toml");
        let Ok(mut text) = std::fs::read_to_string(&path) else {
            return;
        };
        for (section, file) in [
            ("gemm", "gemm.csv"),
            ("prefill", "attention_prefill.csv"),
            ("decode", "attention_decode.csv"),
            ("allreduce", "allreduce.csv"),
            ("moe", "moe.csv"),
        ] {
            let whole = format!("[{section}]\nt0_us = 5.0\n");
            let (before, after) = match text.split_once(&whole) {
                // A section with more keys stays: a test expects it to be refused.
                Some((before, after)) if after.is_empty() || after.starts_with(['[', '\n']) => (before, after),
                _ => continue,
            };
            if !self.folder().join(file).exists() {
                text = format!("{before}\n\n{after}");
            }
        }
        std::fs::write(path, text).unwrap();
    }
}

/// The message for a missing key.
pub(crate) fn no_value(place: &str) -> String {
    format!("{place}: expected a value, found none; add it (rooflut's bench_data/README.md describes the keys)")
}

/// The data of the repository.
pub(crate) fn bench_data() -> PathBuf {
    Path::new("..").join("bench_data")
}
