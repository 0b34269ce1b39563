//! `bench_data/`, read with plain code.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rooflut::hardware::{AllReduceShape, AttentionShape, Dtype, GemmShape, MoeShape};
use rooflut::table::{TableSet, sets};

/// A compiled-in set and the files it was made from.
pub(crate) struct Tables {
    pub(crate) compiled: &'static TableSet,
    pub(crate) gpu: Sheet,
    pub(crate) gemm: Vec<Row<GemmShape>>,
    /// Shapes of one rank.
    pub(crate) prefill: Vec<Row<AttentionShape>>,
    pub(crate) decode: Vec<Row<AttentionShape>>,
    pub(crate) allreduce: Vec<Row<AllReduceShape>>,
    pub(crate) moe: Vec<Row<MoeShape>>,
    set_toml: String,
}

/// A data sheet, in SI units.
pub(crate) struct Sheet {
    pub(crate) bf16: f64,
    pub(crate) fp8: Option<f64>,
    pub(crate) fp4: Option<f64>,
    pub(crate) bandwidth: f64,
    pub(crate) l2: f64,
    pub(crate) sms: f64,
    pub(crate) link: f64,
}

/// A measured latency of a kernel on `shape`.
pub(crate) struct Row<S> {
    pub(crate) shape: S,
    /// Number of rows, prompts, requests, bytes or tokens.
    pub(crate) amount: u32,
    /// Prompt length or KV entries of each request; 1 for kernels without a length.
    pub(crate) length: u32,
    pub(crate) us: f64,
}

/// All compiled-in sets.
pub(crate) fn all() -> &'static [Tables] {
    static ALL: OnceLock<Vec<Tables>> = OnceLock::new();
    let all = || sets::ALL.iter().map(|set| Tables::read(set));
    ALL.get_or_init(|| all().collect())
}

pub(crate) fn h100() -> &'static Tables {
    all().iter().find(|t| t.compiled.name() == "h100").unwrap()
}

impl Tables {
    fn read(compiled: &'static TableSet) -> Tables {
        let dir = data().join(compiled.name());
        let mut set_toml = fs::read_to_string(dir.join("set.toml")).unwrap();
        let base = toml_value(&set_toml, "", "inherits").map(|name| data().join(name.trim_matches('"')));
        if let Some(base) = &base {
            set_toml += &fs::read_to_string(base.join("set.toml")).unwrap();
        }
        let file = |name: &str| match &base {
            Some(base) if !dir.join(name).exists() => base.join(name),
            _ => dir.join(name),
        };
        let gpus = fs::read_to_string(data().join("gpus.toml")).unwrap();
        let sheet = |key: &str| toml_number(&gpus, &compiled.gpu().name, key);
        let tera = |key: &str| sheet(key).map(|number| number * 1e12);
        let giga = |key: &str| sheet(key).unwrap() * 1e9;
        Tables {
            compiled,
            gpu: Sheet {
                bf16: tera("bf16_tflops").unwrap(),
                fp8: tera("fp8_tflops"),
                fp4: tera("fp4_tflops"),
                bandwidth: giga("mem_bw_gb_per_s"),
                l2: sheet("l2_bytes").unwrap(),
                sms: sheet("sms").unwrap(),
                link: giga("link_gb_per_s"),
            },
            gemm: rows(&file("gemm.csv"), ["m", ""], |line| GemmShape {
                dtype: line.dtype("dtype"),
                k: line.count("k"),
                n: line.count("n"),
            }),
            prefill: rows(&file("attention_prefill.csv"), ["batch", "seq_len"], |line| line.attention(1)),
            decode: rows(&file("attention_decode.csv"), ["batch", "kv_len"], |line| line.attention(line.count("tp"))),
            allreduce: rows(&file("allreduce.csv"), ["bytes", ""], |line| AllReduceShape {
                ranks: line.count("ranks"),
            }),
            moe: rows(&file("moe.csv"), ["tokens", ""], |line| MoeShape {
                dtype: line.dtype("dtype"),
                experts: line.count("experts"),
                top_k: line.count("top_k"),
                hidden: line.count("hidden"),
                intermediate: line.count("intermediate"),
                tp: line.count("tp"),
                ep: line.count_or("ep", 1),
                matrices: line.count_or("matrices", 3),
            }),
            set_toml,
        }
    }

    /// Launch time of an operation, seconds.
    pub(crate) fn t0(&self, operation: &str) -> f64 {
        toml_number(&self.set_toml, operation, "t0_us").unwrap() * 1e-6
    }

    /// Time of a byte in the L2 cache relative to one in memory.
    pub(crate) fn hot_read(&self, operation: &str) -> f64 {
        toml_number(&self.set_toml, operation, "hot_read").unwrap_or(1.0)
    }

    /// Time of a wave of thread blocks, seconds.
    pub(crate) fn wave(&self, operation: &str) -> f64 {
        toml_number(&self.set_toml, operation, "wave_us").unwrap_or(0.0) * 1e-6
    }

    /// Whether decode attention splits KV entries only where query heads share a KV head.
    pub(crate) fn grouped_split(&self) -> bool {
        toml_value(&self.set_toml, "decode", "grouped_split") == Some("true")
    }

