//! A line per table that changes when its data do.

use std::path::Path;

use rooflut_roofline::operation::{Codes, Operation};

use crate::Error;
use crate::table::Table;

/// What a table holds, in one line: committed beside the data, so that a change of the data shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Fingerprint {
    /// Name of the set.
    pub set: String,
    /// The CSV.
    pub table: &'static str,
    /// Its rows.
    pub rows: usize,
    /// Bytes of latencies, slowdowns and coordinates (4 each).
    pub bytes: usize,
    /// Smallest latency, microseconds.
    pub min_us: f32,
    /// Largest latency, microseconds.
    pub max_us: f32,
    /// FNV-1a over shapes, coordinates and latencies in ascending order.
    pub hash: u64,
}

impl Fingerprint {
    /// The header of `fingerprints.csv`.
    pub const HEADER: &'static str = "set,table,rows,bytes,min_us,max_us,hash";
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Fingerprint {
            set,
            table,
            rows,
            bytes,
            min_us,
            max_us,
            hash,
        } = self;
        write!(
            f,
            "{set},{table},{rows},{bytes},{min_us},{max_us},{hash:016x}"
        )
    }
}

/// The fingerprints of the set in `dir`, one per table.
///
/// # Errors
/// As [`crate::read_set`].
pub fn fingerprints(dir: &Path, gpus_toml: &str) -> Result<Vec<Fingerprint>, Error> {
    let set = crate::read_set(dir, gpus_toml)?;
    let tables = set.tables.iter();
    Ok(tables.map(|table| of_table(set.name(), table)).collect())
}

/// `bench_data/fingerprints.csv` as it should be: the fingerprints of all sets in the folder `data`,
/// which has their `gpus.toml`, in order of the folders' names; `engines` is no set.
///
/// # Errors
/// As [`crate::read_set`]; a folder without a `set.toml` is an error too.
pub fn fingerprints_csv(data: &Path) -> Result<String, Error> {
    let io = |path: &Path, source| Error::Io {
        path: path.to_owned(),
        source,
    };
    let gpus_toml = data.join("gpus.toml");
    let gpus = std::fs::read_to_string(&gpus_toml).map_err(|e| io(&gpus_toml, e))?;
    let mut dirs = std::fs::read_dir(data)
        .and_then(|entries| {
            entries
                .map(|entry| entry.map(|e| e.path()))
                .collect::<Result<Vec<_>, _>>()
        })
        .map_err(|e| io(data, e))?;
    dirs.retain(|path| path.is_dir() && !path.ends_with("engines"));
    dirs.sort();
    let mut lines = vec![Fingerprint::HEADER.to_owned()];
    for dir in dirs {
        lines.extend(fingerprints(&dir, &gpus)?.iter().map(ToString::to_string));
    }
    Ok(lines.join("\n") + "\n")
}

/// A shape as its Rust type shows it.
struct Shown<'a>(&'static Operation, &'a Codes);

impl std::fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (self.0.debug)(self.1, f)
    }
}

fn of_table(set: &str, table: &Table) -> Fingerprint {
    let operation = table.operation.declared();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut feed = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    let mut latencies = Vec::new();
    for (shape, points) in &table.shapes {
        feed(Shown(operation, shape).to_string().as_bytes());
        for ([first, second], latency_us) in points {
            feed(&first.to_le_bytes());
            feed(&second.to_le_bytes());
            feed(&latency_us.to_le_bytes());
            latencies.push(*latency_us);
        }
    }
    Fingerprint {
        set: set.to_owned(),
        table: operation.file,
        rows: table.rows(),
        bytes: 4 * table.rows() * (operation.axes.len() + 2),
        min_us: latencies.iter().copied().fold(f32::INFINITY, f32::min),
        max_us: latencies.iter().copied().fold(0.0, f32::max),
        hash,
    }
}
