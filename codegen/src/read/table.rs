//! One CSV as sorted points by shape.

use std::collections::{BTreeMap, BTreeSet};

use rooflut_roofline::operation::{Codes, MAX_POINTS, key};
use rooflut_roofline::{OperationKind, Timing};

use super::csv_file::Rows;
use super::error::{Error, ErrorKind, Found, Location};
use super::excluded::{ExcludedRows, Use};
use super::files::Files;
use super::header::Header;
use super::measurement::MeasuredRow;
use super::physics;

/// Maximum number of shapes: an index has 16 bits.
const MAX_SHAPES: usize = 1 << 16;

/// A checked table: measured points by shape, both in ascending order.
#[derive(Clone)]
pub(crate) struct Table {
    /// The measured operation.
    pub(crate) operation: OperationKind,
    /// The timing constants of the operation in this set.
    pub(crate) timing: Timing,
    /// Time of the smallest call, microseconds, as given in the set.
    given_floor_us: Option<f64>,
    /// The points of each shape; a curve's second coordinate is 1.
    pub(crate) shapes: BTreeMap<Codes, BTreeMap<[u32; 2], f32>>,
    /// Name of the file in messages.
    file: String,
    /// The rows in the order of the file.
    measured: Vec<MeasuredRow>,
    excluded: Vec<ExcludedRows>,
}

/// The rows of one table of a checked set.
#[derive(Debug)]
pub struct TableRows {
    /// Name of the file in messages, `my-set/gemm.csv`.
    pub file: String,
    /// The measured operation.
    pub operation: OperationKind,
    /// The rows in the order of the file; each kernel occurs once.
    pub rows: Vec<MeasuredRow>,
    /// The rows that are not used as they are, by reason.
    pub excluded: Vec<ExcludedRows>,
}

impl Table {
    /// Reads and checks the file of an operation; `None` where the set has neither file nor section of it.
    ///
    /// # Errors
    /// See [`ErrorKind`].
    pub(crate) fn read(operation: OperationKind, files: &Files, header: &Header) -> Result<Option<Table>, Error> {
        let declared = operation.declared();
        let section = header.sections.get(&operation);
        let (part, section) = match (files.table(declared.file), section) {
            (None, None) => return Ok(None),
            (Some(part), Some(section)) => (part, section),
            (part, _) => {
                let location = Location::file(files.header().name.clone());
                let (location, expected, hint) = match part {
                    None => (
                        location.field(declared.name),
                        format!("{} beside it", declared.file),
                        "add the table, or remove the section",
                    ),
                    Some(_) => (
                        location,
                        format!(
                            "a section [{}] with t0_us (the operation's launch time in microseconds; its \
                             smallest measured latency is a good start)",
                            declared.name
                        ),
                        "add it",
                    ),
                };
                let found = Found::NONE;
                return Err(Error::new(ErrorKind::Set, location, expected, found, hint));
            }
        };
        let rows = Rows::read(part)?;
        let required: Vec<_> = declared.columns().collect();
        let optional: Vec<_> = declared.optional_columns().collect();
        rows.check(&required, &optional)?;
        let key_columns: Vec<_> = declared.shape.iter().map(|column| column.name).collect();
        let point_columns = [key_columns.as_slice(), declared.axes].concat();
        let mut lines = BTreeMap::new();
        let mut names = BTreeMap::new();
        let mut shapes = BTreeMap::<Codes, BTreeMap<[u32; 2], f32>>::new();
        let mut measured = Vec::new();
        let mut excluded = section.excluded.pending();
        for row in rows.iter() {
            let replaced_us = match excluded.take(&row) {
                Use::AsRead => None,
                Use::Excluded => continue,
                Use::Replaced(latency_us) => Some(latency_us),
            };
            let mut found = MeasuredRow::parse(&row, operation)?;
            found.latency_us = replaced_us.unwrap_or(found.latency_us);
            physics::check(&row, &found, &header.gpu)?;
            let MeasuredRow { kernel, latency_us, .. } = found;
            if let Some(first) = lines.insert(kernel, row.line()) {
                let key = row.key(&point_columns);
                return Err(Error::new(
                    ErrorKind::Duplicate,
                    row.location(""),
                    "each key once",
                    Found::words(format!("{key} again (first on line {first})")),
                    "keep one of the two",
                ));
            }
            let shape = kernel.shape::<Codes>();
            names.entry(shape).or_insert_with(|| row.key(&key_columns));
            shapes.entry(shape).or_default().insert(kernel.point(), latency_us as f32);
            measured.push(found);
        }
        excluded.finish(&part.name)?;
        if measured.is_empty() {
            return Err(rows.empty());
        }
        let table = Table {
            operation,
            timing: section.timing,
            given_floor_us: section.floor_us,
            shapes,
            file: part.name.clone(),
            measured,
            excluded: section.excluded.entries.clone(),
        };
        table.check_axes(&names)?;
        table.check_keys(&names)?;
        Ok(Some(table))
    }

