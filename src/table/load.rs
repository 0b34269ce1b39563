//! Sets that are read at run time.

use std::boxed::Box;
use std::collections::BTreeMap;
use std::path::Path;
use std::string::String;
use std::vec::Vec;

use rooflut_codegen::{
    AxisLogs, Gpus, StoredEntry, StoredSet, StoredTable, TableRows, read_any_set, read_own_set,
};
use rooflut_roofline::{Gpu, Reference};

use super::{Axis, Curve, Entry, Grid, Index, KernelTable, Origin, TableSet};
use crate::generated::gpus;

/// What is wrong with the files of a set: the errors of `tables!`, at run time.
pub use rooflut_codegen::Error as LoadError;

impl TableSet {
    /// Reads a set of measurements at run time: a folder as `tables!` compiles it, or a single file, which
    /// `tail -n +1 set.toml *.csv > my-gpu.tables` makes of one. `bench_data/README.md` describes the files.
    ///
    /// The files are checked as at compile time, with the same messages, and every answer of the set is that
    /// of the compiled one, bit for bit. It must not have the name of a built-in set.
    ///
    /// The set lives as long as the program, as the compiled ones do: its memory (57 kB for the 3,900 rows of
    /// `h100`) is never given back, and a second call takes as much again. Load once and keep the reference;
    /// that takes 4 ms (`cargo bench -p rooflut --features runtime-tables --bench load`). Finding a shape,
    /// which happens once per kernel and model, is a binary search instead of perfect hashing; asking costs
    /// the same.
    ///
    /// # Errors
    /// The first thing in the files that is missing, malformed or impossible.
    ///
    /// ```
    /// use rooflut::hardware::{Dtype, GemmShape};
    /// use rooflut::op::Gemm;
    /// use rooflut::table::TableSet;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let set = TableSet::try_load("tests/fixtures/tiny-set")?;
    /// let gemm = Gemm::resolve(set, GemmShape { dtype: Dtype::Bf16, k: 1024, n: 1024 })?;
    /// println!("{}: {}", set.name, gemm.at(100).time);
    ///
    /// let error = TableSet::try_load("measurements/of-nobody").unwrap_err();
    /// assert!(error.to_string().ends_with("found nothing there; check the path"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn try_load(path: impl AsRef<Path>) -> Result<&'static TableSet, LoadError> {
        let known: Gpus = gpus::ALL.into_iter().collect();
        let set = read_own_set(path.as_ref(), &known)?.stored();
        Ok(Box::leak(Box::new(keep(set))))
    }

    /// As [`try_load`](TableSet::try_load), whatever the name of the set, and beside it its rows with their
    /// places in the files: to look at measurements, a built-in set's among them, row by row.
    ///
    /// # Errors
    /// As [`try_load`](TableSet::try_load), but for the name.
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
    /// assert_eq!(tables.len(), [set.gemm.is_some(), set.prefill.is_some(), set.decode.is_some(),
    ///     set.allreduce.is_some(), set.moe.is_some()].into_iter().filter(|held| *held).count());
    /// # Ok(())
    /// # }
    /// ```
    pub fn try_load_rows(
        path: impl AsRef<Path>,
    ) -> Result<(&'static TableSet, Vec<TableRows>), LoadError> {
        let known: Gpus = gpus::ALL.into_iter().collect();
        let set = read_any_set(path.as_ref(), &known)?;
        let rows = set.rows();
        Ok((Box::leak(Box::new(keep(set.stored()))), rows))
    }
}

/// The set, which from now on is never dropped.
fn keep(set: StoredSet) -> TableSet {
    let gpu = set.gpu;
    let mut axes = Axes::default();
    TableSet {
        name: text(set.name),
        gpu,
        origin: Origin {
            engine: text(set.engine),
            timing: text(set.timing),
            source: text(set.source),
            license: text(set.license),
            date: text(set.date),
        },
        gemm: table(set.gemm, &gpu, |shape| axes.curve(shape)),
        prefill: table(set.prefill, &gpu, |shape| axes.grid(shape)),
        decode: table(set.decode, &gpu, |shape| axes.grid(shape)),
        allreduce: table(set.allreduce, &gpu, |shape| axes.curve(shape)),
        moe: table(set.moe, &gpu, |shape| axes.curve(shape)),
    }
}

fn table<S, P, const AXES: usize>(
    table: Option<StoredTable<S, AXES>>,
    gpu: &Gpu,
    entry: impl FnMut(StoredEntry<S, AXES>) -> Entry<S, P>,
) -> Option<KernelTable<S, P>> {
    let StoredTable {
        t0_us,
        floor_us,
        hot_read,
        entries,
    } = table?;
    // Codegen has counted the shapes: 16 bits number them.
    let mut keys: Vec<(u64, u16)> = entries
        .iter()
        .map(|entry| entry.key)
        .zip(0..=u16::MAX)
        .collect();
    keys.sort_unstable();
    Some(KernelTable {
        t0_us,
        floor_us,
        hot_read,
        references: Reference::by_dtype(gpu, t0_us, hot_read),
        entries: leak(entries.into_iter().map(entry).collect()),
        index: Index::Sorted(leak(keys)),
    })
}

/// The axes kept so far: most shapes share theirs.
#[derive(Default)]
struct Axes(BTreeMap<Vec<u32>, Axis<'static>>);

impl Axes {
    fn keep(&mut self, values: Vec<u32>) -> Axis<'static> {
        let kept = self.0.entry(values).or_insert_with_key(|values| {
            let AxisLogs { ln, inverse_span } = AxisLogs::of(values);
            Axis::from_generated(leak(values.clone()), leak(ln), leak(inverse_span))
        });
        *kept
    }

    fn curve<S>(&mut self, entry: StoredEntry<S, 1>) -> Entry<S, Curve<'static>> {
        let [axis] = entry.axes.map(|values| self.keep(values));
        let (latency_us, ln_slowdown) = (leak(entry.latency_us), leak(entry.ln_slowdown));
        Entry {
            shape: entry.shape,
            points: Curve::from_generated(axis, latency_us, ln_slowdown),
        }
    }

    fn grid<S>(&mut self, entry: StoredEntry<S, 2>) -> Entry<S, Grid<'static>> {
        let [batch, length] = entry.axes.map(|values| self.keep(values));
        let (latency_us, ln_slowdown) = (leak(entry.latency_us), leak(entry.ln_slowdown));
        Entry {
            shape: entry.shape,
            points: Grid::from_generated(batch, length, latency_us, ln_slowdown),
        }
    }
}

fn text(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

fn leak<T>(values: Vec<T>) -> &'static [T] {
    Box::leak(values.into_boxed_slice())
}
