//! A folder of tables with its `set.toml`.

use std::path::Path;

use rooflut_roofline::Gpu;
use serde::Deserialize;

use crate::Error;
use crate::gpus::{GpuSheet, Gpus};
use crate::operation::{AllReduce, Decode, Gemm, Moe, Operation, Prefill};
use crate::table::Table;

/// A checked table set, ready to be emitted.
pub struct TableSet {
    pub(crate) header: Header,
    pub(crate) gpu: Gpu,
    pub(crate) gemm: Option<Table<Gemm>>,
    pub(crate) prefill: Option<Table<Prefill>>,
    pub(crate) decode: Option<Table<Decode>>,
    pub(crate) allreduce: Option<Table<AllReduce>>,
    pub(crate) moe: Option<Table<Moe>>,
}

/// The contents of a `set.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    pub(crate) name: String,
    gpu: GpuRef,
    pub(crate) engine: String,
    pub(crate) timing: String,
    pub(crate) source: String,
    pub(crate) license: String,
    pub(crate) date: String,
    gemm: Option<Timing>,
    prefill: Option<Timing>,
    decode: Option<Timing>,
    allreduce: Option<Timing>,
    moe: Option<Timing>,
}

/// The name of a GPU in `gpus.toml`, or a data sheet of its own.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum GpuRef {
    Name(String),
    Own(OwnGpu),
}

#[derive(Debug, Deserialize)]
struct OwnGpu {
    name: String,
    #[serde(flatten)]
    sheet: GpuSheet,
}

/// What a `set.toml` says of the timing of an operation.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Timing {
    /// Time that neither FLOPs nor bytes explain, microseconds.
    pub(crate) t0_us: f64,
    /// Time of the smallest call, microseconds, where no row is small enough to show it.
    pub(crate) floor_us: Option<f64>,
    /// Time of a byte from the L2 cache relative to one from memory, where the timing shows it.
    pub(crate) hot_read: Option<f64>,
}

const FILES: [&str; 6] = [
    "set.toml",
    Gemm::FILE,
    Prefill::FILE,
    Decode::FILE,
    AllReduce::FILE,
    Moe::FILE,
];

impl TableSet {
    pub(crate) fn read(dir: &Path, gpus: &Gpus) -> Result<TableSet, Error> {
        let header_path = dir.join("set.toml");
        if !header_path.exists() {
            return Err(Error::NoSetToml {
                dir: dir.to_owned(),
            });
        }
        let folder = dir
            .file_name()
            .unwrap_or(dir.as_os_str())
            .to_string_lossy()
            .into_owned();
        check_files(dir, &folder)?;
        let file = format!("{folder}/set.toml");
        let text = std::fs::read_to_string(&header_path).map_err(|source| Error::Io {
            path: header_path,
            source,
        })?;
        let toml_error = |message| Error::Toml {
            file: file.clone(),
            message,
        };
        let header: Header = toml::from_str(&text).map_err(|e| toml_error(e.to_string()))?;
        header.check().map_err(toml_error)?;
        let gpu = match &header.gpu {
            GpuRef::Name(name) => gpus.find(name).ok_or_else(|| Error::UnknownGpu {
                file: file.clone(),
                found: name.clone(),
                known: gpus.names(),
            })?,
            GpuRef::Own(own) => own.sheet.to_gpu(&own.name, &file)?,
        };
        let set = TableSet {
            gpu,
            gemm: Table::read(dir, &folder, &gpu, header.gemm)?,
            prefill: Table::read(dir, &folder, &gpu, header.prefill)?,
            decode: Table::read(dir, &folder, &gpu, header.decode)?,
            allreduce: Table::read(dir, &folder, &gpu, header.allreduce)?,
            moe: Table::read(dir, &folder, &gpu, header.moe)?,
            header,
        };
        let empty = set.gemm.is_none()
            && set.prefill.is_none()
            && set.decode.is_none()
            && set.allreduce.is_none()
            && set.moe.is_none();
        if empty {
            Err(Error::Empty {
                file: dir.display().to_string(),
            })
        } else {
            Ok(set)
        }
    }

    /// The name of the set.
    pub fn name(&self) -> &str {
        &self.header.name
    }
}

impl Header {
    fn check(&self) -> Result<(), String> {
        let name = &self.name;
        let simple = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(simple) {
            return Err(format!(
                "name: expected lower-case letters, digits and hyphens, starting with a letter, \
                 found \"{name}\""
            ));
        }
        let timings = [
            self.gemm,
            self.prefill,
            self.decode,
            self.allreduce,
            self.moe,
        ];
        for Timing {
            t0_us,
            floor_us,
            hot_read,
        } in timings.into_iter().flatten()
        {
            for (key, value) in [
                ("t0_us", Some(t0_us)),
                ("floor_us", floor_us),
                ("hot_read", hot_read),
            ] {
                if value.is_some_and(|value| !(value > 0.0 && value.is_finite())) {
                    return Err(format!(
                        "{key}: expected a positive number, found {value:?}"
                    ));
                }
            }
        }
        Ok(())
    }
}

/// A misspelt file would be left out in silence: refuse CSV files that no operation reads.
fn check_files(dir: &Path, folder: &str) -> Result<(), Error> {
    let io = |source| Error::Io {
        path: dir.to_owned(),
        source,
    };
    for entry in std::fs::read_dir(dir).map_err(io)? {
        let name = entry
            .map_err(io)?
            .file_name()
            .to_string_lossy()
            .into_owned();
        if name.ends_with(".csv") && !FILES.contains(&name.as_str()) {
            return Err(Error::UnknownFile {
                file: format!("{folder}/{name}"),
                expected: FILES.to_vec(),
            });
        }
    }
    Ok(())
}