    /// The distinct coordinates of a shape's points on each axis.
    pub(crate) fn axes(points: &BTreeMap<[u32; 2], f32>) -> [Vec<u32>; 2] {
        let axis = |pick: fn(&[u32; 2]) -> u32| {
            let mut values: Vec<u32> = points.keys().map(pick).collect();
            values.sort_unstable();
            values.dedup();
            values
        };
        [axis(|[first, _]| *first), axis(|[_, second]| *second)]
    }

    /// Adds the shapes of another table in the formats that this one has no row of.
    pub(super) fn complete(&mut self, other: &Table) {
        let dtype = self.operation.declared().dtype;
        let own: BTreeSet<_> = self.shapes.keys().map(dtype).collect();
        let missing = other.shapes.iter().filter(|(shape, _)| !own.contains(&dtype(shape)));
        self.shapes.extend(missing.map(|(shape, points)| (*shape, points.clone())));
    }

    /// The rows with their lines in the file.
    pub(crate) fn measured(&self) -> TableRows {
        TableRows {
            file: self.file.clone(),
            operation: self.operation,
            rows: self.measured.clone(),
            excluded: self.excluded.clone(),
        }
    }

    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.shapes.values().map(BTreeMap::len).sum()
    }

    /// Time of the smallest call, microseconds: as `set.toml` has it, else the smallest latency.
    pub(crate) fn floor_us(&self) -> f64 {
        let latencies = self.shapes.values().flat_map(BTreeMap::values);
        let smallest = latencies.fold(f64::INFINITY, |least, us| least.min(f64::from(*us)));
        self.given_floor_us.unwrap_or(smallest)
    }

    fn check_axes(&self, names: &BTreeMap<Codes, String>) -> Result<(), Error> {
        for (shape, points) in &self.shapes {
            let axes = self.operation.declared().axes.iter().zip(Self::axes(points));
            for (axis, values) in axes {
                let (found, limit) = (values.len(), MAX_POINTS);
                if found > limit {
                    let key = names.get(shape).map_or("", String::as_str);
                    return Err(Error::new(
                        ErrorKind::TooLarge,
                        Location::file(self.file.clone()).field(*axis),
                        format!("at most {limit} different values"),
                        Found::words(format!("{found} for {key}")),
                        "thin them out",
                    ));
                }
            }
        }
        Ok(())
    }

    fn check_keys(&self, names: &BTreeMap<Codes, String>) -> Result<(), Error> {
        let refuse = |expected: String, found: String, hint| {
            let location = Location::file(self.file.clone());
            Error::new(ErrorKind::TooLarge, location, expected, Found::words(found), hint)
        };
        let found = self.shapes.len();
        if found > MAX_SHAPES {
            let expected = format!("at most {MAX_SHAPES} different shapes");
            return Err(refuse(expected, found.to_string(), "split the set"));
        }
        let width = self.operation.declared().shape.len();
        let mut seen = BTreeSet::new();
        for shape in self.shapes.keys() {
            if !seen.insert(key(shape.get(..width).unwrap_or_default())) {
                let name = names.get(shape).map_or("", String::as_str);
                let expected = "different hash keys".to_owned();
                let found = format!("the key of another shape for {name}");
                return Err(refuse(expected, found, "leave one of the two out"));
            }
        }
        Ok(())
    }
}
