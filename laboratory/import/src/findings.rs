//! Defects of the files, as the report lists them.

use rooflut_codegen::OperationKind;
use rooflut_roofline::Gpu;

use crate::answers::Answers;
use crate::defects::{mfu_peak, ragged};
use crate::file::File;
use crate::kernel;
use crate::read::Readings;
use crate::reading::{Reading, Reason};
use crate::report::Finding;

/// The findings so far.
#[derive(Default)]
pub(crate) struct Findings(Vec<Finding>);

/// The facts that rows are compared with.
pub(crate) struct Facts<'a> {
    pub(crate) gpu: &'a Gpu,
    pub(crate) answers: &'a Answers,
    pub(crate) known: &'a [Gpu],
    pub(crate) files: &'a [File<'a>],
}

impl Findings {
    /// Adds a finding about an operation.
    pub(crate) fn add(&mut self, operation: OperationKind, defect: &'static str, text: String) {
        self.0.push(Finding { operation: operation.name(), defect, text });
    }

    pub(crate) fn into_list(self) -> Vec<Finding> {
        self.0
    }

    /// Adds defects of whole files.
    pub(crate) fn of_files(&mut self, files: &[File<'_>], read: &Readings) {
        for (index, file) in files.iter().enumerate() {
            let path = &file.table.path;
            if file.table.header.is_none() {
                let text = format!("{path} has none; its columns are those of --header");
                self.add(file.operation, "no header", text);
            }
            let again = read.left_out.iter().filter(|row| row.file == index && row.cause.reason == Reason::HeaderAgain);
            let blocks = again.count() / file.measurements_per_row.max(1);
            if blocks > 0 {
                let text = format!("{path} has {} blocks, each with a header", blocks + 1);
                self.add(file.operation, "repeated header", text);
            }
        }
    }

    /// Adds defects of the rows of an operation.
    pub(crate) fn of_rows(&mut self, operation: OperationKind, rows: &[Reading], facts: &Facts<'_>) {
        let with_mfu = rows.iter().filter_map(|row| row.mfu);
        let zeros = with_mfu.clone().filter(|mfu| mfu.value == 0.0).count();
        let with_mfu = with_mfu.count();
        if zeros > 0 {
            let text =
                format!("{zeros} of {with_mfu} are rounded to it: the latencies are kept, mfu follows from them");
            self.add(operation, "mfu of 0", text);
        }
        let stated = facts.answers.mfu_peak_flops_per_s;
        if let Some(misfit) = mfu_peak::misfit(rows, facts.gpu, stated, facts.known) {
            self.misfit(operation, &misfit, rows, facts);
        }
        if let Some(ragged) = ragged::ragged(rows) {
            let cells = operation.declared().axes.iter().zip(ragged.smallest);
            let coordinates: Vec<String> = cells.map(|(axis, value)| format!("{axis} {value}")).collect();
            let text = format!(
                "{} of {} grids lack cells, {} of {} in all, the smallest at {}; most in {}",
                ragged.ragged,
                ragged.shapes,
                ragged.missing,
                ragged.cells,
                coordinates.join(", "),
                kernel::describe(&ragged.worst)
            );
            self.add(operation, "ragged grid", text);
        }
    }

    fn misfit(&mut self, operation: OperationKind, misfit: &mfu_peak::Misfit, rows: &[Reading], facts: &Facts<'_>) {
        let first = rows.get(misfit.first).and_then(|row| {
            let file = facts.files.get(row.file)?;
            Some(format!("{}:{}", file.table.path, row.number))
        });
        let against = match facts.answers.mfu_peak_flops_per_s {
            Some(peak) => format!("{:.1} TFLOP/s", peak * 1e-12),
            None => format!("the peak of {}", facts.gpu.name),
        };
        let fitting: Vec<String> = misfit.fitting.iter().map(|(gpu, dtype)| format!("{gpu} {dtype}")).collect();
        let fits = if fitting.is_empty() {
            format!("they imply {:.1} TFLOP/s, the peak of no known GPU", misfit.implied_flops_per_s * 1e-12)
        } else {
            format!("nearly all fit the peak of {}", fitting.join(", "))
        };
        let text = format!(
            "{} of {} mfu do not follow from the latencies and {against}, first {}: {fits}; the latencies \
             are kept",
            misfit.misfits,
            misfit.rows,
            first.unwrap_or_default()
        );
        self.add(operation, "peak", text);
    }
}
