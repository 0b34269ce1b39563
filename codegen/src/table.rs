//! One CSV as sorted points by shape.

use std::collections::{BTreeMap, BTreeSet};

use rooflut_roofline::Gpu;

use crate::Error;
use crate::check;
use crate::files::Files;
use crate::header::Timing;
use crate::measured::{MeasuredRow, TableRows};
use crate::operation::Operation;
use crate::rows::{Row, Rows};

/// Points on an axis that a resolved handle can hold.
pub(crate) const MAX_POINTS: usize = 32;

/// Shapes that an index of 16 bits can number.
const MAX_SHAPES: usize = 1 << 16;

/// A checked table: measured points by shape, both in ascending order.
pub(crate) struct Table<O: Operation> {
    /// What the set says of the operation's timing.
    pub(crate) timing: Timing,
    /// The points of each shape; a curve's second coordinate is 1.
    pub(crate) shapes: BTreeMap<O::Shape, BTreeMap<[u32; 2], f32>>,
    /// The file as messages call it.
    file: String,
    /// What was read, in the order of the file.
    measured: Vec<MeasuredRow>,
}

impl<O: Operation> Table<O> {
    /// Reads and checks `O::FILE`; `None` where there is no such file.
    ///
    /// # Errors
    /// See [`Error`].
    pub(crate) fn read(
        files: &Files,
        gpu: &Gpu,
        timing: Option<Timing>,
    ) -> Result<Option<Table<O>>, Error> {
        let Some(part) = files.table(O::FILE) else {
            return match timing {
                None => Ok(None),
                Some(_) => Err(Error::EmptySection {
                    file: files.header().name.clone(),
                    operation: O::NAME,
                    table: O::FILE,
                }),
            };
        };
        let timing = timing.ok_or_else(|| Error::NoTiming {
            file: files.header().name.clone(),
            operation: O::NAME,
        })?;
        let rows = Rows::read(part)?;
        let file = part.name.clone();
        rows.check(&columns::<O>(), O::OPTIONAL)?;
        let key_columns: Vec<_> = O::KEY_COLUMNS
            .iter()
            .chain(O::OPTIONAL_KEY)
            .copied()
            .collect();
        let point_columns: Vec<_> = key_columns.iter().chain(O::AXES).copied().collect();
        let mut lines = BTreeMap::new();
        let mut names = BTreeMap::new();
        let mut shapes = BTreeMap::<O::Shape, BTreeMap<[u32; 2], f32>>::new();
        let mut measured = Vec::new();
        for row in rows.iter() {
            let (shape, point, latency_us) = measurement::<O>(&row)?;
            check::row::<O>(&file, &row, gpu, &shape, point, latency_us)?;
            if let Some(first) = lines.insert((shape, point), row.line()) {
                return Err(Error::Duplicate {
                    file,
                    line: row.line(),
                    first,
                    key: row.key(&point_columns),
                });
            }
            names.entry(shape).or_insert_with(|| row.key(&key_columns));
            shapes
                .entry(shape)
                .or_default()
                .insert(point, latency_us as f32);
            measured.push(MeasuredRow {
                line: row.line(),
                kernel: O::kernel(shape, point),
                latency_us,
            });
        }
        let table = Table {
            timing,
            shapes,
            file,
            measured,
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

    /// The rows with their places.
    pub(crate) fn measured(&self) -> TableRows {
        TableRows {
            file: self.file.clone(),
            operation: O::KIND,
            rows: self.measured.clone(),
        }
    }

    /// How many rows the table has.
    pub(crate) fn rows(&self) -> usize {
        self.shapes.values().map(BTreeMap::len).sum()
    }

    /// Time of the smallest call, microseconds: as the set says, else the smallest latency.
    pub(crate) fn floor_us(&self) -> f64 {
        let latencies = self.shapes.values().flat_map(BTreeMap::values);
        let smallest = latencies.fold(f64::INFINITY, |least, us| least.min(f64::from(*us)));
        self.timing.floor_us.unwrap_or(smallest)
    }

    fn check_axes(&self, names: &BTreeMap<O::Shape, String>) -> Result<(), Error> {
        for (shape, points) in &self.shapes {
            for (axis, values) in O::AXES.iter().zip(Self::axes(points)) {
                if values.len() > MAX_POINTS {
                    return Err(Error::TooManyPoints {
                        file: self.file.clone(),
                        axis,
                        key: names.get(shape).cloned().unwrap_or_default(),
                        found: values.len(),
                        limit: MAX_POINTS,
                    });
                }
            }
        }
        Ok(())
    }

    fn check_keys(&self, names: &BTreeMap<O::Shape, String>) -> Result<(), Error> {
        if self.shapes.len() > MAX_SHAPES {
            return Err(Error::TooManyShapes {
                file: self.file.clone(),
                found: self.shapes.len(),
                limit: MAX_SHAPES,
            });
        }
        let mut seen = BTreeSet::new();
        for shape in self.shapes.keys() {
            if !seen.insert(O::key(shape)) {
                return Err(Error::KeyCollision {
                    file: self.file.clone(),
                    key: names.get(shape).cloned().unwrap_or_default(),
                });
            }
        }
        Ok(())
    }
}

/// The columns that a table of the operation must have.
pub(crate) fn columns<O: Operation>() -> Vec<&'static str> {
    let coordinates = O::KEY_COLUMNS.iter().chain(O::AXES).copied();
    coordinates.chain(["latency_us"]).collect()
}

/// The shape, point and latency (microseconds) of a row.
///
/// # Errors
/// A column that cannot be read.
pub(crate) fn measurement<O: Operation>(row: &Row<'_>) -> Result<(O::Shape, [u32; 2], f64), Error> {
    Ok((
        O::shape(row)?,
        point::<O>(row)?,
        row.positive("latency_us")?,
    ))
}

fn point<O: Operation>(row: &Row<'_>) -> Result<[u32; 2], Error> {
    match O::AXES {
        [first, second] => Ok([row.count(first)?, row.count(second)?]),
        [only, ..] => Ok([row.count(only)?, 1]),
        [] => Ok([1, 1]),
    }
}
