//! Reads the rows of files.

use std::collections::BTreeMap;

use rooflut_codegen::OperationKind;

use crate::answers::Answers;
use crate::cells::{Cells, ColumnIndices};
use crate::defects::variants::Variant;
use crate::file::File;
use crate::kernel;
use crate::layout::Layout;
use crate::reading::{Cause, LeftOut, Reading, Reason};
use crate::table::SourceRow;

/// The readings of all files, and the rows that were left out.
#[derive(Default)]
pub(crate) struct Readings {
    /// By operation, in the order of files and rows.
    pub(crate) readings: BTreeMap<OperationKind, Vec<Reading>>,
    pub(crate) left_out: Vec<LeftOut>,
    pub(crate) variants: Vec<Variant>,
    /// The columns of each file that were not read.
    pub(crate) ignored: Vec<Vec<String>>,
    /// The number of the first row of each file.
    pub(crate) first_rows: Vec<u64>,
}

/// Reads all files.
pub(crate) fn read(layout: Layout, files: &[File<'_>], answers: &Answers) -> Readings {
    let mut read = Readings::default();
    for (index, file) in files.iter().enumerate() {
        read.ignored.push(file.ignored());
        read.first_rows.push(file.table.rows().next().map_or(0, SourceRow::number));
        read.file(layout, index, file, answers);
    }
    read
}

impl Readings {
    fn file(&mut self, layout: Layout, index: usize, file: &File<'_>, answers: &Answers) {
        let indices = ColumnIndices::of(file.header, file.columns.read());
        let variant_columns = file.variant_columns();
        let conditions: Vec<(usize, &str)> = answers
            .conditions
            .iter()
            .filter_map(|condition| {
                let column = file.index(condition.column_in(file.operation)?)?;
                Some((column, condition.value.as_str()))
            })
            .collect();
        let mut variants = BTreeMap::<Vec<Option<u32>>, usize>::new();
        for row in file.table.rows() {
            let mut leave_out = |cause: Cause| {
                self.left_out.push(LeftOut { file: index, number: row.number(), cause });
            };
            if let Some(cause) = whole_row(row, file.header, &conditions) {
                (0..file.measurements_per_row).for_each(|_| leave_out(cause.clone()));
                continue;
            }
            let cells = Cells { indices: &indices, row, answers };
            let variant = variant_of(row, &variant_columns, &mut variants, &mut self.variants);
            let readings = self.readings.entry(file.operation).or_default();
            let mfu = cells.mfu();
            layout.row(file.operation, file.heads, &cells, &mut |measured| {
                let sound = measured.and_then(|(kernel, latency)| match kernel::contradiction(&kernel) {
                    Some(found) => Err(Cause::new(Reason::Contradiction, found)),
                    None => Ok((kernel, latency)),
                });
                match sound {
                    Ok((kernel, latency)) => readings.push(Reading {
                        file: index,
                        number: row.number(),
                        kernel,
                        latency_us: latency.us,
                        exact: latency.exact,
                        mfu,
                        variant,
                    }),
                    Err(cause) => leave_out(cause),
                }
            });
        }
    }
}

/// Returns why a whole row is left out, if it is.
fn whole_row(row: SourceRow<'_>, header: &[String], conditions: &[(usize, &str)]) -> Option<Cause> {
    if row.cells().all(str::is_empty) {
        return Some(Reason::Blank.into());
    }
    if row.len() != header.len() {
        let detail = format!("expected {} cells, found {}", header.len(), row.len());
        return Some(Cause::new(Reason::Length, detail));
    }
    if row.cells().eq(header.iter().map(String::as_str)) {
        return Some(Reason::HeaderAgain.into());
    }
    let unmet = |(column, value): &(usize, &str)| row.cell(*column) != *value;
    let unmet = conditions.iter().any(unmet);
    unmet.then(|| Reason::NotSelected.into())
}

/// Returns the index of the variant of a row: its values in the columns that a table set does not have.
fn variant_of(
    row: SourceRow<'_>,
    columns: &[(usize, &str)],
    known: &mut BTreeMap<Vec<Option<u32>>, usize>,
    variants: &mut Vec<Variant>,
) -> usize {
    let texts = columns.iter().map(|(column, _)| row.text_index(*column));
    *known.entry(texts.collect()).or_insert_with(|| {
        let values = columns.iter().map(|(column, name)| {
            let value = row.cell(*column).to_owned();
            ((*name).to_owned(), value)
        });
        variants.push(values.collect());
        variants.len() - 1
    })
}
