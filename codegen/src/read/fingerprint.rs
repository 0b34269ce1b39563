//! One line per table that changes with its data.

use std::fs;
use std::path::Path;

use rooflut_roofline::operation::{Codes, Operation};

use super::error::Error;
use super::set::{TableSet, read_set};
use super::table::Table;

/// Summary of a table in one line, committed with the data to make changes visible.
#[derive(Debug, Clone, PartialEq)]
pub struct Fingerprint {
    /// Name of the set.
    pub set: String,
    /// The CSV.
    pub table: &'static str,
    /// Number of rows.
    pub rows: usize,
    /// Size of latencies, slowdowns and coordinates in bytes (4 each).
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
        let Fingerprint { set, table, rows, bytes, min_us, max_us, hash } = self;
        write!(f, "{set},{table},{rows},{bytes},{min_us},{max_us},{hash:016x}")
    }
}

/// Returns the fingerprints of the set in `dir`: one per table, then, under `set/version`, one per table that the rows
/// of another engine version change.
///
/// # Errors
/// As [`read_set`].
pub fn fingerprints(dir: &Path, gpus_toml: &str) -> Result<Vec<Fingerprint>, Error> {
    let set = read_set(dir, gpus_toml)?;
    let of_tables = |name: &str, set: &TableSet| set.tables.iter().map(|table| of_table(name, table)).collect();
    let own: Vec<Fingerprint> = of_tables(set.name(), &set);
    let is_own = |changed: &Fingerprint| own.iter().any(|own| (own.table, own.hash) == (changed.table, changed.hash));
    let mut all = own.clone();
    for (version, set) in &set.versions {
        let tables: Vec<_> = of_tables(&format!("{}/{version}", set.name()), set);
        all.extend(tables.into_iter().filter(|table| !is_own(table)));
    }
    Ok(all)
}

/// Returns the contents of `bench_data/fingerprints.csv`: the fingerprints of all sets in the folder `data`,
/// in order of the folders' names. The folder has their `gpus.toml`; its folder `engines` is skipped.
///
/// # Errors
/// As [`read_set`]; a folder has no `set.toml`.
pub fn fingerprints_csv(data: &Path) -> Result<String, Error> {
    let gpus_toml = data.join("gpus.toml");
    let gpus = fs::read_to_string(&gpus_toml).map_err(|source| Error::io(&gpus_toml, source))?;
    let mut dirs = fs::read_dir(data)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>())
        .map_err(|source| Error::io(data, source))?;
    dirs.retain(|path| path.is_dir() && !path.ends_with("engines"));
    dirs.sort();
    let mut lines = vec![Fingerprint::HEADER.to_owned()];
    for dir in dirs {
        lines.extend(fingerprints(&dir, &gpus)?.iter().map(ToString::to_string));
    }
    Ok(lines.join("\n") + "\n")
}

/// A shape, shown by its Rust type.
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
