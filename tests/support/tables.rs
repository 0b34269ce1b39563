//! `bench_data/`, read with plain code.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use rooflut::hardware::Dtype;
use rooflut::table::{TableSet, sets};

/// A compiled-in set and the files it was made from.
pub(crate) struct Tables {
    pub(crate) compiled: &'static TableSet,
    pub(crate) gpu: Sheet,
    pub(crate) gemm: Vec<GemmRow>,
    pub(crate) prefill: Vec<AttentionRow>,
    pub(crate) decode: Vec<AttentionRow>,
    pub(crate) allreduce: Vec<AllReduceRow>,
    pub(crate) moe: Vec<MoeRow>,
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

#[derive(Clone, Copy)]
pub(crate) struct GemmRow {
    pub(crate) dtype: Dtype,
    pub(crate) k: u32,
    pub(crate) n: u32,
    pub(crate) m: u32,
    pub(crate) us: f64,
}

/// Both attention tables; prefill has no `tp`, its heads are those of one rank.
#[derive(Clone, Copy)]
pub(crate) struct AttentionRow {
    pub(crate) dtype: Dtype,
    pub(crate) kv_dtype: Dtype,
    pub(crate) q_heads: u32,
    pub(crate) kv_heads: u32,
    pub(crate) head_dim: u32,
    pub(crate) tp: u32,
    pub(crate) batch: u32,
    pub(crate) length: u32,
    pub(crate) us: f64,
}

#[derive(Clone, Copy)]
pub(crate) struct AllReduceRow {
    pub(crate) ranks: u32,
    pub(crate) bytes: u32,
    pub(crate) us: f64,
}

#[derive(Clone, Copy)]
pub(crate) struct MoeRow {
    pub(crate) dtype: Dtype,
    pub(crate) experts: u32,
    pub(crate) top_k: u32,
    pub(crate) hidden: u32,
    pub(crate) intermediate: u32,
    pub(crate) tp: u32,
    pub(crate) tokens: u32,
    pub(crate) us: f64,
}

/// All compiled-in sets.
pub(crate) fn all() -> &'static [Tables] {
    static ALL: OnceLock<Vec<Tables>> = OnceLock::new();
    ALL.get_or_init(|| sets::ALL.iter().map(|set| Tables::read(set)).collect())
}

pub(crate) fn h100() -> &'static Tables {
    all().iter().find(|t| t.compiled.name() == "h100").unwrap()
}

impl Tables {
    fn read(compiled: &'static TableSet) -> Tables {
        let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("bench_data");
        let dir = data.join(compiled.name());
        let gpus = fs::read_to_string(data.join("gpus.toml")).unwrap();
        let sheet = |key: &str| toml_number(&gpus, &compiled.gpu().name, key);
        let set_toml = fs::read_to_string(dir.join("set.toml")).unwrap();
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
            gemm: rows(&dir.join("gemm.csv"), &set_toml, |row| GemmRow {
                dtype: row.dtype("dtype"),
                k: row.count("k"),
                n: row.count("n"),
                m: row.count("m"),
                us: row.us(),
            }),
            prefill: rows(&dir.join("attention_prefill.csv"), &set_toml, |row| {
                row.attention(1, "seq_len")
            }),
            decode: rows(&dir.join("attention_decode.csv"), &set_toml, |row| {
                row.attention(row.count("tp"), "kv_len")
            }),
            allreduce: rows(&dir.join("allreduce.csv"), &set_toml, |row| AllReduceRow {
                ranks: row.count("ranks"),
                bytes: row.count("bytes"),
                us: row.us(),
            }),
            moe: rows(&dir.join("moe.csv"), &set_toml, |row| MoeRow {
                dtype: row.dtype("dtype"),
                experts: row.count("experts"),
                top_k: row.count("top_k"),
                hidden: row.count("hidden"),
                intermediate: row.count("intermediate"),
                tp: row.count("tp"),
                tokens: row.count("tokens"),
                us: row.us(),
            }),
            set_toml: set_toml.clone(),
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

    /// Time of the smallest call, seconds: as given in the set, else the smallest latency.
    pub(crate) fn floor(&self, operation: &str, rows: &[AttentionRow]) -> f64 {
        let smallest = rows.iter().map(|row| row.us).fold(f64::INFINITY, f64::min);
        toml_number(&self.set_toml, operation, "floor_us").unwrap_or(smallest) * 1e-6
    }

    pub(crate) fn peak(&self, dtype: Dtype) -> f64 {
        match dtype {
            Dtype::Bf16 => self.gpu.bf16,
            Dtype::Fp8 | Dtype::Fp8Block => self.gpu.fp8.unwrap(),
            Dtype::Nvfp4 => self.gpu.fp4.unwrap(),
            other => panic!("no peak for {other}"),
        }
    }
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

struct Row<'r> {
    header: &'r csv::StringRecord,
    record: &'r csv::StringRecord,
}

impl Row<'_> {
    fn text(&self, column: &str) -> &str {
        let place = self.header.iter().position(|name| name == column);
        &self.record[place.unwrap_or_else(|| panic!("no column {column}"))]
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
            other => panic!("{other}"),
        }
    }

    fn us(&self) -> f64 {
        self.text("latency_us").parse().unwrap()
    }

    fn attention(&self, tp: u32, length: &str) -> AttentionRow {
        AttentionRow {
            dtype: self.dtype("dtype"),
            kv_dtype: self.dtype("kv_dtype"),
            q_heads: self.count("q_heads"),
            kv_heads: self.count("kv_heads"),
            head_dim: self.count("head_dim"),
            tp,
            batch: self.count("batch"),
            length: self.count(length),
            us: self.us(),
        }
    }
}

/// Returns the rows of a file without those that `set_toml` excludes; none if the set lacks the file.
fn rows<T>(path: &std::path::Path, set_toml: &str, row: impl Fn(Row<'_>) -> T) -> Vec<T> {
    if !path.exists() {
        return Vec::new();
    }
    let mut reader = csv::Reader::from_path(path).unwrap();
    let header = reader.headers().unwrap().clone();
    let used = |record: &csv::StringRecord| {
        let fields: Vec<&str> = record.iter().collect();
        !set_toml.contains(&format!("\"{}\"", fields.join(",")))
    };
    let records = reader.records().map(Result::unwrap).filter(used);
    records
        .map(|record| {
            row(Row {
                header: &header,
                record: &record,
            })
        })
        .collect()
}
