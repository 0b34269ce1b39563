//! One CSV as sorted points by shape.

use std::collections::{BTreeMap, BTreeSet};

use rooflut_roofline::OperationKind;
use rooflut_roofline::operation::{Codes, MAX_POINTS, key};

use crate::Error;
use crate::check;
use crate::files::Files;
use crate::header::{Header, Timing};
use crate::measured::{MeasuredRow, TableRows};
use crate::rows::Rows;

/// Shapes that an index of 16 bits can number.
const MAX_SHAPES: usize = 1 << 16;

/// A checked table: measured points by shape, both in ascending order.
pub(crate) struct Table {
    /// What it measures.
    pub(crate) operation: OperationKind,
    /// What the set says of the operation's timing.
    pub(crate) timing: Timing,
    /// The points of each shape; a curve's second coordinate is 1.
    pub(crate) shapes: BTreeMap<Codes, BTreeMap<[u32; 2], f32>>,
    /// The file as messages call it.
    file: String,
    /// What was read, in the order of the file.
    measured: Vec<MeasuredRow>,
}

impl Table {
    /// Reads and checks the file of an operation; `None` where there is no such file.
    ///
    /// # Errors
    /// See [`Error`].
    pub(crate) fn read(
        operation: OperationKind,
        files: &Files,
        header: &Header,
    ) -> Result<Option<Table>, Error> {
        let declared = operation.declared();
        let timing = header.timings.get(&operation).copied();
        let Some(part) = files.table(declared.file) else {
            return match timing {
                None => Ok(None),
                Some(_) => Err(Error::EmptySection {
                    file: files.header().name.clone(),
                    operation: declared.name,
                    table: declared.file,
                }),
            };
        };
        let timing = timing.ok_or_else(|| Error::NoTiming {
            file: files.header().name.clone(),
            operation: declared.name,
        })?;
        let rows = Rows::read(part)?;
        let file = part.name.clone();
        let required: Vec<_> = declared.columns().collect();
        let optional: Vec<_> = declared.optional_columns().collect();
        rows.check(&required, &optional)?;
        let key_columns: Vec<_> = declared.shape.iter().map(|column| column.name).collect();
        let point_columns = [key_columns.as_slice(), declared.axes].concat();
        let mut lines = BTreeMap::new();
        let mut names = BTreeMap::new();
        let mut shapes = BTreeMap::<Codes, BTreeMap<[u32; 2], f32>>::new();
        let mut measured = Vec::new();
        for row in rows.iter() {
            let found = row.measurement(operation)?;
            let MeasuredRow {
                kernel, latency_us, ..
            } = found;
            check::row(&file, &row, &header.gpu, &kernel, latency_us)?;
            if let Some(first) = lines.insert(kernel, row.line()) {
                return Err(Error::Duplicate {
                    file,
                    line: row.line(),
                    first,
                    key: row.key(&point_columns),
                });
            }
            let shape = kernel.shape::<Codes>();
            names.entry(shape).or_insert_with(|| row.key(&key_columns));
            shapes
                .entry(shape)
                .or_default()
                .insert(kernel.point(), latency_us as f32);
            measured.push(found);
        }
        let table = Table {
            operation,
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
            operation: self.operation,
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

    fn check_axes(&self, names: &BTreeMap<Codes, String>) -> Result<(), Error> {
        for (shape, points) in &self.shapes {
            for (axis, values) in self
                .operation
                .declared()
                .axes
                .iter()
                .zip(Self::axes(points))
            {
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

    fn check_keys(&self, names: &BTreeMap<Codes, String>) -> Result<(), Error> {
        if self.shapes.len() > MAX_SHAPES {
            return Err(Error::TooManyShapes {
                file: self.file.clone(),
                found: self.shapes.len(),
                limit: MAX_SHAPES,
            });
        }
        let width = self.operation.declared().shape.len();
        let mut seen = BTreeSet::new();
        for shape in self.shapes.keys() {
            if !seen.insert(key(shape.get(..width).unwrap_or_default())) {
                return Err(Error::KeyCollision {
                    file: self.file.clone(),
                    key: names.get(shape).cloned().unwrap_or_default(),
                });
            }
        }
        Ok(())
    }
}
