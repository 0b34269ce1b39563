//! Table sets that are read at run time.

use std::path::Path;
use std::sync::Arc;
use std::vec::Vec;

pub use rooflut_codegen::{
    Error as LoadError, ExcludedRows, MeasuredRow as LoadedRow, TableRows as LoadedTable, data_sheet,
};
use rooflut_codegen::{Gpus, StoredSet, StoredTable, read_any_set, read_own_set};

use super::error_group::error_groups;
use super::owned::{OwnedSet, OwnedTable};
use super::stored::{EntryPlace, TableHead};
use super::{Index, Origin, TableSet};
use crate::generated::gpus;

impl TableSet {
    /// Reads a set of measurements at run time: a folder in the format of `tables!`, or a single file that
    /// `tail -n +1 set.toml *.csv > my-gpu.tables` makes from such a folder. `bench_data/README.md` describes the
    /// files.
    ///
    /// The files are checked as at compile time, with the same messages (but for the whole paths of files). Every
    /// answer of the set equals the answer of the compiled set, bit for bit. The set must not have the name of a
    /// built-in set.
    ///
    /// The set lives as long as its handles and the kernels and models made from the set; the last one frees the
    /// memory. Loading the 3,900 rows that `h100` had takes 4 ms
    /// (`cargo bench -p rooflut --features runtime-tables --bench load`). Finding a shape, once per kernel and model,
    /// is a binary search instead of a perfect-hash lookup.
    ///
    /// # Errors
    /// The first thing in the files that is missing, malformed or invalid.
    ///
    /// ```
    /// use rooflut::hardware::{Dtype, GemmShape};
    /// use rooflut::op::Gemm;
    /// use rooflut::table::TableSet;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let set = TableSet::try_load("tests/fixtures/tiny-set")?;
    /// let gemm = Gemm::resolve(&set, GemmShape { dtype: Dtype::Bf16, k: 1024, n: 1024 })?;
    /// println!("{}: {}", set.name(), gemm.at(100).time);
    ///
    /// let error = TableSet::try_load("measurements/missing").unwrap_err();
    /// assert!(error.to_string().ends_with("found nothing there; check the path"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn try_load(path: impl AsRef<Path>) -> Result<TableSet, LoadError> {
        let known: Gpus = gpus::ALL.into_iter().collect();
        let path = path.as_ref();
        let set = read_own_set(path, &known).map_err(|error| error.in_set_at(path))?;
        Ok(TableSet::shared(owned(set.stored(|_, _| true))))
    }

    /// Reads a set as [`try_load`](TableSet::try_load) does, with any name, and returns it with its rows and their
    /// lines in the files, for tools that inspect measurements row by row, including the rows of built-in sets.
    ///
    /// # Errors
    /// As [`try_load`](TableSet::try_load), except for the name.
    ///
    /// ```
    /// use rooflut::table::TableSet;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (set, tables) = TableSet::try_load_rows("tests/fixtures/tiny-set")?;
    /// for table in &tables {
    ///     let last = table.rows.last().ok_or("no row")?;
    ///     println!("{}:{}: {:?}", table.file, last.line, last.kernel);
    /// }
    /// assert_eq!(tables.len(), set.tables().count());
    /// # Ok(())
    /// # }
    /// ```
    pub fn try_load_rows(path: impl AsRef<Path>) -> Result<(TableSet, Vec<LoadedTable>), LoadError> {
        let known: Gpus = gpus::ALL.into_iter().collect();
        let path = path.as_ref();
        let set = read_any_set(path, &known).map_err(|error| error.in_set_at(path))?;
        Ok((TableSet::shared(owned(set.stored(|_, _| true))), set.rows()))
    }
}

/// Returns a set in memory.
fn owned(set: StoredSet) -> OwnedSet {
    let StoredSet { name, gpu, axes, .. } = set;
    let table = |table: StoredTable| OwnedTable {
        head: TableHead {
            operation: table.operation,
            timing: table.timing,
            floor_us: table.floor_us,
            error_groups: error_groups(&name, table.operation),
            index: Index::sorted(table.keys.into_iter()),
        },
        shapes: table.shapes,
        entries: table.entries.into_iter().map(|entry| EntryPlace::from_generated(entry.axes, entry.start)).collect(),
        latency_us: table.latency_us,
        ln_slowdown: table.ln_slowdown,
    };
    let tables = set.tables.into_iter().map(table).collect();
    let versions = set.versions.into_iter().map(|(name, set)| (name.into(), Arc::new(owned(set)))).collect();
    OwnedSet {
        name: name.into(),
        gpu,
        origin: Origin {
            engine: set.engine.into(),
            timing: set.timing.into(),
            source: set.source.into(),
            license: set.license.into(),
            date: set.date.into(),
        },
        axis_values: axes.values,
        axis_points: axes.points,
        tables,
        versions,
    }
}