    /// Time of the smallest call, seconds: as given in the set, else the smallest latency.
    pub(crate) fn floor(&self, operation: &str, rows: &[Row<AttentionShape>]) -> f64 {
        let smallest = rows.iter().map(|row| row.us).fold(f64::INFINITY, f64::min);
        toml_number(&self.set_toml, operation, "floor_us").unwrap_or(smallest) * 1e-6
    }

    pub(crate) fn peak(&self, dtype: Dtype) -> f64 {
        match dtype {
            Dtype::Bf16 | Dtype::Mxfp4 | Dtype::Int4 => self.gpu.bf16,
            Dtype::Fp8 | Dtype::Fp8Block => self.gpu.fp8.unwrap(),
            Dtype::Nvfp4 => self.gpu.fp4.unwrap(),
            Dtype::Mxfp4Mxfp8 => self.gpu.fp4.and(self.gpu.fp8).unwrap(),
            other => panic!("no peak for {other}"),
        }
    }
}

/// Share of the memory bandwidth at which KV entries are read where no row shows it.
pub(crate) fn cold_read_share() -> f64 {
    static TEXT: OnceLock<String> = OnceLock::new();
    let text = TEXT.get_or_init(|| fs::read_to_string(data().join("constants.toml")).unwrap());
    toml_number(text, "cold_read_share", "value").unwrap()
}

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("bench_data")
}

/// Returns the number of `key` in `[section]`; an empty section is the part before the first one.
pub(crate) fn toml_number(text: &str, section: &str, key: &str) -> Option<f64> {
    toml_value(text, section, key).map(|value| value.parse().unwrap())
}

/// Returns the value of `key` in `[section]`.
pub(crate) fn toml_value<'t>(text: &'t str, section: &str, key: &str) -> Option<&'t str> {
    let mut inside = section.is_empty();
    for line in text.lines() {
        let line = line.split('#').next()?.trim();
        if line.starts_with('[') {
            inside = line == format!("[{section}]");
        } else if let Some((name, value)) = line.split_once('=')
            && inside
            && name.trim() == key
        {
            return Some(value.trim());
        }
    }
    None
}

struct Line<'r> {
    header: &'r csv::StringRecord,
    record: &'r csv::StringRecord,
}

impl Line<'_> {
    fn text(&self, column: &str) -> &str {
        let place = self.header.iter().position(|name| name == column);
        &self.record[place.unwrap_or_else(|| panic!("no column {column}"))]
    }

    fn count_or(&self, column: &str, missing: u32) -> u32 {
        if self.header.iter().any(|name| name == column) { self.count(column) } else { missing }
    }

    fn count(&self, column: &str) -> u32 {
        self.text(column).parse().unwrap()
    }

    fn dtype(&self, column: &str) -> Dtype {
        match self.text(column) {
            "bf16" => Dtype::Bf16,
            "fp8" => Dtype::Fp8,
            "fp8_block" => Dtype::Fp8Block,
            "nvfp4" => Dtype::Nvfp4,
            "mxfp4" => Dtype::Mxfp4,
            "mxfp4_mxfp8" => Dtype::Mxfp4Mxfp8,
            "int4" => Dtype::Int4,
            other => panic!("{other}"),
        }
    }

    fn attention(&self, tp: u32) -> AttentionShape {
        AttentionShape {
            dtype: self.dtype("dtype"),
            kv_dtype: self.dtype("kv_dtype"),
            q_heads: self.count("q_heads"),
            kv_heads: self.count("kv_heads"),
            head_dim: self.count("head_dim"),
            tp,
        }
    }
}

/// Returns the latency that a set has in place of that of `row`: `Some(None)` where it excludes the row.
fn replaced(set_toml: &str, row: &str) -> Option<Option<f64>> {
    let (before, _) = set_toml.split_once(&format!("\"{row}\""))?;
    let place = before.rsplit_once("rows = [").unwrap().1.matches(',').count();
    // Each row before has as many commas as this one, and one behind it.
    let place = place / (row.matches(',').count() + 1);
    let (_, behind) = set_toml[before.len()..].split_once(']').unwrap();
    let latencies = behind.trim_start().strip_prefix("latency_us = [");
    Some(latencies.map(|list| {
        let number = list.split([',', ']']).nth(place).unwrap();
        number.trim().parse().unwrap()
    }))
}

/// Returns the rows of a file, with the columns of amount and length and with replaced latencies, without those that
/// the set excludes; none if it lacks the file.
fn rows<S>(path: &Path, columns: [&str; 2], shape: impl Fn(&Line<'_>) -> S) -> Vec<Row<S>> {
    if !path.exists() {
        return Vec::new();
    }
    let mut reader = csv::Reader::from_path(path).unwrap();
    let header = reader.headers().unwrap().clone();
    let set_toml = fs::read_to_string(path.with_file_name("set.toml")).unwrap();
    let row = |record: &csv::StringRecord| {
        let fields: Vec<&str> = record.iter().collect();
        let replaced_us = match replaced(&set_toml, &fields.join(",")) {
            Some(None) => return None,
            replaced => replaced.flatten(),
        };
        let line = Line { header: &header, record };
        let [amount, length] = columns.map(|column| match column {
            "" => 1,
            column => line.count(column),
        });
        Some(Row {
            shape: shape(&line),
            amount,
            length,
            us: replaced_us.unwrap_or_else(|| line.text("latency_us").parse().unwrap()),
        })
    };
    let records = reader.records().map(Result::unwrap);
    records.filter_map(|record| row(&record)).collect()
}
