//! A table set that is as regular as no measurement is.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

/// The tables of the set.
pub(crate) const OPERATIONS: [&str; 5] = [
    "gemm.csv",
    "attention_prefill.csv",
    "attention_decode.csv",
    "allreduce.csv",
    "moe.csv",
];

const SET_TOML: &str = "name = \"made-up\"\ngpu = \"h100\"\nengine = \"none\"\ntiming = \"none\"\n\
    source = \"made up\"\nlicense = \"MIT\"\ndate = \"2026-11-21\"\n\n[gemm]\nt0_us = 4.0\n\n\
    [prefill]\nt0_us = 5.0\n\n[decode]\nt0_us = 10.0\n\n[allreduce]\nt0_us = 4.0\n\n[moe]\nt0_us = 8.0\n";

/// FLOPs and bytes in a microsecond at about half of what an H100 can do.
const FLOPS: f64 = 5e8;
const BYTES: f64 = 1.8e6;

/// A set in a folder that goes with it.
pub(crate) struct MadeUp {
    _temp: TempDir,
    folder: PathBuf,
    /// The folder.
    pub(crate) path: String,
}

impl MadeUp {
    /// Points of a curve.
    pub(crate) const POINTS: usize = 8;

    pub(crate) fn new() -> MadeUp {
        let temp = tempfile::tempdir().expect("a folder");
        let folder = temp.path().join("measured");
        fs::create_dir(&folder).expect("a folder");
        fs::write(folder.join("set.toml"), SET_TOML).expect("a file");
        for (file, text) in
            OPERATIONS
                .into_iter()
                .zip([gemm(), prefill(), decode(), allreduce(), moe()])
        {
            fs::write(folder.join(file), text).expect("a file");
        }
        let path = folder.to_str().expect("UTF-8").to_owned();
        MadeUp {
            _temp: temp,
            folder,
            path,
        }
    }

    /// How many rows a file has.
    pub(crate) fn rows(&self, file: &str) -> usize {
        self.read(file).lines().count() - 1
    }

    /// Multiplies the latency of a row (from 0) and answers with its line.
    pub(crate) fn scale(&self, file: &str, row: usize, factor: f64) -> u64 {
        let mut lines: Vec<String> = self.read(file).lines().map(str::to_owned).collect();
        let line = lines.get_mut(row + 1).expect("a row");
        let (kernel, latency) = line.rsplit_once(',').expect("columns");
        let latency: f64 = latency.parse().expect("a number");
        *line = format!("{kernel},{:.4}", latency * factor);
        fs::write(self.folder.join(file), lines.join("\n")).expect("a file");
        row as u64 + 2
    }

    /// The set in one file, and the number of lines before its gemm.csv.
    pub(crate) fn as_one_file(&self) -> (String, u64) {
        let header = SET_TOML.split("[prefill]").next().unwrap_or_default();
        let gemm = self.read("gemm.csv");
        let text = format!("==> set.toml <==\n{header}\n==> gemm.csv <==\n{gemm}");
        let path = self.folder.with_file_name("made-up.tables");
        fs::write(&path, text).expect("a file");
        let before = header.lines().count() as u64 + 3;
        (path.to_str().expect("UTF-8").to_owned(), before)
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.folder.join(file)).expect("a file")
    }
}

/// Rows `columns,latency` below a header.
fn table(header: &str, rows: impl Iterator<Item = (String, f64)>) -> String {
    let mut text = format!("{header},latency_us\n");
    for (columns, latency) in rows {
        writeln!(text, "{columns},{latency:.4}").expect("room");
    }
    text
}

fn gemm() -> String {
    let shapes = [1024, 4096]
        .into_iter()
        .flat_map(|k| [512, 2048, 8192].map(|n| (k, n)));
    let rows = shapes.flat_map(|(k, n)| {
        [1, 4, 16, 64, 256, 1024, 4096, 16384].map(|m| {
            let (k, n, rows) = (f64::from(k), f64::from(n), f64::from(m));
            let flops = 2.0 * rows * k * n / FLOPS;
            let bytes = 2.0 * (rows * k + k * n + rows * n) / BYTES;
            (format!("bf16,{k},{n},{m}"), 4.0 + flops.max(bytes))
        })
    });
    table("dtype,k,n,m", rows)
}

fn prefill() -> String {
    let rows = [(32, 8), (64, 8)].into_iter().flat_map(|(q, kv)| {
        [1, 2, 4, 8].into_iter().flat_map(move |batch| {
            [1024, 2048, 4096, 8192].map(|length: u32| {
                let (q_heads, tokens) = (f64::from(q), f64::from(length));
                let flops = 2.0 * q_heads * 128.0 * f64::from(batch) * tokens * tokens / FLOPS;
                (
                    format!("bf16,bf16,{q},{kv},128,{batch},{length}"),
                    5.0 + 1.2 * flops,
                )
            })
        })
    });
    table(
        "dtype,kv_dtype,q_heads,kv_heads,head_dim,batch,seq_len",
        rows,
    )
}

fn decode() -> String {
    let rows = [(32, 8), (64, 16)].into_iter().flat_map(|(q, kv)| {
        [8, 16, 32, 64, 128].into_iter().flat_map(move |batch| {
            [4096, 8192, 16384, 32768].map(|kv_len: u32| {
                let tokens = f64::from(batch) * f64::from(kv_len);
                let bytes = tokens * f64::from(kv) * 128.0 * 4.0 / BYTES;
                (
                    format!("bf16,bf16,{q},{kv},128,1,{batch},{kv_len}"),
                    18.0 + bytes,
                )
            })
        })
    });
    table(
        "dtype,kv_dtype,q_heads,kv_heads,head_dim,tp,batch,kv_len",
        rows,
    )
}

fn allreduce() -> String {
    let rows = [2, 4, 8].into_iter().flat_map(|ranks| {
        (10..26).map(move |power| {
            let bytes = 1_u32 << power;
            (format!("{ranks},{bytes}"), 6.0 + f64::from(bytes) / 2.4e5)
        })
    });
    table("ranks,bytes", rows)
}

fn moe() -> String {
    let rows = [1, 2, 4].into_iter().flat_map(|tp| {
        [1, 2, 4, 16, 64, 256, 1024, 4096].map(|tokens: u32| {
            let count = f64::from(tokens);
            let weights = 3.0 * 4096.0 * 14336.0 / f64::from(tp);
            let experts = (8.0 * (1.0 - 0.75_f64.powf(count))).max(2.0);
            let flops = 2.0 * count * 2.0 * weights / FLOPS;
            let bytes = (experts * weights * 2.0 + count * 4096.0 * 4.0) / BYTES;
            (
                format!("bf16,8,2,4096,14336,{tp},{tokens}"),
                12.0 + flops + bytes,
            )
        })
    });
    table("dtype,experts,top_k,hidden,intermediate,tp,tokens", rows)
}
